//! The workspace store, from outside.

mod accounts;
mod automation;
mod common;
mod history;
mod notes;

mod search;
mod vectors;
