//! Tools of a real server process, driven the way a run drives them: through calls that the kernel has
//! checked.

use bonded_testkit::issuer;

mod auth;
mod call;
mod change;
mod conformance;
mod crowd;
mod distrust;
mod fall;
mod fault;
mod http;
mod older;
mod reference;
mod share;
mod stop;
mod vouched;
mod web;
mod world;
