//! Wire formats as pure functions: a request to bytes, bytes to a reply or a failure.

pub mod chat;
