//! The codes that clients of a workspace can meet: over HTTP, over a socket, in what an agent is told, and as a run's
//! `error_code`. They never change.
//! The table below is their only list: the names, the statuses, the pages that explain them and the table in the
//! documentation follow from it, and tests hold them together.

use bonded_kernel::TerminationKind;

/// The same, asked again later, may be answered although nobody changed anything.
const AGAIN: bool = true;
/// Something has to change first.
const CHANGED: bool = false;

/// Each line is a code: its name, the HTTP status that it comes with where it does, and whether it may be asked again.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $status:expr, $again:ident;)*) => {
        /// The stable name of why something was refused or failed in a workspace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// Every code, in the order in which they are explained.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name that programs know it by.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The page that explains it.
            pub const fn page(self) -> &'static str {
                match self {
                    $(Self::$variant => {
                        include_str!(concat!("../../../docs/errors/workspace/", $name, ".md"))
                    })*
                }
            }

            /// The HTTP status that it comes with; none where it is never said over HTTP.
            pub const fn status(self) -> Option<u16> {
                match self {
                    $(Self::$variant => $status,)*
                }
            }

            /// Whether the same, asked again later, may be answered although nobody changed anything.
            pub const fn is_retryable(self) -> bool {
                match self {
                    $(Self::$variant => $again,)*
                }
            }
        }
    };
}

codes! {
    /// The request itself is wrong: a field, a parameter, a header or the JSON.
    BadRequest = "BAD_REQUEST", Some(400), CHANGED;
    /// The `patch_ops` do not fit the note: they count past its end, or one of them is no operation.
    InvalidPatch = "INVALID_PATCH", Some(400), CHANGED;
    /// Nobody can tell who asks: there is neither a token nor a session, or the session is over.
    AuthRequired = "AUTH_REQUIRED", Some(401), CHANGED;
    /// The token, or the password, is not what it should be.
    InvalidCredentials = "INVALID_CREDENTIALS", Some(401), CHANGED;
    /// The session has expired.
    SessionExpired = "SESSION_EXPIRED", Some(401), CHANGED;
    /// The role in the workspace is too small for this, or it is for the owner of the installation alone.
    RoleForbidden = "ROLE_FORBIDDEN", Some(403), CHANGED;
    /// The workspace is not open for this: you are no member of it, or it is archived and can only be read.
    WorkspaceForbidden = "WORKSPACE_FORBIDDEN", Some(403), CHANGED;
    /// Kept for programs that know the name; `ScopeViolation` is what an agent meets.
    AgentYoloPolicyViolation = "AGENT_YOLO_POLICY_VIOLATION", Some(403), CHANGED;
    /// A run tried to write outside of its workspace, or after it had ended.
    CrossWorkspaceRejected = "CROSS_WORKSPACE_REJECTED", Some(403), CHANGED;
    /// An agent went beyond its scope.
    ScopeViolation = "SCOPE_VIOLATION", Some(403), CHANGED;
    /// A request with a cookie does not show that the page itself sent it.
    CsrfInvalid = "CSRF_INVALID", Some(403), CHANGED;
    /// There is nothing at this path.
    NotFound = "NOT_FOUND", Some(404), CHANGED;
    /// There is no such note.
    NoteNotFound = "NOTE_NOT_FOUND", Some(404), CHANGED;
    /// There is no such workspace, or it was deleted.
    WorkspaceNotFound = "WORKSPACE_NOT_FOUND", Some(404), CHANGED;
    /// There is no such rule, or it was deleted.
    RuleNotFound = "RULE_NOT_FOUND", Some(404), CHANGED;
    /// There is no such run of a rule.
    RunNotFound = "RUN_NOT_FOUND", Some(404), CHANGED;
    /// The run proposed no operation with this id.
    OperationNotFound = "OPERATION_NOT_FOUND", Some(404), CHANGED;
    /// There is no such issue.
    IssueNotFound = "ISSUE_NOT_FOUND", Some(404), CHANGED;
    /// There is no such attachment.
    AttachmentNotFound = "ATTACHMENT_NOT_FOUND", Some(404), CHANGED;
    /// There is no such user.
    UserNotFound = "USER_NOT_FOUND", Some(404), CHANGED;
    /// The path is there, and does not take this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", Some(405), CHANGED;
    /// The body did not arrive within `server.request_timeout_ms`.
    RequestTimeout = "REQUEST_TIMEOUT", Some(408), AGAIN;
    /// The note or the rule was changed since it was read.
    VersionConflict = "VERSION_CONFLICT", Some(409), CHANGED;
    /// A decision is about another operation than the one that was looked at.
    OtherOperation = "OTHER_OPERATION", Some(409), CHANGED;
    /// What is asked for does not go with how things are.
    Conflict = "CONFLICT", Some(409), CHANGED;
    /// The owner is registered already.
    SetupAlreadyCompleted = "SETUP_ALREADY_COMPLETED", Some(409), CHANGED;
    /// The body is larger than `server.max_request_body_mb` allows, or holds more than 100,000 values.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", Some(413), CHANGED;
    /// The text of a note would be larger than 4 MiB.
    NoteTooLarge = "NOTE_TOO_LARGE", Some(413), CHANGED;
    /// The file is larger than `server.max_attachment_mb` allows.
    AttachmentTooLarge = "ATTACHMENT_TOO_LARGE", Some(413), CHANGED;
    /// The body is not said to be JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", Some(415), CHANGED;
    /// The rule is wrong.
    RuleInvalid = "RULE_INVALID", Some(422), CHANGED;
    /// The prompt file is not there, cannot be read, or is no JSON.
    PromptJsonInvalid = "PROMPT_JSON_INVALID", Some(422), CHANGED;
    /// The prompt file is JSON and is no prompt.
    PromptSchemaInvalid = "PROMPT_SCHEMA_INVALID", Some(422), CHANGED;
    /// A segment of the prompt file has a blank prompt.
    PromptSegmentEmpty = "PROMPT_SEGMENT_EMPTY", Some(422), CHANGED;
    /// The mode of the search is none, or is `semantic` while embeddings are switched off or cannot be had.
    SearchModeInvalid = "SEARCH_MODE_INVALID", Some(422), CHANGED;
    /// More was asked in a short time than is allowed, or too many wrong passwords came from this address.
    RateLimited = "RATE_LIMITED", Some(429), AGAIN;
    /// The server or its store has failed.
    InternalError = "INTERNAL_ERROR", Some(500), CHANGED;
    /// The file of the agent's memory (`memory.kv_store_path`) cannot be read or written.
    AgentMemoryStoreError = "AGENT_MEMORY_STORE_ERROR", Some(500), CHANGED;
    /// Kept for programs that know the name; a provider that fails ends a run with another code.
    LlmUpstreamError = "LLM_UPSTREAM_ERROR", Some(502), AGAIN;
    /// Kept for programs that know the name; a search without embeddings is answered by words.
    EmbeddingProviderError = "EMBEDDING_PROVIDER_ERROR", Some(502), AGAIN;
    /// The server is stopping, or too many ask at once.
    Unavailable = "UNAVAILABLE", Some(503), AGAIN;
    /// The message's `type` is none.
    WsUnknownMessage = "WS_UNKNOWN_MESSAGE", None, CHANGED;
    /// The message is no JSON object, or a field of it is missing or wrong.
    WsBadPayload = "WS_BAD_PAYLOAD", Some(400), CHANGED;
    /// The stream ended, because the role in its workspace was taken away.
    WsForbidden = "WS_FORBIDDEN", None, CHANGED;
    /// The cursor lies outside of what is kept.
    StaleCursor = "STALE_CURSOR", None, CHANGED;
    /// The server or its store has failed.
    WsInternalError = "WS_INTERNAL_ERROR", None, CHANGED;
    /// The note was changed since the patch was made.
    VersionMismatch = "VERSION_MISMATCH", None, CHANGED;
    /// The embeddings could not be had, so the search went by words alone.
    EmbeddingUnavailable = "EMBEDDING_UNAVAILABLE", None, AGAIN;
    /// An agent wanted to go on to a state that does not follow the one it is in.
    StateTransitionRefused = "STATE_TRANSITION_REFUSED", None, CHANGED;
    /// An agent wanted to change a note that its run has not read, or only asked for in the same reply.
    NoteNotRead = "NOTE_NOT_READ", None, CHANGED;
    /// An agent named a note by a title that several notes have.
    AmbiguousTitle = "AMBIGUOUS_TITLE", None, CHANGED;
    /// Three replies in a row could not be read as instructions; nothing of them was executed.
    XmlParseError = "XML_PARSE_ERROR", None, CHANGED;
    /// The provider did not answer within `provider.timeout_ms`, four times.
    LlmTimeout = "LLM_TIMEOUT", None, AGAIN;
    /// The provider failed four times, refused the key, or withheld its replies.
    LlmUnavailable = "LLM_UNAVAILABLE", None, AGAIN;
    /// Prompt, memory and request together are larger than the window of every model.
    ContextOverflow = "CONTEXT_OVERFLOW", None, CHANGED;
    /// Runs set one another off more often than the rule allows.
    ChainDepthExceeded = "CHAIN_DEPTH_EXCEEDED", None, CHANGED;
    /// The rule was deleted before the run began.
    RuleDeleted = "RULE_DELETED", None, CHANGED;
    /// The rule was disabled before the run began.
    RuleDisabled = "RULE_DISABLED", None, CHANGED;
    /// This server does not do actions of this kind.
    ActionUnavailable = "ACTION_UNAVAILABLE", None, CHANGED;
    /// The run of an agent file could not begin.
    RunNotStarted = "RUN_NOT_STARTED", None, CHANGED;
    /// The directory that a rule works in holds what nobody trusts.
    Untrusted = "UNTRUSTED", None, CHANGED;
    /// The program that works a plan off could not be started.
    WorkNotStarted = "WORK_NOT_STARTED", None, CHANGED;
    /// An item of the plan did not succeed.
    WorkFailed = "WORK_FAILED", None, CHANGED;
    /// A message could not be delivered to the address that the rule names.
    WebhookFailed = "WEBHOOK_FAILED", None, AGAIN;
    /// The agent said that the goal cannot be reached.
    Blocked = "BLOCKED", None, CHANGED;
    /// All turns were used (`max_iterations` for an agent that works in loops) and work is left.
    TurnsExhausted = "TURNS_EXHAUSTED", None, CHANGED;
    /// The same thing came out again and again.
    NoProgress = "NO_PROGRESS", None, CHANGED;
    /// The limit of tokens or money was reached.
    BudgetExhausted = "BUDGET_EXHAUSTED", None, CHANGED;
    /// The run reached its limit of time.
    TimedOut = "TIMED_OUT", None, CHANGED;
    /// A call was denied by a person or by a rule of the agent, and the run ended.
    Denied = "DENIED", None, CHANGED;
    /// The run could not go on.
    Fatal = "FATAL", None, CHANGED;
    /// Somebody cancelled the run.
    Cancelled = "CANCELLED", None, CHANGED;
}

impl Code {
    /// The code of a run that ended so; none where it reached its goal.
    /// The name of the code is the name of the end in capitals.
    pub const fn of_end(kind: TerminationKind) -> Option<Self> {
        match kind {
            TerminationKind::Done => None,
            TerminationKind::Blocked => Some(Self::Blocked),
            TerminationKind::TurnsExhausted => Some(Self::TurnsExhausted),
            TerminationKind::NoProgress => Some(Self::NoProgress),
            TerminationKind::Cancelled => Some(Self::Cancelled),
            TerminationKind::Fatal => Some(Self::Fatal),
            TerminationKind::BudgetExhausted => Some(Self::BudgetExhausted),
            TerminationKind::TimedOut => Some(Self::TimedOut),
            TerminationKind::Denied => Some(Self::Denied),
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_codes_have_one_name() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn a_page_begins_with_its_code_and_says_its_status() {
        for code in Code::ALL {
            let page = code.page();
            assert!(page.starts_with(&format!("# {code}\n\n")), "{code}");
            if let Some(status) = code.status() {
                let sentence = format!("HTTP status {status}.");
                let is_of_socket = page.contains("Said over the socket.");
                assert!(is_of_socket || page.contains(&sentence), "{code}: {page}");
            }
        }
    }

    #[test]
    fn the_table_in_the_documentation_is_that_of_the_codes() {
        let document = include_str!("../../../docs/errors/workspace/README.md");
        let rows = Code::ALL.iter().map(|code| {
            let status = code
                .status()
                .map_or("–".into(), |status| status.to_string());
            let again = if code.is_retryable() { "yes" } else { "no" };
            format!("| [`{code}`]({code}.md) | {status} | {again} |")
        });
        let expected: Vec<String> = rows.collect();
        let written: Vec<&str> = document
            .lines()
            .filter(|it| it.starts_with("| ["))
            .collect();
        assert_eq!(written, expected);
    }

    #[test]
    fn a_run_that_ended_has_the_name_of_its_end_in_capitals() {
        for kind in TerminationKind::ALL {
            let name = Code::of_end(kind).map(|code| code.as_str().to_owned());
            let has_code = kind != TerminationKind::Done;
            assert_eq!(name, has_code.then(|| kind.as_str().to_uppercase()));
        }
    }
}
