//! The program as a person meets it: the real binary, its streams, its exit codes and its store.

mod answers;
mod approvals;
mod audit;
mod bad_disk;
mod bad_goal;
mod bad_reply;
mod bad_store;
mod clock;
mod demo;
mod done;
mod each;
mod http;
mod limits;
mod looks;
mod place;
mod proofs;
mod reference;
mod replay_differs;
mod request;
mod sandbox;
mod shim;
mod stops;
mod streams;
mod tools;
mod watch;
