//! A provider that gives the calls of its script one after the other, each when it is released.

use bonded_testkit::provider::{Provider, call};
use serde_json::Value;

use crate::done::text;

/// `calls` are lines of a script that call one tool.
pub(crate) fn held(calls: &[Value]) -> Provider {
    let provider = Provider::start().held();
    let calls = calls.iter().map(|line| &line["calls"][0]);
    provider.say(calls.map(|it| call(text(&it["tool"]), it["arguments"].clone())));
    provider
}

/// The words that make a command ask this provider.
pub(crate) fn flags(provider: &Provider) -> Vec<String> {
    let url = provider.base_url();
    let words = ["--base-url", &url, "--model", "m", "--key-env", "HELD_KEY"];
    words.map(str::to_owned).to_vec()
}
