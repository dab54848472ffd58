//! The workspace store, from outside.

mod accounts;
mod automation;
mod common;
mod file;
mod history;
mod keywords;
mod migration;
mod notes;
mod place;
mod proofs;
mod search;
mod search_many;
mod vectors;
