//! The messages of OTLP that traces are made of, by the numbers of their fields.
//!
//! They are those of `opentelemetry/proto/trace/v1/trace.proto` and its neighbours, version 1; fields that are not used here
//! are left out, which protocol buffers allow.

use std::sync::Arc;

use bonded_kernel::Millis;
use prost::{Enumeration, Message, Oneof};

const NANOS_PER_MS: u64 = 1_000_000;

/// What is posted.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ExportTraces {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<ResourceMessage>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceMessage {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct InstrumentationScope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

/// Something that began and ended.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(enumeration = "SpanKind", tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<Attribute>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<SpanLink>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

/// Another span that this one has to do with.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SpanLink {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(enumeration = "StatusCode", tag = "3")]
    code: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
enum StatusCode {
    Unset = 0,
    Error = 2,
}

/// What comes first is not written: it must be what a reader takes for absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(crate) enum SpanKind {
    Unspecified = 0,
    Internal = 1,
    Client = 3,
}

/// A name with a value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "AnyKind", tags = "1, 3, 4, 5")]
    kind: Option<AnyKind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum AnyKind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    Array(ArrayValue),
}

#[derive(Clone, PartialEq, Message)]
struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

/// What an attribute says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Int(u64),
    Double(f64),
    Texts(Vec<String>),
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Value> for AnyValue {
    fn from(value: Value) -> Self {
        let kind = match value {
            Value::Text(text) => AnyKind::Text(text),
            Value::Int(count) => AnyKind::Int(i64::try_from(count).unwrap_or(i64::MAX)),
            Value::Double(number) => AnyKind::Double(number),
            Value::Texts(texts) => AnyKind::Array(ArrayValue {
                values: texts.into_iter().map(|it| Value::Text(it).into()).collect(),
            }),
        };
        Self { kind: Some(kind) }
    }
}

impl Attribute {
    pub(crate) fn new(key: &str, value: Value) -> Self {
        Self {
            key: key.to_owned(),
            value: Some(value.into()),
        }
    }
}

impl SpanLink {
    pub(crate) fn new(trace_id: [u8; 16], span_id: [u8; 8]) -> Self {
        Self {
            trace_id: trace_id.into(),
            span_id: span_id.into(),
        }
    }
}

/// What a span is made of, besides its trace.
#[derive(Debug)]
pub(crate) struct SpanParts {
    pub(crate) id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) links: Vec<SpanLink>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) began: Millis,
    pub(crate) ended: Millis,
    pub(crate) attributes: Vec<Attribute>,
    /// The kind of error, where it did not go well.
    pub(crate) error: Option<Arc<str>>,
}

impl Default for SpanParts {
    fn default() -> Self {
        Self {
            id: [0; 8],
            parent: None,
            links: vec![],
            name: String::new(),
            kind: SpanKind::Internal,
            began: Millis(0),
            ended: Millis(0),
            attributes: vec![],
            error: None,
        }
    }
}

impl Span {
    pub(crate) fn new(trace: [u8; 16], parts: SpanParts) -> Self {
        let mut attributes = parts.attributes;
        let status = parts.error.map(|error| {
            attributes.push(Attribute::new("error.type", Value::text(&error)));
            Status {
                message: error.as_ref().to_owned(),
                code: StatusCode::Error.into(),
            }
        });
        let nanos = |at: Millis| at.0.saturating_mul(NANOS_PER_MS);
        Self {
            trace_id: trace.into(),
            span_id: parts.id.into(),
            parent_span_id: parts.parent.map_or_else(Vec::new, Into::into),
            name: parts.name,
            kind: parts.kind.into(),
            start_time_unix_nano: nanos(parts.began),
            end_time_unix_nano: nanos(parts.ended.max(parts.began)),
            attributes,
            links: parts.links,
            status,
        }
    }
}

impl Span {
    /// Whether its trace is among this part of all traces: by the end of its id, as the conventions have it.
    pub(crate) fn is_part_of(&self, ratio: f64) -> bool {
        let end = self.trace_id.get(9..).unwrap_or_default();
        let place = end
            .iter()
            .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        (place as f64) < ratio * (1_u64 << 56) as f64
    }
}

impl ExportTraces {
    /// The spans of a process, which is named by these attributes.
    pub(crate) fn new(resource: Vec<(String, String)>, version: &str, spans: Vec<Span>) -> Self {
        let attribute = |(key, value): (String, String)| Attribute::new(&key, Value::Text(value));
        Self {
            resource_spans: vec![ResourceSpans {
                resource: Some(ResourceMessage {
                    attributes: resource.into_iter().map(attribute).collect(),
                }),
                scope_spans: vec![ScopeSpans {
                    scope: Some(InstrumentationScope {
                        name: "bonded".into(),
                        version: version.into(),
                    }),
                    spans,
                }],
            }],
        }
    }
}
