//! Runs that work in loops, with real notes and a real file for their memory.

mod again;
mod history;
mod memory_file;
mod records;
mod taken_up;
mod world;
