//! The program at a real terminal: keys are typed, and the screen is what a person sees.

use bonded_testkit::{place, provider, terminal, tool_server};

mod calls;
mod chat;
mod demo;
mod failure;
mod listing;
mod live;
mod prose;
mod review;
mod run;
mod screen;
mod stop;
