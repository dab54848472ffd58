//! Runs that work in loops, with real notes and a real file for their memory.

mod memory_file;
mod records;
mod world;
