//! The contract of work items, one file per idea, driven through the public API only.

mod admission;
mod canonical;
mod capsule;
mod chain;
mod common;
mod counts;
mod declared;
mod ended;
mod level;
mod lines;
mod plan;
mod receipt;
mod result;
mod run;
mod state;
mod statement;
mod tree;
mod verdict;
