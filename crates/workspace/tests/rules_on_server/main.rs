//! When rules fire, and what becomes of it, with the store on a real server.

#[path = "../rules/actions.rs"]
mod actions;
#[path = "../rules/engine.rs"]
mod engine;
mod place;
#[path = "../rules/plain.rs"]
mod plain;
#[path = "../rules/schedules.rs"]
mod schedules;
#[path = "../rules/turns.rs"]
mod turns;
#[path = "../rules/webhooks.rs"]
mod webhooks;
#[path = "../rules/world.rs"]
mod world;
