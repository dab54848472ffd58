//! Denial of service, and other users of the machine.

mod connections;
mod quoted;
mod schemas;
mod server;
mod strangers;
mod tokens;
