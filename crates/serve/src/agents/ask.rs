//! One question: from the request to the run, and from the run to the answer.
//!
//! The steps stand in the order of their cost and of what they give away: who asks, the body, the model, the goal, and
//! only then a place in the line. Both interfaces share all of it; they differ in how a body is read and how an answer
//! is written.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use bonded_host::{Goal, off_the_runtime};
use bonded_kernel::Served;
use serde::Serialize;

use super::access::Caller;
use super::answer::RunAnswer;
use super::client::{Client, Ticket};
use super::client_tools::{self, ClientToolsMode};
use super::key::RunKey;
use super::models::Model;
use super::own::Own;
use super::progress::Follower;
use super::refusal::AgentRefusal;
use super::request::{AgentRequest, Streaming};
use super::resumption::{self, Resumption};
use super::stream::{self, AnswerWriter};
use super::{AgentServer, body, chat, responses};
use crate::sorted_json::sorted_json;

/// Names the run of an answer, also of one that is an error.
const RUN: HeaderName = HeaderName::from_static("x-bonded-run");

/// What is no longer is read in less time than it takes to hand other tasks over to another thread, and every thread that
/// has ever taken them over keeps memory.
const SHORT_BODY_BYTES: usize = 64 * 1024;

/// The two ways of OpenAI's clients to ask.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interface {
    Chat,
    Responses,
}

impl Interface {
    /// What is asked, or what is wrong with the body.
    fn read(self, body: &[u8]) -> Result<AgentRequest, AgentRefusal> {
        match self {
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
        }
    }

    /// For clients that wait for the whole answer.
    fn whole(self, ticket: &Ticket, answer: &RunAnswer) -> Response {
        match self {
            Self::Chat => json(&chat::whole(ticket, answer)),
            Self::Responses => json(&responses::whole(ticket, answer)),
        }
    }

    /// For clients that want it piece by piece.
    fn telling(self, ticket: Ticket, how: Streaming) -> Box<dyn AnswerWriter> {
        match self {
            Self::Chat => Box::new(chat::Chunks {
                ticket,
                with_usage: how.usage,
            }),
            Self::Responses => Box::new(responses::Events::new(ticket)),
        }
    }
}

/// Asks an agent what a request asks.
/// Long bodies and schemas are worked on off the runtime, because other requests are answered by the same threads.
pub(super) async fn ask(
    server: &AgentServer,
    interface: Interface,
    request: Request,
) -> Result<Response, AgentRefusal> {
    let (head, body) = request.into_parts();
    let caller = server.caller(&head)?;
    let body = body::read(&head.headers, body).await?;
    let is_short = body.len() <= SHORT_BODY_BYTES;
    let mut asked = match is_short {
        true => interface.read(&body),
        false => off_the_runtime(|| interface.read(&body)),
    }?;
    if let Some(stream) = &mut asked.stream {
        stream.progress |= server.tells_progress;
    }
    drop(body);
    let model = server.models.find(&asked.model)?;
    let resumption = server.resumption(caller, &asked).await?;
    let after = resumption.as_ref().map(|it| it.place);
    let seen = resumption.as_ref().map_or(0, |it| it.run.head().seq);
    let client = match resumption {
        Some(resumption) => server.runs.answer(caller, resumption)?,
        None => {
            let key = RunKey::of(&head.headers, caller, asked.digest)?;
            let own = server.apart.own(caller);
            let make_goal = || server.goal(model, &asked, own.as_ref());
            let is_quick = is_short && asked.tools.is_empty() && !model.has_schema_for(&asked);
            let goal = match is_quick {
                true => make_goal(),
                // The client's schemas are made ready here: that may take a while.
                false => off_the_runtime(make_goal),
            }?;
            server.runs.begin(caller, own.as_ref(), key, goal).await?
        }
    };
    let ticket = Ticket {
        run: client.run.clone(),
        after,
        model: model.id.clone(),
        created: unix_seconds(),
    };
    let run = HeaderValue::from_str(ticket.run.as_str());
    let mut response = match asked.stream {
        Some(how) => {
            let follower = how.progress.then(|| {
                let (store, run) = (server.runs.store(), ticket.run.clone());
                Follower::new(store, run, seen)
            });
            stream::response(client, interface.telling(ticket, how), follower)
        }
        None => whole(interface, client, &ticket).await,
    };
    if let Ok(run) = run {
        response.headers_mut().insert(RUN, run);
    }
    Ok(response)
}

impl AgentServer {
    /// The run that a request goes on with, where it brings the results of calls.
    async fn resumption(
        &self,
        caller: Caller,
        asked: &AgentRequest,
    ) -> Result<Option<Resumption>, AgentRefusal> {
        match self.client_tools {
            ClientToolsMode::Call if !self.is_queued => {
                Box::pin(resumption::of(self.runs.host(), caller, asked)).await
            }
            ClientToolsMode::Call | ClientToolsMode::Ignore => match asked.previous {
                Some(_) => Err(resumption::results_wanted()),
                None => Ok(None),
            },
        }
    }

    /// The goal of a request, with the tools that its client executes.
    fn goal(
        &self,
        model: &Model,
        asked: &AgentRequest,
        own: Option<&Own>,
    ) -> Result<Goal, AgentRefusal> {
        let mut goal = model.goal(asked, &self.limits, own, Served::Openai)?;
        let offered = match self.client_tools {
            ClientToolsMode::Call => asked.tools.read()?,
            ClientToolsMode::Ignore => None,
        };
        if offered.is_some() && self.is_queued {
            return Err(client_tools::queued());
        }
        goal.config.client_tools = offered.map(Box::new);
        Ok(goal)
    }
}

/// A connection that breaks while this waits drops it, and the client with it.
async fn whole(interface: Interface, mut client: Client, ticket: &Ticket) -> Response {
    match client.ended().await {
        Ok(answer) => interface.whole(ticket, &answer),
        Err(refusal) => refusal.into_response(),
    }
}

/// With the fields in order, as everything that is served.
pub(super) fn json(body: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(sorted_json(body)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Zero where the clock stands before 1970.
pub(super) fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
