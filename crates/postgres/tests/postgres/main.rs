//! The store on a real server, which this program starts for itself.

mod conformance;
mod cut;
mod failover;
mod groups;
mod leases;
mod news;
mod objects;
mod place;
mod pooler;
mod queue;
mod refusals;
mod schema;
