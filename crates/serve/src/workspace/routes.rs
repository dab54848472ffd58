//! What is where: one table, from which the server and the OpenAPI document are made.
//!
//! Whoever adds a route adds a row here and a handler; the tests below hold the document to it.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, any, on};

use super::api::{
    attachments, auth, health, hooks, loops, members, note_versions, note_writes, notes, notices,
    proofs, rule_checks, rules, runs, search, settings, users, workspaces,
};
use super::ask::WorkspaceAsk;
use super::handler::{BoxHandler, Handler};
#[cfg(test)]
use super::route::Description;
use super::route::{Door, RawBody, Route};
use super::site::Site;
use super::{cors, socket};
#[cfg(test)]
use crate::json_api::answer::Answers as _;
#[cfg(test)]
use crate::json_api::openapi::{Components, RequestRow, ResponseRow};
use crate::json_api::refusal::{ApiRefusal, named, refused};
use crate::json_api::request_id;
use crate::json_api::request_log::RequestLog;

/// A route, and who answers what comes by it.
pub(super) struct RoutedHandler {
    /// The row.
    pub(super) route: Route,
    /// With its types hidden.
    handler: BoxHandler,
    #[cfg(test)]
    pub(super) request: fn(&mut Components) -> Option<RequestRow>,
    #[cfg(test)]
    pub(super) answers: fn(&mut Components) -> Vec<ResponseRow>,
}

impl RoutedHandler {
    /// Only those who are known come in, unless said otherwise.
    fn new<Sent, H: Handler<Sent>>(route: Route, handler: H) -> Self {
        Self {
            route,
            handler: handler.boxed(),
            #[cfg(test)]
            request: H::request,
            #[cfg(test)]
            answers: H::Answer::describe,
        }
    }

    /// Open to everybody.
    fn open(self) -> Self {
        let route = self.route.open();
        Self { route, ..self }
    }

    /// Needs an idempotency key.
    fn keyed(self) -> Self {
        let route = self.route.keyed();
        Self { route, ..self }
    }

    /// Its body is taken as it is.
    fn raw(self, raw: RawBody) -> Self {
        let route = self.route.raw(raw);
        Self { route, ..self }
    }

    /// May have these in its query.
    fn query(self, query: &'static [&'static str]) -> Self {
        let route = self.route.query(query);
        Self { route, ..self }
    }
}

/// Method, path and handler; for the document the name of the operation, a summary, and statuses of refusals that follow
/// from nothing else here.
macro_rules! route {
    ($method:ident $path:literal $handler:path, $id:literal: $summary:literal $(, $refusal:literal)*) => {
        RoutedHandler::new(
            Route {
                method: Method::$method,
                path: $path,
                door: Door::Known,
                is_keyed: false,
                takes_body: matches!(Method::$method, Method::POST | Method::PATCH | Method::PUT),
                raw: None,
                query: &[],
                #[cfg(test)]
                description: Description {
                    operation_id: $id,
                    summary: $summary,
                    refusals: &[$($refusal),*],
                },
            },
            $handler,
        )
    };
}

/// Of lists.
const PAGE: &[&str] = &["limit", "offset"];
/// Of writes whose body has no place for it.
const BASE: &[&str] = &["base_version"];

/// Everything there is, but for the socket.
pub(super) static ROUTES: LazyLock<Vec<RoutedHandler>> = LazyLock::new(|| {
    let notes_query = &[
        "workspace_id",
        "note_kind",
        "keyword",
        "folder",
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
        route!(GET "/healthz" health::alive, "alive": "Check that the server is alive").open(),
        route!(GET "/readyz" health::ready, "ready": "Check that the server is ready").open(),
        route!(GET "/api/healthz" health::alive, "apiAlive": "Check that the server is alive").open(),
        route!(GET "/api/readyz" health::ready, "apiReady": "Check that the server is ready").open(),
        route!(GET "/api/openapi.json" health::openapi, "openapi": "This document").open(),
        route!(POST "/api/setup/register" auth::register,
            "register": "Set the owner's name and password, once, with the owner's token", 409),
        route!(POST "/api/auth/login" auth::login,
            "login": "Log in: get a session cookie, and the token that pages must send with changes", 401).open(),
        route!(POST "/api/auth/logout" auth::logout, "logout": "Log out"),
        route!(GET "/api/auth/session" auth::session, "session": "Get the caller's session"),
        route!(POST "/api/auth/invitation" users::accept,
            "acceptInvitation": "Accept an invitation: set the password of the invited user", 401).open(),
        route!(POST "/api/owner" users::transfer,
            "transferOwner": "Make another user the owner of the installation (owner only)", 404, 409),
        route!(GET "/api/users" users::list, "listUsers": "List users (owner only)"),
        route!(POST "/api/users" users::add, "addUser": "Create a user (owner only)", 409),
        route!(PATCH "/api/users/{user_id}" users::update,
            "updateUser": "Disable or enable a user (owner only)", 409),
        route!(DELETE "/api/users/{user_id}" users::delete,
            "deleteUser": "Delete a user (owner only)", 409),
        route!(POST "/api/users/{user_id}/invitation" users::invite,
            "inviteUser": "Invite a user to set a password, once (owner only)"),
        route!(DELETE "/api/users/{user_id}/invitation" users::withdraw,
            "withdrawInvitation": "Withdraw an invitation (owner only)"),
        route!(PUT "/api/users/{user_id}/password" proofs::set_password,
            "setPassword": "Set your own password, or as the owner another's; ends all sessions"),
        route!(GET "/api/users/{user_id}/tokens" proofs::tokens,
            "listTokens": "List your own tokens, or as the owner another's"),
        route!(POST "/api/users/{user_id}/tokens" proofs::add_token,
            "addToken": "Create a token; it is shown only once"),
        route!(DELETE "/api/users/{user_id}/tokens/{token_id}" proofs::revoke_token,
            "revokeToken": "Revoke a token"),
        route!(GET "/api/users/{user_id}/sessions" proofs::sessions,
            "listSessions": "List your own sessions, or as the owner another's"),
        route!(DELETE "/api/users/{user_id}/sessions" proofs::end_sessions,
            "endSessions": "End all sessions of a user"),
        route!(DELETE "/api/users/{user_id}/sessions/{session_id}" proofs::end_session,
            "endSession": "End a session"),
        route!(GET "/api/workspaces" workspaces::list, "listWorkspaces": "List the caller's workspaces"),
        route!(POST "/api/workspaces" workspaces::create,
            "createWorkspace": "Create a workspace; the caller owns it").keyed(),
        route!(PATCH "/api/workspaces/{workspace_id}" workspaces::update,
            "updateWorkspace": "Rename, archive or delete a workspace").keyed(),
        route!(GET "/api/workspaces/{workspace_id}/members" members::list,
            "listMembers": "List the members of a workspace and their roles"),
        route!(POST "/api/workspaces/{workspace_id}/members" members::set,
            "setMember": "Add a member, or change a member's role", 409),
        route!(DELETE "/api/workspaces/{workspace_id}/members/{user_id}" members::remove,
            "removeMember": "Remove a member from a workspace"),
        route!(GET "/api/notes" notes::list,
            "listNotes": "List the notes of a workspace, without their texts").query(notes_query),
        route!(POST "/api/notes" note_writes::create, "createNote": "Create a note", 404).keyed(),
        route!(GET "/api/notes/{note_id}" notes::show, "showNote": "Get a note, even a deleted one"),
        route!(PATCH "/api/notes/{note_id}" note_writes::update, "updateNote": "Change a note", 409).keyed(),
        route!(DELETE "/api/notes/{note_id}" note_writes::delete,
            "deleteNote": "Delete a note; it can be restored", 409)
            .keyed()
            .query(BASE),
        route!(PATCH "/api/notes/{note_id}/title" note_writes::retitle,
            "retitleNote": "Change a note's title", 409).keyed(),
        route!(POST "/api/notes/{note_id}/undelete" note_writes::undelete,
            "undeleteNote": "Restore a deleted note", 409).keyed(),
        route!(GET "/api/notes/{note_id}/history" notes::history,
            "noteHistory": "List the changes of a note, newest first").query(PAGE),
        route!(GET "/api/notes/{note_id}/history/{version}" notes::version,
            "noteVersion": "Get an earlier version of a note"),
        route!(GET "/api/notes/{note_id}/diff" note_versions::diff,
            "noteDiff": "Compare two versions of a note").query(&["from", "to"]),
        route!(POST "/api/notes/{note_id}/rollback" note_versions::rollback,
            "rollBackNote": "Make an earlier version of a note the newest again", 409).keyed(),
        route!(GET "/api/notes/{note_id}/attachments" attachments::list,
            "listAttachments": "List the attachments of a note"),
        route!(POST "/api/notes/{note_id}/attachments" attachments::attach,
            "attachFile": "Attach a file to a note: its bytes are the body")
            .keyed()
            .query(&["name"])
            .raw(RawBody::Attachment),
        route!(GET "/api/attachments/{attachment_id}" attachments::download,
            "downloadAttachment": "Download an attachment, even one that was removed"),
        route!(DELETE "/api/attachments/{attachment_id}" attachments::remove,
            "removeAttachment": "Remove an attachment from its note; its content is kept").keyed(),
        route!(GET "/api/keywords" note_versions::keywords,
            "listKeywords": "List the keywords of a workspace's notes, most used first").query(&["workspace_id"]),
        route!(GET "/api/notes/{note_id}/backlinks" notes::backlinks,
            "noteBacklinks": "List the notes that link to a note"),
        route!(PUT "/api/notes/{note_id}/metadata/{key}" note_writes::set_metadata,
            "setMetadata": "Set a metadata key of a note", 409)
            .keyed()
            .query(BASE),
        route!(DELETE "/api/notes/{note_id}/metadata/{key}" note_writes::delete_metadata,
            "deleteMetadata": "Remove a metadata key of a note", 409)
            .keyed()
            .query(BASE),
        route!(GET "/api/search" search::search,
            "search": "Search notes; at most ten searches a second", 422, 429).query(search_query),
        route!(GET "/api/automation/rules" rules::list,
            "listRules": "List the rules of a workspace").query(&["workspace_id"]),
        route!(POST "/api/automation/rules" rules::create, "createRule": "Create a rule", 404, 422).keyed(),
        route!(GET "/api/automation/rules/{rule_id}" rules::show, "showRule": "Get a rule"),
        route!(PATCH "/api/automation/rules/{rule_id}" rules::update,
            "updateRule": "Change a rule; base_version names the version that the change was made for", 409, 422).keyed(),
        route!(DELETE "/api/automation/rules/{rule_id}" rules::delete,
            "deleteRule": "Delete a rule; its runs are kept", 409)
            .keyed()
            .query(BASE),
        route!(POST "/api/automation/rules/{rule_id}/launch" rules::launch,
            "launchRule": "Queue a run of a rule; if it has already run for the event, return that run", 409, 422).keyed(),
        route!(POST "/api/automation/rules/check" rule_checks::check,
            "checkRule": "Check a rule without saving it: everything that is wrong, or what it means", 404),
        route!(POST "/api/automation/rules/dry-run" rule_checks::dry_run,
            "dryRunRule": "Try a rule with an event, a note or a message; nothing is done", 404, 422),
        route!(GET "/api/automation/rules/{rule_id}/firings" rule_checks::firings,
            "ruleFirings": "List the next five times at which a rule's schedule is due"),
        route!(POST "/api/automation/rules/{rule_id}/secret" rules::renew_secret,
            "renewSecret": "Replace a rule's secret; it is shown only once", 409),
        route!(POST "/api/hooks/{hook_id}" hooks::receive,
            "receiveHook": "Send a signed message to a rule with the trigger webhook; docs/rules.md says how to sign it", 401)
            .open()
            .raw(RawBody::Hook),
        route!(GET "/api/notices" notices::list,
            "listNotices": "List the notices that rules left, newest first").query(&["workspace_id", "unread", "limit", "offset"]),
        route!(POST "/api/notices/read" notices::mark_read,
            "readNotices": "Mark notices as read, for the caller", 404),
        route!(GET "/api/automation/runs" runs::list, "listRuns": "List the runs of rules, newest first").query(&[
            "workspace_id",
            "rule_id",
            "status",
            "limit",
            "offset",
        ]),
        route!(GET "/api/automation/runs/{run_id}" runs::show,
            "showRun": "Get a run with its audit and its proposals"),
        route!(GET "/api/automation/runs/{run_id}/loops" loops::loops,
            "runLoops": "List the loops of an agent's run: instructions, refusals, and the memory after each")
            .query(&["after", "limit"]),
        route!(GET "/api/automation/operations" loops::operations,
            "listOperations": "List what waits for a review in a workspace, over all runs, oldest first").query(&[
            "workspace_id",
            "limit",
            "offset",
        ]),
        route!(GET "/api/automation/rules/{rule_id}/memory" loops::memory,
            "ruleMemory": "Get the memory of a rule's agent", 409),
        route!(POST "/api/automation/runs/{run_id}/cancel" runs::cancel,
            "cancelRun": "Cancel a run", 409),
        route!(POST "/api/automation/runs/{run_id}/review" runs::review,
            "reviewRun": "Apply or reject the proposals of a run", 409).keyed(),
        route!(GET "/api/issues" runs::issues,
            "listIssues": "List what agents want a person to look at, newest first").query(&["workspace_id", "state", "limit", "offset"]),
        route!(POST "/api/issues/{issue_id}/close" runs::close_issue, "closeIssue": "Close an issue").keyed(),
        route!(GET "/api/settings" settings::list,
            "listSettings": "List the settings of the server and where they come from (owner only)"),
    ]
});

/// Everything below `/api` with what the pages ask, the socket, and an error in our own shape for what is not there.
pub(super) fn router(site: Arc<Site>, pages: Router) -> Router {
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
        .with_state(site.clone())
        .merge(pages)
        .layer(from_fn_with_state(site, cors::answer))
}

/// Answers one request, in time and with its name.
async fn answer(site: Arc<Site>, served: &'static RoutedHandler, request: Request) -> Response {
    let name = request_id::of(request.headers());
    let timeout = site.settings.request_timeout;
    let asked = RequestLog::of(&request, &name);
    let answered = tokio::time::timeout(timeout, async {
        let ask = WorkspaceAsk::read(site, &served.route, name.clone(), request).await?;
        (served.handler)(ask).await
    });
    let answered = answered.await.unwrap_or_else(|_| {
        let message = "this took too long; send it again with the same Idempotency-Key";
        Err(ApiRefusal::unavailable(message))
    });
    let response = match answered {
        Ok(response) => response,
        Err(refusal) => refusal.response(&name),
    };
    asked.answered(response.status());
    named(response, &name)
}

/// In the shape of all errors.
pub(super) async fn unknown_path(headers: HeaderMap, uri: Uri) -> Response {
    refused(&headers, &ApiRefusal::unknown_path(uri.path()))
}

/// In the shape of all errors.
async fn unknown_method(method: Method, headers: HeaderMap, uri: Uri) -> Response {
    refused(
        &headers,
        &ApiRefusal::unknown_method(method.as_str(), uri.path()),
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
        serde_json::from_str(&OPENAPI).expect("the document is JSON")
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
        for RoutedHandler { route, .. } in ROUTES.iter() {
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
