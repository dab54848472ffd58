//! `bonded serve` as its clients meet it: the real program, raw HTTP, and the official SDKs.

#[path = "../cli/place.rs"]
#[expect(dead_code, reason = "agents report where other runs call done")]
mod place;

mod answers;
mod bounds;
mod failures;
mod formats;
mod http;
mod keeping;
mod keys;
mod refusals;
mod sdk;
mod served;
mod starts;
mod stops;
mod streams;
mod waits;
