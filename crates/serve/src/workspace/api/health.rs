//! Whether the server lives, whether it can work, and what it offers.
//!
//! The first two are for whatever watches the server, and are open to everybody; so they say nothing about what it
//! holds.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

use crate::json_api::answer::{JsonText, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::dto::{Alive, Health, Readiness, Ready, ReadyProvider};

/// What clients and tests hold the server to: `docs/openapi.json`, as it was compiled in.
pub(in crate::workspace) static OPENAPI: LazyLock<String> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));
    let mut text = String::new();
    // What we compressed ourselves can be read.
    let _whole = GzDecoder::new(packed.as_slice()).read_to_string(&mut text);
    text
});

/// That it answers is the answer.
pub(in crate::workspace) async fn alive(_: WorkspaceAsk) -> Result<OkJson<Health>, ApiRefusal> {
    let status = Alive::Ok;
    Ok(OkJson(Health { status }))
}

/// Ready is who can read and write both stores, whose engine runs, and who has not been told to stop. A provider that is away stops only runs of the agent:
/// it is told of, and nobody waits for it.
pub(in crate::workspace) async fn ready(ask: WorkspaceAsk) -> Result<OkJson<Ready>, ApiRefusal> {
    if ask.site.stop.is_cancelled() {
        return Err(ApiRefusal::unavailable("the server is stopping"));
    }
    if ask.site.engine_ended.is_cancelled() {
        let message = "the engine has ended: no rule is fired until the server is started again";
        return Err(ApiRefusal::unavailable(message));
    }
    ask.site.store.last_row().await?;
    if !ask.site.writable.works(&ask.site.store).await {
        let message = "nothing can be written at the moment; the log of the server says why";
        return Err(ApiRefusal::unavailable(message));
    }
    if let Err(why) = ask.site.runs.check().await {
        return Err(ApiRefusal::unavailable(why.as_str()));
    }
    Ok(OkJson(Ready {
        status: Readiness::Ready,
        provider: ReadyProvider::from(&ask.site.provider),
    }))
}

/// The text of the file.
pub(in crate::workspace) async fn openapi(_: WorkspaceAsk) -> Result<JsonText, ApiRefusal> {
    Ok(JsonText(&OPENAPI))
}
