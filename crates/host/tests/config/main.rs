//! Agent files, layers of configuration and options, from files in directories that the tests make.

mod agent_file;
mod approvals;
mod bounds;
mod explain;
mod hostile;
mod include;
mod layers;
mod listed;
mod mcp;
mod oauth;
mod options;
mod providers;
mod reasoning;
mod rest;
mod targets;
mod variables;
mod world;
