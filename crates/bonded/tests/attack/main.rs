//! Attacks on the real program, one test each: what a stranger tries at a door, and a witness outside the program
//! (a canary file, a listener, another process) that says whether it came through.
//!
//! `cargo xtask attack` runs them in release and counts them; most run with all other tests too. A test whose full
//! form takes long reads its length from `BONDED_ATTACK_ROUNDS`.

use bonded_testkit::issuer;

mod denial;
mod directory;
mod files;
mod kept;
mod masking;
mod people;
mod person;
mod sandbox;
mod terminal;
mod witness;
mod work;
mod workspace;
