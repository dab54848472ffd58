//! What is where: one table, from which the server is made and to which the OpenAPI document is held.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, any, on};
use futures_util::future::BoxFuture;

use super::answer::Answer;
use super::api::{
    auth, health, members, note_writes, notes, proofs, rules, runs, search, users, workspaces,
};
use super::ask::Ask;
use super::refusal::{Refusal, named, refused};
use super::request_log::RequestLog;
use super::route::{Door, Route};
use super::site::Site;
use super::{cors, request_id, socket};

type Handler = fn(Ask) -> BoxFuture<'static, Result<Answer, Refusal>>;

/// A route, and who answers what comes by it.
pub(super) struct Served {
    route: Route,
    handler: Handler,
}

impl Served {
    fn open(self) -> Self {
        let route = self.route.open();
        Self { route, ..self }
    }

    fn keyed(self) -> Self {
        let route = self.route.keyed();
        Self { route, ..self }
    }

    fn query(self, query: &'static [&'static str]) -> Self {
        let route = self.route.query(query);
        Self { route, ..self }
    }
}

macro_rules! route {
    ($method:ident $path:literal $handler:path) => {
        Served {
            route: Route {
                method: Method::$method,
                path: $path,
                door: Door::Known,
                is_keyed: false,
                takes_body: matches!(Method::$method, Method::POST | Method::PATCH | Method::PUT),
                query: &[],
            },
            handler: |ask| Box::pin($handler(ask)),
        }
    };
}

const PAGE: &[&str] = &["limit", "offset"];
const BASE: &[&str] = &["base_version"];

/// Everything there is, but for the socket.
pub(super) static ROUTES: LazyLock<Vec<Served>> = LazyLock::new(|| {
    let notes_query = &[
        "workspace_id",
        "note_kind",
        "include_deleted",
        "sort",
        "limit",
        "offset",
    ];
    let search_query = &[
        "q",
        "workspace_id",
        "limit",
        "offset",
        "mode",
        "note_kind",
        "sort",
    ];
    vec![
        route!(GET "/healthz" health::alive).open(),
        route!(GET "/readyz" health::ready).open(),
        route!(GET "/api/healthz" health::alive).open(),
        route!(GET "/api/readyz" health::ready).open(),
        route!(GET "/api/openapi.json" health::openapi).open(),
        route!(POST "/api/setup/register" auth::register),
        route!(POST "/api/auth/login" auth::login).open(),
        route!(POST "/api/auth/logout" auth::logout),
        route!(GET "/api/auth/session" auth::session),
        route!(POST "/api/auth/invitation" users::accept).open(),
        route!(POST "/api/owner" users::transfer),
        route!(GET "/api/users" users::list),
        route!(POST "/api/users" users::add),
        route!(PATCH "/api/users/{user_id}" users::update),
        route!(DELETE "/api/users/{user_id}" users::delete),
        route!(POST "/api/users/{user_id}/invitation" users::invite),
        route!(PUT "/api/users/{user_id}/password" proofs::set_password),
        route!(GET "/api/users/{user_id}/tokens" proofs::tokens),
        route!(POST "/api/users/{user_id}/tokens" proofs::add_token),
        route!(DELETE "/api/users/{user_id}/tokens/{token_id}" proofs::revoke_token),
        route!(GET "/api/users/{user_id}/sessions" proofs::sessions),
        route!(DELETE "/api/users/{user_id}/sessions" proofs::end_sessions),
        route!(DELETE "/api/users/{user_id}/sessions/{session_id}" proofs::end_session),
        route!(GET "/api/workspaces" workspaces::list),
        route!(POST "/api/workspaces" workspaces::create).keyed(),
        route!(PATCH "/api/workspaces/{workspace_id}" workspaces::update).keyed(),
        route!(GET "/api/workspaces/{workspace_id}/members" members::list),
        route!(POST "/api/workspaces/{workspace_id}/members" members::set),
        route!(DELETE "/api/workspaces/{workspace_id}/members/{user_id}" members::remove),
        route!(GET "/api/notes" notes::list).query(notes_query),
        route!(POST "/api/notes" note_writes::create).keyed(),
        route!(GET "/api/notes/{note_id}" notes::show),
        route!(PATCH "/api/notes/{note_id}" note_writes::update).keyed(),
        route!(DELETE "/api/notes/{note_id}" note_writes::delete)
            .keyed()
            .query(BASE),
        route!(PATCH "/api/notes/{note_id}/title" note_writes::retitle).keyed(),
        route!(POST "/api/notes/{note_id}/undelete" note_writes::undelete).keyed(),
        route!(GET "/api/notes/{note_id}/history" notes::history).query(PAGE),
        route!(GET "/api/notes/{note_id}/history/{version}" notes::version),
        route!(GET "/api/notes/{note_id}/backlinks" notes::backlinks),
        route!(PUT "/api/notes/{note_id}/metadata/{key}" note_writes::set_metadata)
            .keyed()
            .query(BASE),
        route!(DELETE "/api/notes/{note_id}/metadata/{key}" note_writes::delete_metadata)
            .keyed()
            .query(BASE),
        route!(GET "/api/search" search::search).query(search_query),
        route!(GET "/api/automation/rules" rules::list).query(&["workspace_id"]),
        route!(POST "/api/automation/rules" rules::create).keyed(),
        route!(GET "/api/automation/rules/{rule_id}" rules::show),
        route!(PATCH "/api/automation/rules/{rule_id}" rules::update).keyed(),
        route!(DELETE "/api/automation/rules/{rule_id}" rules::delete)
            .keyed()
            .query(BASE),
        route!(POST "/api/automation/rules/{rule_id}/launch" rules::launch).keyed(),
        route!(GET "/api/automation/runs" runs::list).query(&[
            "workspace_id",
            "rule_id",
            "status",
            "limit",
            "offset",
        ]),
        route!(GET "/api/automation/runs/{run_id}" runs::show),
        route!(POST "/api/automation/runs/{run_id}/cancel" runs::cancel),
        route!(POST "/api/automation/runs/{run_id}/review" runs::review).keyed(),
        route!(GET "/api/issues" runs::issues).query(&["workspace_id", "limit", "offset"]),
    ]
});

/// Everything below `/api`, the socket, and an error in our own shape for what is not there.
pub(super) fn router(site: Arc<Site>) -> Router {
    let mut router = Router::new().route("/ws", any(socket::upgrade));
    for served in ROUTES.iter() {
        let route = &served.route;
        let handler =
            move |State(site): State<Arc<Site>>, request: Request| answer(site, served, request);
        let method = MethodFilter::try_from(route.method.clone());
        let method = method.expect("the table names methods that axum knows");
        router = router.route(route.path, on(method, handler));
    }
    router
        .route("/api", any(unknown_path))
        .route("/api/{*rest}", any(unknown_path))
        .method_not_allowed_fallback(unknown_method)
        .layer(from_fn_with_state(site.clone(), cors::answer))
        .with_state(site)
}

/// Answers one request, in time and with its name.
async fn answer(site: Arc<Site>, served: &'static Served, request: Request) -> Response {
    let name = request_id::of(request.headers());
    let timeout = site.settings.request_timeout;
    let asked = RequestLog::of(&request, &name);
    let answered = tokio::time::timeout(timeout, async {
        let ask = Ask::read(site, &served.route, name.clone(), request).await?;
        (served.handler)(ask).await
    });
    let answered = answered.await.unwrap_or_else(|_| {
        let message = "this took too long; send it again with the same Idempotency-Key";
        Err(Refusal::unavailable(message))
    });
    let response = match answered {
        Ok(answer) => answer.response(),
        Err(refusal) => refusal.response(&name),
    };
    asked.answered(response.status());
    named(response, &name)
}

pub(super) async fn unknown_path(headers: HeaderMap, uri: Uri) -> Response {
    refused(&headers, &Refusal::unknown_path(uri.path()))
}

async fn unknown_method(method: Method, headers: HeaderMap, uri: Uri) -> Response {
    refused(
        &headers,
        &Refusal::unknown_method(method.as_str(), uri.path()),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bonded_workspace_rules::Code;
    use serde_json::Value;

    use super::*;
    use crate::workspace::api::health::OPENAPI;

    fn document() -> Value {
        serde_json::from_str(OPENAPI).expect("the document is JSON")
    }

    #[test]
    fn the_document_describes_every_route_and_no_other() {
        let document = document();
        let paths = document["paths"].as_object().expect("there are paths");
        let described: BTreeSet<String> = paths
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().expect("a path has methods");
                methods
                    .keys()
                    .map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .collect();
        let served: BTreeSet<String> = ROUTES.iter().map(|it| it.route.to_string()).collect();
        assert_eq!(served, described);
    }

    #[test]
    fn the_document_says_of_each_route_who_may_ask_and_what_may_be_said() {
        let document = document();
        for Served { route, .. } in ROUTES.iter() {
            let method = route.method.as_str().to_lowercase();
            let operation = &document["paths"][route.path][&method];
            let is_open = operation["security"] == serde_json::json!([]);
            assert_eq!(is_open, route.door == Door::Open, "{route}");
            let none = vec![];
            let parameters = operation["parameters"].as_array().unwrap_or(&none);
            let query: BTreeSet<&str> = parameters
                .iter()
                .filter(|it| it["in"] == "query")
                .filter_map(|it| it["name"].as_str())
                .collect();
            assert_eq!(query, route.query.iter().copied().collect(), "{route}");
            let is_keyed = parameters
                .iter()
                .any(|it| it["$ref"] == "#/components/parameters/IdempotencyKey");
            assert_eq!(is_keyed, route.is_keyed, "{route}");
            if operation["requestBody"].is_object() {
                assert!(route.takes_body, "{route}");
            }
        }
    }

    #[test]
    fn the_document_names_every_code() {
        let document = document();
        let named = &document["components"]["schemas"]["Error"]["properties"]["code"]["enum"];
        let named: BTreeSet<&str> = named
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let over_http = Code::ALL.iter().filter(|code| code.status().is_some());
        let over_http: BTreeSet<&str> = over_http.map(|code| code.as_str()).collect();
        assert_eq!(named, over_http);
    }
}
