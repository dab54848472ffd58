//! The agents under the names by which clients ask for them.
//!
//! A model is an agent with an id. What a client may choose about the report is checked here against what the agent
//! fixes, and the goal of a run is made here.

use std::collections::BTreeSet;

use bonded_host::agent::{Agent, AgentError, Assignment, Moment};
use bonded_host::agent_file::InputFormat;
use bonded_host::{Goal, Host};
use bonded_kernel::{Limits, ReportFormat, RunFiles, Served};
use serde::Serialize;

use super::ask::unix_seconds;
use super::conversation::{self, Role};
use super::own::Own;
use super::refusal::AgentRefusal;
use super::request::{AgentRequest, Wish};

/// An agent as clients ask for it.
#[derive(Debug)]
pub(crate) struct Model {
    /// The name of the agent, with a number behind it where several have the same.
    pub(crate) id: String,
    /// Loaded when the server began; a change of its file counts from the next start on.
    pub(crate) agent: Agent,
    /// Made out when the server starts, before its agents work.
    kept: Option<Box<RunFiles>>,
    /// What prompts may ask of the machine and the clock.
    moment: fn() -> Moment,
}

/// All of them, in the order in which they were given.
#[derive(Debug)]
pub(crate) struct Models {
    /// No two have the same id.
    models: Vec<Model>,
    /// When the server began, in seconds since the Unix epoch.
    created: u64,
}

impl Models {
    /// Agents of one name are told apart by a number.
    pub(super) fn new(agents: Vec<Agent>, moment: fn() -> Moment) -> Self {
        let names = distinct(agents.iter().map(|agent| agent.name.as_str()));
        let models = names.into_iter().zip(agents);
        Self {
            models: models
                .map(|(id, agent)| Model::new(id, agent, moment))
                .collect(),
            created: unix_seconds(),
        }
    }

    /// For MCP, where they are tools.
    pub(crate) fn all(&self) -> &[Model] {
        &self.models
    }

    /// An unknown name is answered with the nearest one and with all of them.
    pub(super) fn find(&self, id: &str) -> Result<&Model, AgentRefusal> {
        let found = self.models.iter().find(|model| model.id == id);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.models.iter().map(|model| model.id.as_str()).collect();
            AgentRefusal::unknown_model(unknown(id, &known))
        })
    }

    /// As `GET /v1/models` answers.
    pub(super) fn list(&self) -> ModelList<'_> {
        ModelList {
            object: "list",
            data: self.models.iter().map(|model| self.listed(model)).collect(),
        }
    }

    /// One of them, as `GET /v1/models/{id}` answers.
    pub(super) fn listed<'a>(&self, model: &'a Model) -> ListedModel<'a> {
        ListedModel {
            id: &model.id,
            object: "model",
            created: self.created,
            owned_by: "bonded",
        }
    }
}

/// The models as OpenAI's clients list them.
#[derive(Debug, Serialize)]
pub(super) struct ModelList<'a> {
    /// Always `list`.
    object: &'static str,
    /// In the order of the server.
    data: Vec<ListedModel<'a>>,
}

/// A model as OpenAI's clients list it.
#[derive(Debug, Serialize)]
pub(super) struct ListedModel<'a> {
    /// What to send as `model`.
    id: &'a str,
    /// Always `model`.
    object: &'static str,
    /// The start of the server, for all of them.
    created: u64,
    /// Always `bonded`.
    owned_by: &'static str,
}

/// The first of a name keeps it; a number is taken only where no other agent has that name.
fn distinct<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    let mut taken: BTreeSet<String> = names.clone().map(str::to_owned).collect();
    let mut first = BTreeSet::new();
    let ids = names.map(|name| {
        if first.insert(name) {
            return name.to_owned();
        }
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        let mut free = numbered.filter(|id| taken.insert(id.clone()));
        free.next().unwrap_or_else(|| name.to_owned())
    });
    ids.collect()
}

/// The name that was sent is cut, because it may be anything.
fn unknown(id: &str, known: &[&str]) -> String {
    let short: String = id.chars().take(64).collect();
    let likeness = |name: &&&str| (strsim::jaro_winkler(&short, name) * 1000.0) as u32;
    let near = known.iter().max_by_key(likeness);
    let near = near.filter(|name| likeness(name) >= 750);
    let meant = near.map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
    format!(
        "there is no model {short:?}{meant} (the models are {})",
        known.join(", ")
    )
}

impl Model {
    /// What runs of the agent keep is found out once, before any of them works.
    fn new(id: String, agent: Agent, moment: fn() -> Moment) -> Self {
        let kept = bonded_host::keeping::kept_by(&agent.options, &agent.dir().to_string_lossy());
        Self {
            id,
            agent,
            kept,
            moment,
        }
    }

    /// Makes the goal of a request.
    /// The wish of the client is checked before the goal is made. A schema of the client's is compiled here, and a bad
    /// one is the client's fault.
    pub(crate) fn goal(
        &self,
        asked: &AgentRequest,
        limits: &Limits,
        own: Option<&Own>,
        served: Served,
    ) -> Result<Goal, AgentRefusal> {
        let wish = asked.wish.as_ref();
        let format = wish.map_or(ReportFormat::Markdown, |wish| wish.format);
        if let Some(wish) = wish {
            self.check_wish(wish)?;
        }
        let assignment = Assignment {
            input: self.input(asked)?,
            format,
            nonce: Host::draw_nonce(),
            now: (self.moment)(),
            limits: limits.clone(),
            parent: None,
        };
        let goal = match own {
            Some(own) => self.agent.goal_in(own.dir(), assignment),
            None => self.agent.goal(assignment),
        };
        let mut goal = goal.map_err(|error| refused(&error, asked.param))?;
        goal.images = conversation::images(&asked.utterances);
        goal.config.kept = self.kept.clone();
        goal.config.served = Some(served);
        let wants_progress = asked.stream.is_some_and(|stream| stream.progress);
        goal.config.own_tools.progress |= wants_progress && self.agent.works();
        if let Some((wish, schema)) = wish.and_then(|wish| Some((wish, wish.schema.as_ref()?)))
            && let Some(agent) = goal.config.agent.as_mut()
        {
            agent.report.schema = Some(schema.clone());
            agent.report.check().map_err(|fault| {
                AgentRefusal::bad_request("bad_schema", Some(wish.param), fault.to_string())
            })?;
        }
        Ok(goal)
    }

    /// An agent whose input is JSON takes nothing beside it.
    fn input(&self, asked: &AgentRequest) -> Result<String, AgentRefusal> {
        let takes_json = self.takes_json();
        let is_alone = matches!(asked.utterances.as_slice(), [only] if only.role == Role::User && only.images.is_empty());
        if takes_json && !is_alone {
            let message = format!(
                "the agent {:?} takes JSON: send it as the only message, the user's",
                self.id
            );
            return Err(AgentRefusal::bad_request(
                "json_input_wanted",
                Some(asked.param),
                message,
            ));
        }
        conversation::goal(&asked.utterances, asked.param)
    }

    /// Whether a schema must be made ready for a request: the client's, or one of the agent's own.
    pub(super) fn has_schema_for(&self, asked: &AgentRequest) -> bool {
        let wished = asked.wish.as_ref().and_then(|wish| wish.schema.as_ref());
        let output = self.agent.file.output.as_ref();
        let own = output.and_then(|output| output.schema.as_ref());
        wished.or(own).is_some() || self.takes_json()
    }

    /// By the agent's file.
    fn takes_json(&self) -> bool {
        let input = self.agent.file.input.as_ref();
        input.is_some_and(|input| input.format == InputFormat::Json)
    }

    /// A caller that gets another format than it asked for cannot read the answer.
    fn check_wish(&self, wish: &Wish) -> Result<(), AgentRefusal> {
        let fixed = self.agent.format(wish.format);
        let own_schema = self
            .agent
            .file
            .output
            .as_ref()
            .and_then(|it| it.schema.as_ref());
        let message = if fixed != wish.format {
            format!("the agent {:?} always reports as {fixed}", self.id)
        } else if own_schema.is_some()
            && wish.schema.is_some()
            && own_schema != wish.schema.as_ref()
        {
            format!(
                "the agent {:?} reports JSON by a schema of its own",
                self.id
            )
        } else {
            return Ok(());
        };
        Err(AgentRefusal::bad_request(
            "format_is_fixed",
            Some(wish.param),
            message,
        ))
    }
}

/// Only faults of the input are the client's; all others are told as an agent that cannot be used.
fn refused(error: &AgentError, param: &'static str) -> AgentRefusal {
    let message = error.to_string();
    match error {
        AgentError::InputNotJson { .. } | AgentError::InputInvalid { .. } => {
            AgentRefusal::bad_request("bad_input", Some(param), message)
        }
        AgentError::File(_)
        | AgentError::Config(_)
        | AgentError::Option(_)
        | AgentError::Provider(_)
        | AgentError::NoModel
        | AgentError::NoKey { .. }
        | AgentError::NoPrice { .. }
        | AgentError::UnknownLike { .. }
        | AgentError::Accepts { .. }
        | AgentError::Untrusted(_)
        | AgentError::NotWithout { .. }
        | AgentError::BadOutputSchema { .. }
        | AgentError::Unreadable { .. }
        | AgentError::Skill(_)
        | AgentError::Script(_)
        | AgentError::NoLogin { .. }
        | AgentError::DisabledServer { .. }
        | AgentError::Mcp(_)
        | AgentError::Rest(_)
        | AgentError::Queue(_)
        | AgentError::Tools(_)
        | AgentError::Sandbox(_)
        | AgentError::Catalog(_)
        | AgentError::UnknownTokenizer { .. }
        | AgentError::Cycle { .. }
        | AgentError::TooDeep { .. }
        | AgentError::NoDescription { .. }
        | AgentError::DuplicateAgent { .. }
        | AgentError::ReservedName { .. } => AgentRefusal::failed(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            "agent_unusable",
            message,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_one_name_are_numbered_around_names_that_are_taken() {
        let rows: [(&[&str], &[&str]); 4] = [
            (&["a", "b"], &["a", "b"]),
            (&["a", "a", "a"], &["a", "a-2", "a-3"]),
            (&["a", "a", "a-2"], &["a", "a-3", "a-2"]),
            (&["a-2", "a", "a", "a-2"], &["a-2", "a", "a-3", "a-2-2"]),
        ];
        for (names, expected) in rows {
            assert_eq!(distinct(names.iter().copied()), expected, "{names:?}");
        }
    }

    #[test]
    fn an_unknown_model_is_answered_with_the_nearest_name_and_all_of_them() {
        let known = ["researcher", "writer"];
        let rows = [
            ("reseacher", Some("researcher")),
            ("wrtier", Some("writer")),
            ("gpt", None),
        ];
        for (id, meant) in rows {
            let message = unknown(id, &known);
            assert!(message.contains("researcher, writer"), "{message}");
            let expected = meant.map(|name| format!("did you mean {name:?}?"));
            assert_eq!(
                message.contains("did you mean"),
                expected.is_some(),
                "{message}"
            );
            assert!(
                expected.is_none_or(|text| message.contains(&text)),
                "{message}"
            );
        }
    }
}
