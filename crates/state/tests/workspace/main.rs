//! The workspace store, from outside.

mod automation;
mod common;
mod notes;
