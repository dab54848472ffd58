//! What the kernel itself ends a run that works in loops with.

use crate::config::ScopeCode;

pub(crate) const XML_PARSE_ERROR: &str = "XML_PARSE_ERROR";
pub(crate) const LLM_TIMEOUT: &str = "LLM_TIMEOUT";
pub(crate) const LLM_UNAVAILABLE: &str = "LLM_UNAVAILABLE";
pub(crate) const RATE_LIMITED: &str = "RATE_LIMITED";
pub(crate) const CONTEXT_OVERFLOW: &str = "CONTEXT_OVERFLOW";

/// Whether a code is one that follows from the log alone.
pub(crate) fn is_own_code(code: &str) -> bool {
    [
        XML_PARSE_ERROR,
        LLM_TIMEOUT,
        LLM_UNAVAILABLE,
        RATE_LIMITED,
        CONTEXT_OVERFLOW,
    ]
    .contains(&code)
}

/// Whether a code says that a call went beyond the scope of its run.
pub(super) fn is_violation(code: &str) -> bool {
    [ScopeCode::ScopeViolation, ScopeCode::CrossWorkspaceRejected]
        .iter()
        .any(|it| it.as_str() == code)
}
