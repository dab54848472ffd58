//! The stores, from outside: what all of them do, and what only the one in a file does.

mod conformance;
mod damage;
mod files;
mod sqlite;
