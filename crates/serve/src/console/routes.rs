//! What is where. Everything below `/api` but the way in needs a token; everything else is a file of the app.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use bonded_kernel::RunId;
use serde::{Deserialize, Serialize};

use super::asked::{Address, Parameters, Sent};
use super::entries::{self, EntryText};
use super::refusal::ConsoleRefusal;
use super::rows::{self, ListQuery};
use super::verdicts::{self, Answer, CancelBody, ForkBody, VerdictBody};
use super::{Console, door, inbox, pages, run_page, saw, stream};

/// Bodies are verdicts: a reason is the longest thing in them.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Rows of the list where nobody says how many.
const ROWS: usize = 50;
const ROWS_MAX: usize = 200;

type Shared = State<Arc<Console>>;

pub(super) fn router(console: Arc<Console>) -> Router {
    let known = Router::new()
        .route("/api/runs", get(list))
        .route("/api/runs/{run}", get(show))
        .route("/api/runs/{run}/entries", get(list_entries))
        .route("/api/runs/{run}/entries/{seq}/text", get(text))
        .route("/api/runs/{run}/saw/{turn}", get(saw_turn))
        .route("/api/runs/{run}/approve", post(approve))
        .route("/api/runs/{run}/deny", post(deny))
        .route("/api/runs/{run}/cancel", post(cancel))
        .route("/api/runs/{run}/resume", post(resume))
        .route("/api/runs/{run}/fork", post(fork))
        .route("/api/runs/{run}/verify", post(verify))
        .route("/api/runs/{run}/replay", post(replay))
        .route("/api/inbox", get(show_inbox))
        .route("/api/stream", get(follow))
        .route_layer(middleware::from_fn_with_state(console.clone(), admit));
    Router::new()
        .merge(known)
        .route("/api/site", get(site))
        .route("/api/session", post(enter))
        .route("/api", any(unknown))
        .route("/api/{*rest}", any(unknown))
        .fallback(get(pages::answer))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(guard))
        .with_state(console)
}

/// Around everything: the name under which we are asked, and what browsers may do with the answer.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = match door::check_name(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in pages::HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}

async fn admit(State(console): Shared, request: Request, next: Next) -> Response {
    match console.door.admit(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn unknown() -> ConsoleRefusal {
    ConsoleRefusal::missing("there is nothing at this address")
}

#[derive(Serialize)]
struct SiteDto {
    version: &'static str,
    kind: &'static str,
    has: [&'static str; 2],
    login: &'static str,
    now: u64,
}

/// What a stranger may know: what to ask for.
async fn site(State(console): Shared) -> Json<SiteDto> {
    Json(SiteDto {
        version: env!("CARGO_PKG_VERSION"),
        kind: "store",
        has: ["inbox", "runs"],
        login: "link",
        now: console.host.clock.now().0,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnterBody {
    link: String,
}

#[derive(Serialize)]
struct SessionDto {
    token: String,
    user: String,
}

async fn enter(
    State(console): Shared,
    Sent(body): Sent<EnterBody>,
) -> Result<Json<SessionDto>, ConsoleRefusal> {
    Ok(Json(SessionDto {
        token: console.door.enter(&body.link)?,
        user: console.person.clone(),
    }))
}

#[derive(Deserialize)]
struct ListParameters {
    limit: Option<usize>,
    before: Option<u64>,
    q: Option<String>,
    state: Option<String>,
}

async fn list(
    State(console): Shared,
    Parameters(query): Parameters<ListParameters>,
) -> Result<Response, ConsoleRefusal> {
    let query = ListQuery {
        limit: query.limit.unwrap_or(ROWS).min(ROWS_MAX),
        before: query.before,
        text: query.q.unwrap_or_default(),
        state: query.state.filter(|it| !it.is_empty()),
    };
    Ok(Json(rows::list(&console.host, &query).await?).into_response())
}

async fn show(
    State(console): Shared,
    Address(run): Address<String>,
) -> Result<Response, ConsoleRefusal> {
    Ok(Json(run_page::show(&console.host, &run).await?).into_response())
}

/// The run that an address names.
async fn found(console: &Console, named: &str) -> Result<RunId, ConsoleRefusal> {
    Ok(run_page::find(&console.host, named).await?.run)
}

#[derive(Deserialize)]
struct EntriesParameters {
    after: Option<u64>,
    limit: Option<usize>,
}

async fn list_entries(
    State(console): Shared,
    Address(run): Address<String>,
    Parameters(query): Parameters<EntriesParameters>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    let (after, limit) = (query.after.unwrap_or(0), query.limit.unwrap_or(500));
    let store = &*console.host.store;
    Ok(Json(entries::page(store, &run, after, limit).await?).into_response())
}

#[derive(Deserialize)]
struct TextParameters {
    at: String,
    from: Option<usize>,
    find: Option<String>,
    download: Option<String>,
}

async fn text(
    State(console): Shared,
    Address((run, seq)): Address<(String, u64)>,
    Parameters(query): Parameters<TextParameters>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    let text = EntryText::load(&*console.host.store, &run, seq, &query.at).await?;
    Ok(match (query.download, query.find) {
        (Some(_), _) => text.download(&format!("{run}-{seq}")),
        (None, Some(wanted)) => text.find(&wanted),
        (None, None) => text.piece(query.from.unwrap_or(0)),
    })
}

async fn saw_turn(
    State(console): Shared,
    Address((run, turn)): Address<(String, u32)>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(saw::saw(&console.host, &run, turn).await?).into_response())
}

async fn show_inbox(State(console): Shared) -> Result<Response, ConsoleRefusal> {
    Ok(Json(inbox::inbox(&console.host).await?).into_response())
}

async fn approve(
    State(console): Shared,
    Address(run): Address<String>,
    Sent(body): Sent<VerdictBody>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(verdicts::judge(&console, &run, Answer::Approve, body).await?).into_response())
}

async fn deny(
    State(console): Shared,
    Address(run): Address<String>,
    Sent(body): Sent<VerdictBody>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(verdicts::judge(&console, &run, Answer::Deny, body).await?).into_response())
}

async fn cancel(
    State(console): Shared,
    Address(run): Address<String>,
    Sent(body): Sent<CancelBody>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(verdicts::cancel(&console, &run, body).await?).into_response())
}

async fn resume(
    State(console): Shared,
    Address(run): Address<String>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(verdicts::resume(&console, &run).await?).into_response())
}

async fn fork(
    State(console): Shared,
    Address(run): Address<String>,
    Sent(body): Sent<ForkBody>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(verdicts::fork(&console, &run, body).await?).into_response())
}

async fn verify(
    State(console): Shared,
    Address(run): Address<String>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(verdicts::verify(&console, &run).await?).into_response())
}

async fn replay(
    State(console): Shared,
    Address(run): Address<String>,
) -> Result<Response, ConsoleRefusal> {
    let run = found(&console, &run).await?;
    Ok(Json(verdicts::replay(&console, &run).await?).into_response())
}

#[derive(Deserialize)]
struct StreamParameters {
    run: Option<String>,
    after: Option<u64>,
}

async fn follow(
    State(console): Shared,
    Parameters(query): Parameters<StreamParameters>,
) -> Result<Response, ConsoleRefusal> {
    let run = match query.run {
        Some(named) => Some((found(&console, &named).await?, query.after.unwrap_or(0))),
        None => None,
    };
    Ok(stream::stream(console, run))
}
