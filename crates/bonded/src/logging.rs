//! What is worth a word beside the output: everything below the command line says it with `tracing`, and here it is
//! written to stderr. `logging` of a workspace's `config.json` decides which of it, and in which form, unless the
//! command line does; until that is read, everything is said in plain words.
//!
//! There are no spans and no filters by module: a line is written or it is not. Words of libraries other than ours
//! are left out, whatever their level, since nobody here vouches for what they hold. All lines go through `output`,
//! where secrets are masked. Where lines are objects, what is written to stderr in any other way becomes one too.

use std::fmt::{Debug, Write as _};

use bonded_serve::json_api::request_log;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::log_form::{logging, object};
use crate::output;

/// Writes what is said in this process from now on.
pub(crate) fn begin() {
    // A second one cannot be set, and would be the same.
    let _set = tracing::subscriber::set_global_default(Stderr);
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
