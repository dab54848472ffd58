//! Several processes on one PostgreSQL server, which this program starts for itself: killed, stopped and cut off in the
//! middle of runs whose effects are counted outside.

mod at_hand;
mod command_lines;
mod cut_off;
mod drained;
mod errors;
mod fleet;
mod killed;
mod operated;
mod queue;
mod races;
mod rules;
mod served;
mod shop;
mod stopped;
mod tls;
mod workspaces;
