//! How things look: for people as lines and tables, for programs as JSON.

mod failures;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod progress;
pub(crate) mod result;
mod spoken;
pub(crate) mod table;
mod tail;
pub(crate) mod text;
pub(crate) mod trace;
pub(crate) mod waiting;
pub(crate) mod work;
