//! When rules fire, and what becomes of it.

mod actions;
mod config;
mod cron;
mod engine;
mod schedules;
mod turns;
mod world;
mod year;
