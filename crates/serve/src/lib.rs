//! What `bonded` serves: agents as models of an OpenAI-compatible server and as tools of MCP clients, and the workspace.
//!
//! It knows who asks, how things are said and how they are shown. It decides nothing: a request becomes a goal or a
//! change, and the kernel and the rules decide. It reads no arguments, prints nothing and ends no process.
//!
//! # The way of a request
//!
//! `server::serve`, or `workspace::serving::Serving::serve_alone` where no agents are served, gives the listener and the
//! router to `bonded_web::connection::accept`, which reads requests from connections. From there, for `PATCH /api/notes/{note_id}`:
//!
//! 1. `workspace::cors::answer` stands around the router, for pages of other origins.
//! 2. `workspace::routes::router` was made from the table `ROUTES`; its row calls `workspace::routes::answer`, which names
//!    the request, watches the clock and writes the log of requests.
//! 3. `workspace::ask::WorkspaceAsk::read` takes the request apart: the path, the caller (`workspace::access::caller`),
//!    the rate of writes, the idempotency key, the query (`json_api::query::Query::parse`) and the body
//!    (`json_api::body::read`).
//! 4. The handler of the row gets the `WorkspaceAsk` and its body (`workspace::handler::Handler`): here
//!    `workspace::api::note_writes::update`, which reads a `workspace::dto::NoteEdit` by `RequiredBody::read`.
//! 5. `workspace::ask::WorkspaceAsk::write` gives a `Change` to `WorkspaceStore::write_by`. There the rules' `decide` says
//!    what comes of it, in the transaction that makes it durable.
//! 6. What was written becomes a `workspace::dto::Note` (`workspace::outcome`), and `json_api::answer::OkJson` makes the
//!    response of it. A refusal on the way becomes one by `json_api::refusal::ApiRefusal::response`.
//!
//! For `POST /v1/chat/completions` the row is in `agents::routes::router`. `agents::ask::ask` finds out who asks and reads
//! the body (`agents::body::read`, `agents::chat::read`), `agents::models::Model::goal` makes the goal, and
//! `agents::runs::Runs` drives its run with the host. What the run came to (`agents::answer::RunAnswer`) is written by
//! `agents::chat::whole`, or in pieces by `agents::chat::Chunks`.

pub mod agents;
pub mod console;
pub mod json_api;
mod listening;
pub mod mcp;
pub mod operations;
pub mod server;
mod sorted_json;
pub mod workspace;
