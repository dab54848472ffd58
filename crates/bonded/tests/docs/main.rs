//! What people copy: schemas for editors, the files that `bonded new` writes, and the examples of the docs.

mod examples;
mod markdown;
mod new;
mod readers;
mod samples;
mod schemas;
