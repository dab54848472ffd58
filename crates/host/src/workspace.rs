//! The workspace at work: when rules fire, and what becomes of it.

pub mod config;
mod cron;

pub use cron::{BadCron, Cron};
