//! The tools, driven the way a run drives them: through calls that the kernel has checked.

mod command;
mod edit;
mod escape;
mod find;
mod limit;
mod mcp;
mod queue;
mod read;
mod world;
mod write;
