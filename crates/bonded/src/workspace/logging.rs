//! What a server says on stderr: which of it, and in which form. `logging` of `config.json` decides; until that is read,
//! everything is said in plain words.

use std::sync::OnceLock;
use std::time::Instant;

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use bonded_workspace::config::LoggingSection;
use serde_json::{Value, json};

use super::site::now;
use super::times::rfc3339;
use crate::output;

/// How much somebody wants to hear; each hears what the ones before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    const ALL: [(&'static str, Self); 5] = [
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];

    fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, level)| *level)
    }

    fn as_str(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, level)| *level == self);
        found.map_or("info", |(name, _)| name)
    }
}

#[derive(Clone, Copy, Debug)]
struct Logging {
    most: Level,
    json: bool,
    /// Whether each request is told of, at whatever level.
    requests: bool,
}

const USUAL: Logging = Logging {
    most: Level::Info,
    json: false,
    requests: false,
};

static LOGGING: OnceLock<Logging> = OnceLock::new();

/// From now on things are said as the configuration says.
pub(crate) fn begin(section: &LoggingSection) {
    // A second one is the same: a process has one configuration.
    let _set = LOGGING.set(Logging {
        most: Level::named(&section.default_level).unwrap_or(USUAL.most),
        json: section.json,
        requests: section.request_log,
    });
}

fn logging() -> Logging {
    LOGGING.get().copied().unwrap_or(USUAL)
}

/// Says something, if it is wanted.
pub(crate) fn say(level: Level, message: &str) {
    if level <= logging().most {
        write(level, message, json!({}));
    }
}

/// Says what other programs wait for: whatever the level is.
pub(crate) fn say_always(message: &str) {
    write(Level::Info, message, json!({}));
}

fn write(level: Level, message: &str, mut fields: Value) {
    if !logging().json {
        return output::stderr(message);
    }
    fields["at"] = rfc3339(now()).into();
    fields["level"] = level.as_str().into();
    fields["message"] = message.into();
    output::stderr(&fields.to_string());
}

/// A request that is being answered. Neither its query nor its headers are kept: people write into them.
#[derive(Debug)]
pub(super) struct Asked {
    began: Instant,
    method: Method,
    path: String,
    request_id: String,
}

impl Asked {
    pub(super) fn of(request: &Request, request_id: &str) -> Self {
        Self {
            began: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            request_id: request_id.to_owned(),
        }
    }

    /// Tells of it where that is wanted.
    pub(super) fn answered(self, status: StatusCode) {
        let logging = logging();
        let level = if logging.requests {
            Level::Info
        } else {
            Level::Debug
        };
        if !logging.requests && level > logging.most {
            return;
        }
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (method, path, status) = (self.method.as_str(), &self.path, status.as_u16());
        let message = format!(
            "request {method} {path}: {status} in {ms} ms ({})",
            self.request_id
        );
        let fields = json!({
            "method": method, "path": path, "status": status, "ms": ms, "request_id": self.request_id,
        });
        write(level, &message, fields);
    }
}
