//! The agents under the names by which clients ask for them.

use std::collections::BTreeSet;

use bonded_host::agent::{Agent, AgentError, Assignment, Moment};
use bonded_host::agent_file::InputFormat;
use bonded_host::{Goal, Host};
use bonded_kernel::{Kept, Limits, ReportFormat};
use serde_json::{Value, json};

use super::ask::unix_seconds;
use super::conversation::{self, Role};
use super::own::Own;
use super::refusal::Refusal;
use super::request::{AgentRequest, Wish};

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) id: String,
    pub(crate) agent: Agent,
    /// Made out when the server starts, before its agents work.
    kept: Option<Box<Kept>>,
    moment: fn() -> Moment,
}

#[derive(Debug)]
pub(crate) struct Models {
    models: Vec<Model>,
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

    pub(crate) fn all(&self) -> &[Model] {
        &self.models
    }

    pub(super) fn find(&self, id: &str) -> Result<&Model, Refusal> {
        let found = self.models.iter().find(|model| model.id == id);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.models.iter().map(|model| model.id.as_str()).collect();
            Refusal::unknown_model(unknown(id, &known))
        })
    }

    pub(super) fn list(&self) -> Value {
        let models: Vec<Value> = self.models.iter().map(|model| self.shown(model)).collect();
        json!({ "object": "list", "data": models })
    }

    pub(super) fn shown(&self, model: &Model) -> Value {
        json!({
            "id": model.id, "object": "model", "created": self.created, "owned_by": "bonded",
        })
    }
}

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
    pub(crate) fn goal(
        &self,
        asked: &AgentRequest,
        limits: &Limits,
        own: Option<&Own>,
    ) -> Result<Goal, Refusal> {
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
        goal.config.kept = self.kept.clone();
        let wants_progress = asked.stream.is_some_and(|stream| stream.progress);
        goal.config.own_tools.progress |= wants_progress && self.agent.works();
        if let Some((wish, schema)) = wish.and_then(|wish| Some((wish, wish.schema.as_ref()?)))
            && let Some(agent) = goal.config.agent.as_mut()
        {
            agent.report.schema = Some(schema.clone());
            agent.report.check().map_err(|fault| {
                Refusal::bad_request("bad_schema", Some(wish.param), fault.to_string())
            })?;
        }
        Ok(goal)
    }

    /// An agent whose input is JSON takes nothing beside it.
    fn input(&self, asked: &AgentRequest) -> Result<String, Refusal> {
        let takes_json = self.takes_json();
        let is_alone = matches!(asked.utterances.as_slice(), [only] if only.role == Role::User);
        if takes_json && !is_alone {
            let message = format!(
                "the agent {:?} takes JSON: send it as the only message, the user's",
                self.id
            );
            return Err(Refusal::bad_request(
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

    fn takes_json(&self) -> bool {
        let input = self.agent.file.input.as_ref();
        input.is_some_and(|input| input.format == InputFormat::Json)
    }

    /// A caller that gets another format than it asked for cannot read the answer.
    fn check_wish(&self, wish: &Wish) -> Result<(), Refusal> {
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
        Err(Refusal::bad_request(
            "format_is_fixed",
            Some(wish.param),
            message,
        ))
    }
}

fn refused(error: &AgentError, param: &'static str) -> Refusal {
    let message = error.to_string();
    match error {
        AgentError::InputNotJson { .. } | AgentError::InputInvalid { .. } => {
            Refusal::bad_request("bad_input", Some(param), message)
        }
        _ => Refusal::failed(
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
