//! The program as a person meets it: the real binary, its streams, its exit codes and its store.

use bonded_testkit::{done, place};

mod answers;
mod approvals;
mod audit;
mod bad_disk;
mod bad_goal;
mod bad_reply;
mod bad_store;
mod clock;
mod continuing;
mod demo;
mod doctor;
mod each;
mod images;
mod limits;
mod looks;
mod models;
mod piped;
mod plan;
mod prices;
mod proofs;
mod proxies;
mod reference;
mod replay_differs;
mod sandbox;
mod skills;
mod stops;
mod streams;
mod tls;
mod tools;
mod undo;
mod voice;
mod watch;
