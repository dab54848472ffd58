//! When rules fire, and what becomes of it.

mod actions;
mod config;
mod cron;
mod engine;
mod place;
mod plain;
mod schedules;
mod turns;
mod webhooks;
mod world;
mod year;
