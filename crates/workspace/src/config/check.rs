//! Holds what was written against what there is: the same keys, the same types, and values that make sense.
//!
//! The defaults are written as JSON and what a person wrote is laid over them, key by key: a key that is not among the
//! defaults is unknown, and a value of another type is a fault. So there is no second list of keys to keep in step with
//! the sections. Values are judged only when all types fit.

use bonded_kernel::{Measure, Mistake, WorkspaceId, did_you_mean, escaped, nearest};
use serde_json::{Map, Value};

use super::sections::{AutomationSection, SearchSection, WITHOUT_EFFECT, WorkspaceConfig};
use super::surroundings::{EVERY_WORKSPACE, listed};
use crate::embedding_providers::provider_kinds;
use crate::webhook_address;
use bonded_host::document::line_of;
use bonded_host::provider::{KNOWN_PROVIDERS, checked_url};

/// The configuration with what was written in the place of the defaults, and warnings; or all that is wrong.
pub(super) fn checked(
    written: &Value,
    default: &WorkspaceConfig,
    text: &str,
) -> Result<(WorkspaceConfig, Vec<String>), Vec<String>> {
    let mut merged = serde_json::to_value(default).unwrap_or_default();
    let mut checking = Checking {
        text,
        faults: vec![],
        warnings: vec![],
    };
    checking.merge(&mut merged, written, &mut vec![]);
    if checking.faults.is_empty() {
        match serde_json::from_value::<WorkspaceConfig>(merged) {
            Ok(config) => {
                checking.values(&config);
                if checking.faults.is_empty() {
                    return Ok((config, checking.warnings));
                }
            }
            Err(error) => checking.faults.push(error.to_string()),
        }
    }
    Err(checking.faults)
}

/// The one object whose keys are not ours.
const ALLOWED_DIRS: [&str; 2] = ["automation", "allowed_dirs"];

/// What was found while the file was held against the defaults.
struct Checking<'a> {
    text: &'a str,
    faults: Vec<String>,
    warnings: Vec<String>,
}

impl Checking<'_> {
    /// The parsed value has no lines, so that the text is looked at once more.
    fn placed(&self, path: &[&str], message: &str) -> String {
        let pointer: String = path
            .iter()
            .map(|key| format!("/{}", escaped(key)))
            .collect();
        let line = line_of(self.text, &pointer).unwrap_or(1);
        match path {
            [] => format!("line {line}: {message}"),
            path => format!("line {line}: {}: {message}", path.join(".")),
        }
    }

    /// The check goes on afterwards.
    fn fault(&mut self, path: &[&str], message: &str) {
        let fault = self.placed(path, message);
        self.faults.push(fault);
    }

    /// Numbers that are whole by default stay whole, and fit 32 bits. A mismatch leaves the default in place; the fault
    /// is what stops the start.
    fn merge<'k>(&mut self, default: &mut Value, written: &'k Value, path: &mut Vec<&'k str>) {
        match (default, written) {
            (default, written) if *path == ALLOWED_DIRS => self.dirs(default, written, path),
            (Value::Object(default), Value::Object(written)) => {
                self.members(default, written, path);
            }
            // What is null by default may be a text.
            (default @ Value::Null, Value::String(_) | Value::Null)
            | (default @ Value::String(_), Value::String(_))
            | (default @ Value::Bool(_), Value::Bool(_)) => *default = written.clone(),
            (default @ Value::Number(_), Value::Number(number)) => {
                let is_whole = default.is_u64();
                match number.as_u64().is_some_and(|it| it <= u64::from(u32::MAX)) || !is_whole {
                    true => *default = written.clone(),
                    false => self.fault(path, &format!("must be a whole number, not {number}")),
                }
            }
            (default @ Value::Number(_), Value::String(text)) if measure(path).is_some() => {
                let read = measure(path).map(|it| it.read(text, 0..=u64::from(u32::MAX)));
                match read {
                    Some(Ok(amount)) => *default = amount.into(),
                    Some(Err(bad)) => self.fault(path, &bad.to_string()),
                    None => {}
                }
            }
            (default @ Value::Array(_), Value::Array(members)) => {
                match members.iter().all(Value::is_string) {
                    true => *default = written.clone(),
                    false => self.fault(path, "must be a list of texts"),
                }
            }
            (default, written) => {
                let mistake = Mistake::wrong_type(expected(default), written);
                self.fault(path, &mistake.to_string());
            }
        }
    }

    /// Directories by workspace. A name would not do: who owns a workspace may rename it.
    fn dirs<'k>(&mut self, default: &mut Value, written: &'k Value, path: &mut Vec<&'k str>) {
        let Value::Object(listed) = written else {
            let message = "must be an object with a list of directories for each workspace, by its id: \
                 {\"6f1c2f0e-…\": [\"/srv/agents\"]}; \"*\" stands for every workspace";
            return self.fault(path, message);
        };
        for (workspace, dirs) in listed {
            path.push(workspace);
            if workspace != EVERY_WORKSPACE && workspace.parse::<WorkspaceId>().is_err() {
                self.fault(path, "must be the id of a workspace, or * for all");
            }
            let is_list = dirs
                .as_array()
                .is_some_and(|dirs| dirs.iter().all(Value::is_string));
            if !is_list {
                self.fault(path, "must be a list of texts");
            }
            path.pop();
        }
        *default = written.clone();
    }

    /// Keys are merged one by one, so that what is not written stays as it is by default.
    fn members<'k>(
        &mut self,
        default: &mut Map<String, Value>,
        written: &'k Map<String, Value>,
        path: &mut Vec<&'k str>,
    ) {
        for (key, value) in written {
            path.push(key);
            match default.get_mut(key) {
                Some(default) => self.merge(default, value, path),
                None => self.unknown(default, path),
            }
            path.pop();
        }
    }

    /// A key that nobody knows does no harm, unless it is a secret that somebody put into the wrong file.
    fn unknown(&mut self, known: &Map<String, Value>, path: &[&str]) {
        let key = path.last().copied().unwrap_or_default();
        let lower = key.to_lowercase();
        let is_secret = ["api_key", "apikey", "secret", "password", "token"]
            .iter()
            .any(|word| lower.ends_with(word));
        if is_secret {
            let message = "secrets do not belong in this file; put it in the environment, or in .env beside the file";
            return self.fault(path, message);
        }
        let name = path.join(".");
        let without_effect = WITHOUT_EFFECT.iter().find(|(it, _)| *it == name);
        let message = match without_effect {
            Some((_, why)) => format!("has no effect: {why}"),
            None => {
                let hint = did_you_mean(nearest(key, known.keys().map(String::as_str)));
                format!("there is no such key; it is ignored{hint}")
            }
        };
        let warning = self.placed(path, &message);
        self.warnings.push(warning);
    }

    /// What no type can say.
    fn values(&mut self, config: &WorkspaceConfig) {
        let mut one_of = |path: [&str; 2], value: &str, known: &[&str]| {
            if !known.contains(&value) {
                let mistake = Mistake::unknown_word(value, known.iter().copied());
                self.fault(&path, &mistake.to_string());
            }
        };
        let kinds: Vec<&str> = KNOWN_PROVIDERS.iter().map(|known| known.name).collect();
        let search = &config.search;
        let kind = &config.automation.default_provider_kind;
        one_of(
            ["search", "default_mode"],
            &search.default_mode,
            &["hybrid", "lexical", "semantic"],
        );
        one_of(["automation", "default_provider_kind"], kind, &kinds);
        one_of(["agent", "name"], &config.agent.name, &["kjxlkj-agent"]);
        if let Some(mode) = &config.agent.mode {
            one_of(["agent", "mode"], mode, &["yolo", "reviewed"]);
        }
        one_of(
            ["security", "same_site"],
            &config.security.same_site,
            &["lax", "strict"],
        );
        let levels = ["error", "warn", "info", "debug", "trace"];
        one_of(
            ["logging", "default_level"],
            &config.logging.default_level,
            &levels,
        );
        if config
            .server
            .bind_addr
            .parse::<std::net::SocketAddr>()
            .is_err()
        {
            let message = "must be an address and a port such as 127.0.0.1:8130";
            self.fault(&["server", "bind_addr"], message);
        }
        self.embeddings(search);
        self.at_least_one(config);
        self.provider(&config.automation);
    }

    /// Where agents are asked: the address, the model, the list of others, and the temperature.
    fn provider(&mut self, automation: &AutomationSection) {
        self.place(["automation", "base_url"], &automation.base_url);
        if automation.model.trim().is_empty() {
            self.fault(&["automation", "model"], "must name a model");
        }
        for line in &automation.allowed_providers {
            if let Err(why) = listed(line) {
                self.fault(
                    &["automation", "allowed_providers"],
                    &format!("{line:?}: {why}"),
                );
            }
        }
        for line in &automation.allowed_webhooks {
            if let Err(why) = webhook_address::checked(line) {
                let path = ["automation", "allowed_webhooks"];
                self.fault(&path, &format!("{line:?}: {why}"));
            }
        }
        if !(0.0..=2.0).contains(&automation.temperature) {
            self.fault(
                &["automation", "temperature"],
                "must be a number from 0 to 2",
            );
        }
    }

    /// An empty one is the default place.
    fn place(&mut self, path: [&str; 2], url: &str) {
        match checked_url(url) {
            Err(error) if !url.is_empty() => self.fault(&path, &error.to_string()),
            _ => {}
        }
    }

    /// Only kinds that have embeddings, or the word for none.
    fn embeddings(&mut self, search: &SearchSection) {
        let (kind, kinds) = (search.embedding_provider.as_str(), provider_kinds());
        if !kinds.contains(&kind) {
            let mistake = Mistake::unknown_word(kind, kinds.iter().copied());
            self.fault(&["search", "embedding_provider"], &mistake.to_string());
        }
        self.place(["search", "embedding_base_url"], &search.embedding_base_url);
    }

    /// A zero here would not mean "no limit", it would stop the server from working: every request would time out, or
    /// nothing would ever run.
    fn at_least_one(&mut self, config: &WorkspaceConfig) {
        let rows = [
            (
                ["server", "request_timeout_ms"],
                config.server.request_timeout_ms,
            ),
            (
                ["server", "max_request_body_mb"],
                config.server.max_request_body_mb.into(),
            ),
            (
                ["server", "max_attachment_mb"],
                config.server.max_attachment_mb.into(),
            ),
            (
                ["server", "writes_per_second_max"],
                config.server.writes_per_second_max.into(),
            ),
            (
                ["websocket", "heartbeat_interval_ms"],
                config.websocket.heartbeat_interval_ms,
            ),
            (
                ["websocket", "client_timeout_ms"],
                config.websocket.client_timeout_ms,
            ),
            (
                ["websocket", "replay_batch_size"],
                config.websocket.replay_batch_size.into(),
            ),
            (
                ["search", "vector_dimensions"],
                config.search.vector_dimensions.into(),
            ),
            (
                ["search", "reindex_batch_size"],
                config.search.reindex_batch_size.into(),
            ),
            (["automation", "timeout_ms"], config.automation.timeout_ms),
            (
                ["automation", "max_tokens"],
                config.automation.max_tokens.into(),
            ),
            (
                ["automation", "concurrent_runs"],
                config.automation.concurrent_runs.into(),
            ),
            (
                ["agent", "max_iterations"],
                config.agent.max_iterations.into(),
            ),
            (["agent", "paging_bytes"], config.agent.paging_bytes),
        ];
        for (path, _) in rows.into_iter().filter(|(_, value)| *value == 0) {
            self.fault(&path, "must be at least 1");
        }
    }
}

/// For messages, by what a person would write in the place of a default.
/// What a number counts, by the end of its key: such a number may be written with a unit.
fn measure(path: &[&str]) -> Option<Measure> {
    let key = path.last()?;
    let ends = [
        ("_ms", Measure::Ms),
        ("_bytes", Measure::Bytes),
        ("max_tokens", Measure::Tokens),
    ];
    let found = ends.iter().find(|(end, _)| key.ends_with(end));
    found.map(|(_, measure)| *measure)
}

fn expected(value: &Value) -> &'static str {
    match value {
        Value::Null => "a text or null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list of texts",
        Value::Object(_) => "an object",
    }
}
