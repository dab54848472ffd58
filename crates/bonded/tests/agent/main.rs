//! Agents as their users meet them: the real binary, a scripted provider that records what it is asked, and
//! a real tool server on stdin and stdout.

use bonded_testkit::{issuer, provider};

mod outcome;
mod reply;
mod world;

mod absurd;
mod accounting;
mod approvals;
mod arguments;
mod bad_files;
mod batch;
mod billing;
mod checks;
mod confined;
mod context;
mod conversation;
mod each;
mod endings;
mod failures;
mod hostile;
mod layers;
mod ledger;
mod live;
mod login;
mod options;
mod output;
mod paging;
mod progress;
mod published;
mod queues;
mod read_only;
mod reasoning;
mod refused;
mod reports;
mod rest;
mod sampling;
mod secrets;
mod servers;
mod snapshots;
mod spoken;
mod sub_agents;
mod summary;
mod thoughts;
mod tool_search;
mod transports;
mod turns;
mod windows;
mod wires;
