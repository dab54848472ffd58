//! OTLP over HTTP: what is sent, to whom, and what sends it.

mod exporter;
mod message;
mod settings;

pub use exporter::Exporter;
pub(crate) use message::{Attribute, Span, SpanKind, SpanLink, SpanParts, Value};
pub use settings::{BadSetting, OtlpSettings, ProcessResource};
