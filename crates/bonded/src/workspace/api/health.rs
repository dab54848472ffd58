//! Whether the server lives, whether it can work, and what it offers.

use serde_json::json;

use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::refusal::Refusal;

/// What clients and tests hold the server to.
pub(in crate::workspace) const OPENAPI: &str = include_str!("../../../../../docs/openapi.json");

pub(in crate::workspace) async fn alive(_: Ask) -> Result<Answer, Refusal> {
    Ok(Answer::ok(&json!({ "status": "ok" })))
}

/// Ready is who can read the store and has not been told to stop.
pub(in crate::workspace) async fn ready(ask: Ask) -> Result<Answer, Refusal> {
    if ask.site.stop.is_cancelled() {
        return Err(Refusal::unavailable("the server is stopping"));
    }
    ask.site.store.last_row().await?;
    Ok(Answer::ok(&json!({ "status": "ready" })))
}

pub(in crate::workspace) async fn openapi(_: Ask) -> Result<Answer, Refusal> {
    Ok(Answer::document(OPENAPI))
}
