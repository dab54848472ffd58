//! The workspace at work: when rules fire, and what becomes of it.

mod cron;

pub use cron::{BadCron, Cron};
