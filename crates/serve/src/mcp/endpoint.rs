//! `/mcp`: the agents for MCP clients, who are let in as all others are.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use axum::routing::any;
use bonded_host::CancellationToken;

use super::offer::Offer;
use crate::agents::{AgentRefusal, AgentServer, body};
use bonded_mcp::http::Endpoint;

/// The one path of the protocol.
const PATH: &str = "/mcp";

/// What the handler needs.
#[derive(Clone, Debug)]
struct Reached {
    server: Arc<AgentServer>,
    endpoint: Arc<Endpoint<Offer>>,
}

/// Where there are no tokens, pages of loopback names only may ask; with tokens, pages of the server's own name too.
pub(crate) fn router<S>(
    server: Arc<AgentServer>,
    connection_max: Option<Duration>,
    stop: CancellationToken,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let has_tokens = !server.tokens.is_empty();
    let offer = Arc::new(Offer::new(server.clone()));
    let endpoint = Endpoint::new(offer, has_tokens, stop).closing_after(connection_max);
    let endpoint = Arc::new(endpoint);
    Router::new()
        .route(PATH, any(reached))
        .with_state(Reached { server, endpoint })
}

/// The caller is found out before anything of the body is read.
async fn reached(
    State(reached): State<Reached>,
    request: Request,
) -> Result<Response, AgentRefusal> {
    let (head, body) = request.into_parts();
    let Reached { server, endpoint } = reached;
    let caller = server.caller(&head)?.0;
    let headers: HeaderMap = head.headers;
    if let Some(refused) = endpoint.unwelcome(&headers) {
        return Ok(refused);
    }
    match head.method {
        Method::POST => {
            let body = body::read(&headers, body).await?;
            Ok(endpoint.post(caller, &headers, &body).await)
        }
        Method::GET => Ok(endpoint.get(caller, &headers)),
        Method::DELETE => Ok(endpoint.delete(caller, &headers)),
        method => Err(AgentRefusal::unknown_method(method.as_str(), PATH)),
    }
}
