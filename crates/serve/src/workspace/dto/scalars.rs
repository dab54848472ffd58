//! Ids and times as bodies have them.
//!
//! Each has one form on the wire, and a type of its own, so that no body writes it in another way.

use bonded_kernel::Millis;
use bonded_workspace::times;
use serde::{Deserialize, Serialize};

/// An id of the kernel, written as a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Id<T>(pub(crate) T);

impl<T> From<T> for Id<T> {
    fn from(id: T) -> Self {
        Self(id)
    }
}

/// A time in RFC 3339, in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Timestamp(String);

impl From<Millis> for Timestamp {
    fn from(at: Millis) -> Self {
        Self(times::rfc3339(at))
    }
}

#[cfg(test)]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Id, Timestamp};

    impl<T> JsonSchema for Id<T> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Id".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "format": "uuid" })
        }
    }

    impl JsonSchema for Timestamp {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Timestamp".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "format": "date-time" })
        }
    }
}
