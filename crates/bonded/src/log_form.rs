//! The form of what is written to stderr: text, or objects for machines, and how important it must be.

use std::borrow::Cow;
use std::sync::OnceLock;

use bonded_serve::workspace::clock::now;
use bonded_workspace::config::LoggingSection;
use bonded_workspace::times::rfc3339;
use serde_json::{Map, Value};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use crate::masking::masked;

/// What the configuration says, once it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logging {
    /// What is less important is not written.
    pub(crate) most: LevelFilter,
    /// One object a line, with time and level, for machines; else the message alone.
    pub(crate) json: bool,
    /// Whether each request is told of, at whatever level.
    pub(crate) requests: bool,
}

/// For every command that has no workspace.
const DEFAULT: Logging = Logging {
    most: LevelFilter::INFO,
    json: false,
    requests: false,
};

/// Empty until a workspace's configuration is read.
static CONFIGURED: OnceLock<Logging> = OnceLock::new();
/// What the command line says, which counts more. Empty for commands that do not say anything of it.
static DEMANDED: OnceLock<(Option<LevelFilter>, Option<bool>)> = OnceLock::new();

/// Looked up for each event, because the configuration is read after the first ones.
pub(crate) fn logging() -> Logging {
    let configured = CONFIGURED.get().copied().unwrap_or(DEFAULT);
    let (most, json) = DEMANDED.get().copied().unwrap_or_default();
    Logging {
        most: most.unwrap_or(configured.most),
        json: json.unwrap_or(configured.json),
        requests: configured.requests,
    }
}

/// From now on things are said as the command line says: how important they must be, and whether lines are objects.
pub(crate) fn demand((most, json): (Option<LevelFilter>, Option<bool>)) {
    // A process has one command line.
    let _set = DEMANDED.set((most, json));
}

/// From now on things are said as the configuration says.
pub(crate) fn configure(section: &LoggingSection) {
    // A second one is the same: a process has one configuration.
    let _set = CONFIGURED.set(Logging {
        most: section.default_level.parse().unwrap_or(DEFAULT.most),
        json: section.json,
        requests: section.request_log,
    });
}

/// Secrets are masked before anything is put in quotes: a letter that is escaped there would hide them from the mask.
pub(crate) fn object(level: Level, message: &str, mut fields: Map<String, Value>) -> String {
    for value in fields.values_mut() {
        if let Value::String(text) = value {
            *text = masked(text).into_owned();
        }
    }
    fields.insert("at".into(), rfc3339(now()).into());
    fields.insert("level".into(), level.as_str().to_lowercase().into());
    fields.insert("message".into(), masked(message).into());
    Value::Object(fields).to_string()
}

/// A line for stderr that is no event, as it is written: where lines are objects, as one, as important as it begins.
pub(crate) fn shaped(line: &str) -> Cow<'_, str> {
    if !logging().json {
        return line.into();
    }
    let level = match line {
        line if line.starts_with("error") => Level::ERROR,
        line if line.starts_with("warning") => Level::WARN,
        line if line.starts_with("trace") => Level::DEBUG,
        _ => Level::INFO,
    };
    object(level, line, Map::new()).into()
}
