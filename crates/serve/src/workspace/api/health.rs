//! Whether the server lives, whether it can work, and what it offers.

use std::sync::Arc;

use bonded_workspace::{ProviderHealth, ProviderState};
use serde_json::{Value, json};

use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::refusal::Refusal;
use bonded_workspace::times;

/// What clients and tests hold the server to.
pub(in crate::workspace) const OPENAPI: &str = include_str!("../../../../../docs/openapi.json");

pub(in crate::workspace) async fn alive(_: Ask) -> Result<Answer, Refusal> {
    Ok(Answer::ok(&json!({ "status": "ok" })))
}

/// Ready is who can read and write the store and has not been told to stop. A provider that is away stops only runs of the agent:
/// it is told of, and nobody waits for it.
pub(in crate::workspace) async fn ready(ask: Ask) -> Result<Answer, Refusal> {
    if ask.site.stop.is_cancelled() {
        return Err(Refusal::unavailable("the server is stopping"));
    }
    ask.site.store.last_row().await?;
    if !ask.site.writable.works(&ask.site.store).await {
        let message = "nothing can be written just now; whoever runs the server was told why";
        return Err(Refusal::unavailable(message));
    }
    let provider = shown(&ask.site.provider);
    Ok(Answer::ok(
        &json!({ "status": "ready", "provider": provider }),
    ))
}

/// Who may ask this is anybody: neither the place of the provider nor its words are shown.
fn shown(provider: &Arc<ProviderHealth>) -> Value {
    let last = provider.last();
    let state = last.as_ref().map(|look| &look.state);
    let failure = match state {
        Some(ProviderState::Away { failure }) => Some(failure.class.as_str()),
        Some(ProviderState::Well | ProviderState::WithoutModel { .. }) | None => None,
    };
    json!({
        "kind": provider.kind(),
        "status": state.map_or("unchecked", ProviderState::as_str),
        "failure": failure,
        "checked_at": times::shown(last.as_ref().map(|look| look.at)),
    })
}

pub(in crate::workspace) async fn openapi(_: Ask) -> Result<Answer, Refusal> {
    Ok(Answer::document(OPENAPI))
}
