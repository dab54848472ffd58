//! Several processes on one PostgreSQL server, which this program starts for itself: killed, stopped and cut off in the
//! middle of runs whose effects are counted outside.

mod at_hand;
mod clocks;
mod command_lines;
mod copied;
mod cut_off;
mod drained;
mod errors;
mod failover;
mod fleet;
mod full_disk;
mod items;
mod items_killed;
mod items_lies;
mod items_outside;
mod killed;
mod operated;
mod partitions;
mod queue;
mod races;
mod rules;
mod schedules;
mod served;
mod shop;
mod stopped;
mod tls;
mod versions;
mod workspaces;
mod yard;
