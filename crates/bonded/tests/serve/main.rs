//! `bonded serve` as its clients meet it: the real program, raw HTTP, and the official SDKs.

use bonded_testkit::{http, place};

mod agent_pages;
mod answers;
mod bounds;
mod client_tools;
mod failures;
mod formats;
mod keeping;
mod keys;
mod listed;
mod pages;
mod refusals;
mod sdk;
mod served;
mod shells;
mod starts;
mod stops;
mod streams;
mod ui;
mod waits;
mod work_pages;
mod workspace_pages;
