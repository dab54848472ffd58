//! The workspace store on a real server: the cases of the store in a file, and what only a server has.

#[path = "../store/accounts.rs"]
mod accounts;
#[path = "../store/automation.rs"]
mod automation;
#[path = "../store/common.rs"]
mod common;
mod cut;
#[path = "../store/history.rs"]
mod history;
#[path = "../store/keywords.rs"]
mod keywords;
#[path = "../store/notes.rs"]
mod notes;
mod place;
#[path = "../store/proofs.rs"]
mod proofs;
#[path = "../store/search.rs"]
mod search;
#[path = "../store/search_many.rs"]
mod search_many;
mod server;
#[path = "../store/vectors.rs"]
mod vectors;
