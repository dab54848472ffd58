//! The kernel's contract, one file per idea, driven through the public API only.

mod budget;
mod common;
mod decode;
mod fork;
mod format;
mod limits;
mod purity;
mod replay;
mod resume;
mod retry;
mod script;
mod termination;
