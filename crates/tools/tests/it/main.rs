//! The tools, driven the way a run drives them: through calls that the kernel has checked.

mod access_lists;
mod command;
mod confined;
mod edit;
mod escape;
mod find;
mod git;
mod limit;
mod mcp;
mod queue;
mod read;
mod rest;
mod rest_address;
mod rest_answer;
mod rest_openapi;
mod rest_openapi_bounds;
mod rest_server;
mod sandbox;
mod scene;
mod world;
mod write;
mod writers;
