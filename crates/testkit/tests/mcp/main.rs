//! Tools of a real server process, driven the way a run drives them: through calls that the kernel has
//! checked.

mod call;
mod fall;
mod share;
mod stop;
mod world;
