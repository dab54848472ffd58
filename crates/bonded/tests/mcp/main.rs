//! Agents as tools of MCP clients: the real program over stdio and HTTP, official clients, and the public
//! conformance suite, which wants tools of its own: it is answered by the program's protocol layer with those.

use bonded_testkit::{http, installed, place};

#[path = "../serve/served.rs"]
#[expect(dead_code, reason = "nobody chats here")]
mod served;

mod asking;
mod calls;
mod clients;
mod conformance;
mod endings;
mod fixture;
mod hostile;
mod resources;
mod resume;
mod reviews;
mod talk;
mod web;
