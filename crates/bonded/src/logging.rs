//! What is worth a word beside the output: everything below the command line says it with `tracing`, and here it is
//! written to stderr. `logging` of a workspace's `config.json` decides which of it, and in which form, unless the
//! command line does; until that is read, everything is said in plain words.
//!
//! There are no spans and no filters by module: a line is written or it is not. Words of libraries other than ours
//! are left out, whatever their level, since nobody here vouches for what they hold. All lines go through `output`,
//! where secrets are masked. Where lines are objects, what is written to stderr in any other way becomes one too.

use std::borrow::Cow;
use std::fmt::{Debug, Write as _};
use std::sync::OnceLock;

use bonded_serve::json_api::request_log;
use bonded_serve::workspace::clock::now;
use bonded_workspace::config::LoggingSection;
use bonded_workspace::times::rfc3339;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::args::{LogArgs, LogFormat, LogLevel};
use crate::masking::masked;
use crate::output;

/// What the configuration says, once it is read.
#[derive(Clone, Copy, Debug)]
struct Logging {
    /// What is less important is not written.
    most: LevelFilter,
    /// One object a line, with time and level, for machines; else the message alone.
    json: bool,
    /// Whether each request is told of, at whatever level.
    requests: bool,
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
fn logging() -> Logging {
    let configured = CONFIGURED.get().copied().unwrap_or(DEFAULT);
    let (most, json) = DEMANDED.get().copied().unwrap_or_default();
    Logging {
        most: most.unwrap_or(configured.most),
        json: json.unwrap_or(configured.json),
        requests: configured.requests,
    }
}

/// From now on things are said as the command line says.
pub(crate) fn demand(args: &LogArgs) {
    let most = args.log_level.map(|level| match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    });
    let json = args.log_format.map(|format| format == LogFormat::Json);
    // A process has one command line.
    let _set = DEMANDED.set((most, json));
}

/// Writes what is said in this process from now on.
pub(crate) fn begin() {
    // A second one cannot be set, and would be the same.
    let _set = tracing::subscriber::set_global_default(Stderr);
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

/// Says what other programs wait for: whatever the level is.
pub(crate) fn say_always(message: &str) {
    write(Level::INFO, message, Map::new());
}

/// The fields of an event are for machines: in plain words the message says all.
fn write(level: Level, message: &str, fields: Map<String, Value>) {
    match logging().json {
        true => output::log(&object(level, message, fields)),
        false => output::log(message),
    }
}

/// Secrets are masked before anything is put in quotes: a letter that is escaped there would hide them from the mask.
fn object(level: Level, message: &str, mut fields: Map<String, Value>) -> String {
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

/// Writes events; nothing here opens spans.
struct Stderr;

impl Stderr {
    /// Requests have a target of their own, so that they can be wanted without everything else of their level.
    fn is_request(metadata: &Metadata<'_>) -> bool {
        metadata.target() == request_log::TARGET
    }
}

impl Subscriber for Stderr {
    /// What is wanted changes when the configuration is read.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    /// Only what is ours, as important as is wanted; requests count at any level where they are wanted.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_ours = metadata.target().starts_with("bonded");
        let is_wanted = *metadata.level() <= logging().most;
        is_ours && (is_wanted || (logging().requests && Self::is_request(metadata)))
    }

    /// A request that is wanted is written as information, whatever level it was given.
    fn event(&self, event: &Event<'_>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let level = match Self::is_request(event.metadata()) && logging().requests {
            true => Level::INFO,
            false => *event.metadata().level(),
        };
        write(level, &fields.message, fields.others);
    }

    /// Required by the trait. No span is ever recorded, so that one id does for all.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message of an event, and what stands beside it.
#[derive(Default)]
struct EventFields {
    message: String,
    others: Map<String, Value>,
}

impl Visit for EventFields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.insert(field.name().into(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.others.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing into a text cannot fail.
            let _written = write!(self.message, "{value:?}");
        } else {
            let value = format!("{value:?}");
            self.others.insert(field.name().into(), value.into());
        }
    }
}
