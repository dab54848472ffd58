//! The page of each code that clients of a workspace can meet: over HTTP, over a socket, and as a run's `error_code`.

macro_rules! page {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../docs/errors/workspace/", $name, ".md")),
        )
    };
}

/// Codes with their pages, which `bonded explain CODE` prints.
pub const PAGES: [(&str, &str); 68] = [
    page!("BAD_REQUEST"),
    page!("INVALID_PATCH"),
    page!("AUTH_REQUIRED"),
    page!("INVALID_CREDENTIALS"),
    page!("SESSION_EXPIRED"),
    page!("ROLE_FORBIDDEN"),
    page!("WORKSPACE_FORBIDDEN"),
    page!("AGENT_YOLO_POLICY_VIOLATION"),
    page!("CROSS_WORKSPACE_REJECTED"),
    page!("SCOPE_VIOLATION"),
    page!("CSRF_INVALID"),
    page!("NOT_FOUND"),
    page!("NOTE_NOT_FOUND"),
    page!("WORKSPACE_NOT_FOUND"),
    page!("RULE_NOT_FOUND"),
    page!("RUN_NOT_FOUND"),
    page!("OPERATION_NOT_FOUND"),
    page!("USER_NOT_FOUND"),
    page!("METHOD_NOT_ALLOWED"),
    page!("REQUEST_TIMEOUT"),
    page!("VERSION_CONFLICT"),
    page!("OTHER_OPERATION"),
    page!("CONFLICT"),
    page!("SETUP_ALREADY_COMPLETED"),
    page!("PAYLOAD_TOO_LARGE"),
    page!("NOTE_TOO_LARGE"),
    page!("UNSUPPORTED_MEDIA_TYPE"),
    page!("RULE_INVALID"),
    page!("PROMPT_JSON_INVALID"),
    page!("PROMPT_SCHEMA_INVALID"),
    page!("PROMPT_SEGMENT_EMPTY"),
    page!("SEARCH_MODE_INVALID"),
    page!("RATE_LIMITED"),
    page!("INTERNAL_ERROR"),
    page!("AGENT_MEMORY_STORE_ERROR"),
    page!("LLM_UPSTREAM_ERROR"),
    page!("EMBEDDING_PROVIDER_ERROR"),
    page!("UNAVAILABLE"),
    page!("WS_UNKNOWN_MESSAGE"),
    page!("WS_BAD_PAYLOAD"),
    page!("WS_FORBIDDEN"),
    page!("STALE_CURSOR"),
    page!("WS_INTERNAL_ERROR"),
    page!("VERSION_MISMATCH"),
    page!("EMBEDDING_UNAVAILABLE"),
    page!("STATE_TRANSITION_REFUSED"),
    page!("NOTE_NOT_READ"),
    page!("AMBIGUOUS_TITLE"),
    page!("XML_PARSE_ERROR"),
    page!("LLM_TIMEOUT"),
    page!("LLM_UNAVAILABLE"),
    page!("CONTEXT_OVERFLOW"),
    page!("CHAIN_DEPTH_EXCEEDED"),
    page!("RULE_DELETED"),
    page!("RULE_DISABLED"),
    page!("ACTION_UNAVAILABLE"),
    page!("RUN_NOT_STARTED"),
    page!("UNTRUSTED"),
    page!("WORK_NOT_STARTED"),
    page!("WORK_FAILED"),
    page!("BLOCKED"),
    page!("TURNS_EXHAUSTED"),
    page!("NO_PROGRESS"),
    page!("BUDGET_EXHAUSTED"),
    page!("TIMED_OUT"),
    page!("DENIED"),
    page!("FATAL"),
    page!("CANCELLED"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::refusal::CODES;

    #[test]
    fn every_code_over_http_has_a_page_that_says_its_status() {
        for (code, status) in CODES {
            let page = PAGES.iter().find(|(known, _)| *known == code);
            let (_, page) = page.unwrap_or_else(|| panic!("{code} has no page"));
            let said = format!("HTTP status {}.", status.as_u16());
            let is_of_socket = page.contains("Said over the socket.");
            assert!(is_of_socket || page.contains(&said), "{code}: {page}");
        }
    }

    #[test]
    fn a_page_begins_with_its_code() {
        for (code, page) in PAGES {
            assert!(page.starts_with(&format!("# {code}\n\n")), "{code}");
        }
    }
}
