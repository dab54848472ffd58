//! When rules fire, and what becomes of it.

mod config;
mod cron;
mod year;
