//! What people copy: schemas for editors, the files that `bonded new` writes, and the examples of the docs and of the
//! help.

mod examples;
mod help;
mod markdown;
mod new;
mod operate;
mod readers;
mod samples;
mod schemas;
