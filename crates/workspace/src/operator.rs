//! What the operator of a server is told: sentences, as they come.

use std::sync::Arc;

/// Takes a sentence that whoever runs the server should know.
///
/// It is a function and no event of `tracing`, because the same sentence is shown in other ways: a server logs it under
/// the part that it comes from, `doctor` drops it for its own words, and the tests of the engine fail at any sentence
/// that they did not ask for.
pub type OperatorSink = Arc<dyn Fn(&str) + Send + Sync>;
