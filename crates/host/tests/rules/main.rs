//! When rules fire, and what becomes of it.

mod config;
mod cron;
mod engine;
mod schedules;
mod world;
mod year;
