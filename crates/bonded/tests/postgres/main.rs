//! Several processes on one PostgreSQL server, which this program starts for itself: killed, stopped and cut off in the
//! middle of runs whose effects are counted outside.

mod cut_off;
mod errors;
mod killed;
mod races;
mod shop;
mod stopped;
mod tls;
