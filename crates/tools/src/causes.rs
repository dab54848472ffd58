//! Errors of HTTP with their causes, as text.

use std::error::Error;

use bonded_outbound::tls_refusal;

/// An error with its causes, each once: the outermost one alone says little. What TLS refused is said in our own words.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    if let Some(refusal) = tls_refusal(error) {
        return refusal;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
