//! When rules fire, and what becomes of it.

mod cron;
mod year;
