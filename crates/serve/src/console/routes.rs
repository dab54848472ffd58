//! What is where: one table, from which the router and the document of the pages' API are made.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::ask::ConsoleAsk;
#[cfg(test)]
use super::openapi::{Answered, Description};
use super::refusal::ConsoleRefusal;
use super::{Console, api, pages};
use crate::json_api::answer;
use crate::json_api::refusal::named;
use crate::json_api::request_id;
use crate::json_api::request_log::RequestLog;

type Handler = fn(ConsoleAsk) -> BoxFuture<'static, Result<Response, ConsoleRefusal>>;

/// One method of one path, and who answers what comes by it.
pub(super) struct ConsoleRoute {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Whether strangers may ask.
    pub(super) is_open: bool,
    /// What its query may say.
    pub(super) query: &'static [&'static str],
    handler: Handler,
    #[cfg(test)]
    pub(super) description: Description,
}

impl ConsoleRoute {
    /// Whether a request by it may change something.
    pub(super) fn changes(&self) -> bool {
        self.method != Method::GET
    }
}

/// Method, path, handler with the body that it takes and the answer that it gives; for the document the name of the
/// operation and a summary. What is no JSON has the name of its media type.
macro_rules! route {
    ($method:ident $path:literal $handler:path => $answer:ty, $id:literal: $summary:literal) => {
        route!(@row $method $path, $id, $summary,
            |ask| async move { $handler(ask).await.map(|it: $answer| json(&it)) }.boxed(),
            None, Answered::Json(|components| components.answer::<$answer>()))
    };
    ($method:ident $path:literal $handler:path [$body:ty] => $answer:ty, $id:literal: $summary:literal) => {
        route!(@row $method $path, $id, $summary,
            |mut ask| async move {
                let body: $body = ask.body()?;
                $handler(ask, body).await.map(|it: $answer| json(&it))
            }.boxed(),
            Some(|components| components.request::<$body>()),
            Answered::Json(|components| components.answer::<$answer>()))
    };
    ($method:ident $path:literal $handler:path => raw $media:literal, $id:literal: $summary:literal) => {
        route!(@row $method $path, $id, $summary, |ask| $handler(ask).boxed(), None, Answered::Raw($media))
    };
    (@row $method:ident $path:literal, $id:literal, $summary:literal, $handler:expr, $request:expr, $answer:expr) => {
        ConsoleRoute {
            method: Method::$method,
            path: $path,
            is_open: false,
            query: &[],
            handler: $handler,
            #[cfg(test)]
            description: Description {
                operation_id: $id,
                summary: $summary,
                request: $request,
                answer: $answer,
            },
        }
    };
}

fn json(body: &impl serde::Serialize) -> Response {
    answer::json(StatusCode::OK, body)
}

impl ConsoleRoute {
    fn open(self) -> Self {
        Self {
            is_open: true,
            ..self
        }
    }

    /// Any other name is refused.
    fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }
}

const TEXT: &[&str] = &["at", "from", "find", "download"];

/// Everything there is below `/api`.
pub(super) static ROUTES: LazyLock<Vec<ConsoleRoute>> = LazyLock::new(|| {
    use super::access::{EnterBody, SessionDto};
    use super::entries::EntriesDto;
    use super::inbox::InboxDto;
    use super::item_page::ItemPageDto;
    use super::plans::{PlanDto, PlanListDto};
    use super::rows::RunListDto;
    use super::run_page::RunPageDto;
    use super::saw::SawDto;
    use super::verdicts::{
        CancelBody, ForkBody, ForkedDto, RecordedDto, ReplayedDto, VerdictBody, VerifiedDto,
    };
    vec![
        route!(GET "/api/site" api::site => api::SiteDto, "site": "What this server is, and how to sign in").open(),
        route!(POST "/api/session" api::enter [EnterBody] => SessionDto, "enter": "Sign in with a link or a token").open(),
        route!(GET "/api/runs" api::list => RunListDto, "listRuns": "List runs, newest first")
            .query(&["limit", "before", "q", "state", "agent", "since", "untrusted"]),
        route!(GET "/api/runs/{run_id}" api::show => RunPageDto, "showRun": "Get a run, without its entries"),
        route!(GET "/api/runs/{run_id}/entries" api::list_entries => EntriesDto,
            "listEntries": "List the entries of a run's log; long texts are cut").query(&["after", "limit"]),
        route!(GET "/api/runs/{run_id}/entries/{seq}/text" api::entry_text => raw "application/json",
            "entryText": "Get a text of an entry in pieces, search it, or download it").query(TEXT),
        route!(GET "/api/runs/{run_id}/saw/{turn}" api::saw_turn => SawDto,
            "saw": "Get the request that the model was sent in a turn, a page of its messages at a time").query(&["from", "limit", "whole"]),
        route!(GET "/api/runs/{run_id}/log" api::log => raw "application/x-ndjson",
            "log": "Download the whole log, as `bonded show RUN --json` prints it"),
        route!(POST "/api/runs/{run_id}/approve" api::approve [VerdictBody] => RecordedDto,
            "approve": "Approve the call that was shown"),
        route!(POST "/api/runs/{run_id}/deny" api::deny [VerdictBody] => RecordedDto, "deny": "Deny the call that was shown"),
        route!(POST "/api/runs/{run_id}/cancel" api::cancel [CancelBody] => RecordedDto, "cancelRun": "Cancel a run"),
        route!(POST "/api/runs/{run_id}/resume" api::resume => RecordedDto, "resumeRun": "Resume an interrupted run"),
        route!(POST "/api/runs/{run_id}/fork" api::fork [ForkBody] => ForkedDto,
            "forkRun": "Create a run that begins with the first turns of another"),
        route!(POST "/api/runs/{run_id}/verify" api::verify => VerifiedDto, "verifyRun": "Check the chain and the texts of a log"),
        route!(POST "/api/runs/{run_id}/replay" api::replay => ReplayedDto,
            "replayRun": "Compute every step of a run again and compare"),
        route!(GET "/api/inbox" api::inbox => InboxDto, "inbox": "List the calls that wait for a person"),
        route!(GET "/api/stream" api::follow => raw "application/x-ndjson",
            "stream": "Follow the list of runs, and the entries of one run").query(&["run", "after"]),
        route!(GET "/api/plans" api::list_plans => PlanListDto, "listPlans": "List plans of work items, newest first"),
        route!(GET "/api/plans/{plan_id}" api::show_plan => PlanDto, "showPlan": "Get a plan with its items"),
        route!(GET "/api/plans/{plan_id}/items/{item_id}" api::show_item => ItemPageDto,
            "showItem": "Get an item with its changes, tests and receipt"),
        route!(GET "/api/plans/{plan_id}/items/{item_id}/text" api::item_text => raw "application/json",
            "itemText": "Get a text of an item in pieces, search it, or download it").query(TEXT),
    ]
});

/// Everything below `/api` that the pages ask; no fallback, so that it can stand beside others.
pub(crate) fn router(console: Arc<Console>) -> Router {
    let mut router = Router::new();
    for route in ROUTES.iter() {
        let handler = move |State(console): State<Arc<Console>>, request: Request| {
            answer(console, route, request)
        };
        let method = MethodFilter::try_from(route.method.clone());
        let method = method.expect("the table names methods that axum knows");
        router = router.route(route.path, on(method, handler));
    }
    let router = router.method_not_allowed_fallback(unknown_method);
    router.with_state(console)
}

async fn answer(console: Arc<Console>, route: &'static ConsoleRoute, request: Request) -> Response {
    let name = request_id::of(request.headers());
    let asked = RequestLog::of(&request, &name);
    let answered = async {
        let ask = ConsoleAsk::read(console, route, request).await?;
        (route.handler)(ask).await
    };
    let response = match answered.await {
        Ok(response) => response,
        Err(refusal) => refusal.response(&name),
    };
    asked.answered(response.status());
    guarded(named(response, &name))
}

/// What an answer is: for this page, now, and nothing that a browser runs.
fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    pages::guard(headers);
    response
}

fn refused(headers: &HeaderMap, refusal: &ConsoleRefusal) -> Response {
    let name = request_id::of(headers);
    guarded(named(refusal.response(&name), &name))
}

async fn unknown_method(method: Method, headers: HeaderMap, uri: Uri) -> Response {
    let refusal = ConsoleRefusal::unknown_method(method.as_str(), uri.path());
    refused(&headers, &refusal)
}

/// Where nothing else is served: what is no file of the app is an address of it.
pub(super) async fn app_alone(
    State(console): State<Arc<Console>>,
    method: Method,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let is_api = uri.path() == "/api" || uri.path().starts_with("/api/");
    let found = match console.door.check_name(&headers) {
        Ok(()) if is_api => Err(ConsoleRefusal::missing("there is nothing at this address")),
        Ok(()) => Ok(pages::any(&method, &headers, &uri)),
        Err(refusal) => Err(refusal),
    };
    found.unwrap_or_else(|refusal| refused(&headers, &refusal))
}
