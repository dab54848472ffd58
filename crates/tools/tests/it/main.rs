//! The built-in tools, driven the way a run drives them: through calls that the kernel has checked.

mod command;
mod edit;
mod escape;
mod find;
mod limit;
mod read;
mod world;
mod write;
