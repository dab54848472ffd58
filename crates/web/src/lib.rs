//! The one web edge: who may connect and how long, what a body may cost, JSON within bounds, streams of events.
//!
//! It knows no run, no workspace and no protocol; what is served is a router that it is given.
//!
//! Everything here bounds what a stranger can cost before anybody knows who that is: places, memory of bodies,
//! depth and number of JSON values, and time in which a connection asks nothing or takes nothing. The room for
//! bodies is one for the whole process; places are counted for each server.

pub mod body_room;
pub mod bounded_json;
pub mod connection;
pub mod event_stream;
pub mod guests;
pub mod loopback;
pub mod peer;
mod stall;
mod unread;
