//! The table itself. One row is one option.
//!
//! Flags are made of the rows, in their order. A default is written as one would type it, so that it
//! passes through the same parser as everything else; a test reads all of them.

use bonded_kernel::Measure;

use super::kind::OptionKind;
use crate::config::Order;

/// What is known of an option.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// The name in front matter and in `--override`; unique in the table.
    pub key: &'static str,
    /// With its dashes; `None` for an option that has no flag of its own.
    pub flag: Option<&'static str>,
    /// Other spellings of the flag.
    pub flag_aliases: &'static [&'static str],
    /// Whether an agent file may set it.
    pub front_matter: bool,
    /// Whether `--override` may set it.
    pub overridable: bool,
    /// Where the configuration may set it; the first path that is there counts.
    pub config: &'static [&'static str],
    /// The built-in value as one would type it; `None` where absence means something of its own.
    pub default: Option<&'static str>,
    /// What its values are, and the one parser that reads them.
    pub kind: OptionKind,
    /// What somebody else's file may do with it.
    pub order: Order,
    /// One line for the help text.
    pub help: &'static str,
}

/// What a row is where it says nothing.
const ROW: OptionRow = OptionRow {
    key: "",
    flag: None,
    flag_aliases: &[],
    front_matter: false,
    overridable: false,
    config: &[],
    default: None,
    kind: OptionKind::Flag,
    order: Order::Free,
    help: "",
};

/// An option of an agent: front matter and `--override` may set it.
const fn agent(key: &'static str, flag: &'static str, kind: OptionKind) -> OptionRow {
    OptionRow {
        key,
        flag: Some(flag),
        front_matter: true,
        overridable: true,
        kind,
        ..ROW
    }
}

/// An option of the process: the command line sets it, and perhaps the configuration.
const fn process(key: &'static str, flag: &'static str, kind: OptionKind) -> OptionRow {
    OptionRow {
        key,
        flag: Some(flag),
        kind,
        ..ROW
    }
}

/// A limit of the processes that tools start: whoever runs an agent sets it, not the agent.
const fn limit(key: &'static str, flag: &'static str, kind: OptionKind) -> OptionRow {
    OptionRow {
        overridable: true,
        ..process(key, flag, kind)
    }
}

/// A flag that is off unless it is given.
const fn switch(key: &'static str, flag: &'static str, help: &'static str) -> OptionRow {
    process(key, flag, OptionKind::Flag).with(&[], Some("false"), help)
}

impl OptionRow {
    /// An option that is a capability.
    const fn ordered(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// The parts that nearly every row has, at the end of it.
    const fn with(
        self,
        config: &'static [&'static str],
        default: Option<&'static str>,
        help: &'static str,
    ) -> Self {
        Self {
            config,
            default,
            help,
            ..self
        }
    }
}

const fn whole(min: u64, max: u64) -> OptionKind {
    OptionKind::Whole {
        min,
        max,
        nullable: false,
    }
}

const fn whole_or_none(min: u64, max: u64) -> OptionKind {
    OptionKind::Whole {
        min,
        max,
        nullable: true,
    }
}

const fn measured(measure: Measure, min: u64, max: u64) -> OptionKind {
    OptionKind::Measured {
        measure,
        min,
        max,
        nullable: false,
    }
}

/// Limits count in 32 bits; of milliseconds that is seven weeks.
const BITS_32: u64 = u32::MAX as u64;
/// More than any machine or model has.
const TERA: u64 = 1 << 40;
const MS: OptionKind = measured(Measure::Ms, 1, BITS_32);
const COUNT: OptionKind = whole(1, BITS_32);
const COUNT_OR_NONE: OptionKind = whole_or_none(1, BITS_32);
const BYTES: OptionKind = measured(Measure::Bytes, 1, TERA);
const TOKENS: OptionKind = measured(Measure::Tokens, 0, TERA);
const REPLY_TOKENS: OptionKind = measured(Measure::Tokens, 1, BITS_32);
const WINDOW: OptionKind = OptionKind::Measured {
    measure: Measure::Tokens,
    min: 1,
    max: TERA,
    nullable: true,
};
/// With less no command starts, nor can its end be told.
const PROCESS_MEMORY: OptionKind = measured(Measure::Bytes, 16 << 20, TERA);
const PROCESSES: OptionKind = whole(4, BITS_32);
const FILE_BYTES: OptionKind = measured(Measure::Bytes, 4096, TERA);

const fn real(min: f64, max: f64) -> OptionKind {
    OptionKind::Real { min, max }
}

const PERMISSION: OptionKind =
    OptionKind::Choice(&[("allow", "allow"), ("ask", "ask"), ("deny", "deny")]);
const SANDBOX: OptionKind = OptionKind::Choice(&[
    ("read-only", "read-only"),
    ("workspace-write", "workspace-write"),
    ("full", "full"),
]);
const CACHING: OptionKind = OptionKind::Choice(&[("full", "full"), ("none", "none")]);
const OPENAI_MODE: OptionKind = OptionKind::Choice(&[
    ("auto", "auto"),
    ("responses", "responses"),
    ("chat", "chat"),
]);
const TRANSPORT: OptionKind = OptionKind::Choice(&[
    ("native", "native"),
    ("xml", "xml"),
    ("xml-final", "xml-final"),
]);
const FORMAT: OptionKind = OptionKind::Choice(&[
    ("markdown", "markdown"),
    ("markdown+mermaid", "markdown+mermaid"),
    ("slack-block-kit", "slack-block-kit"),
    ("tty", "tty"),
    ("pipe", "pipe"),
    ("json", "json"),
    ("sub-agent", "sub-agent"),
    ("text", "pipe"),
    ("plain", "pipe"),
    ("plaintext", "pipe"),
    ("plain-text", "pipe"),
    ("ansi", "tty"),
    ("terminal", "tty"),
]);

/// Every option.
pub const TABLE: &[OptionRow] = &[
    agent("models", "--models", OptionKind::Models).with(
        &[],
        Some(""),
        "models to try in order: PROVIDER/MODEL,…",
    ),
    OptionRow {
        flag_aliases: &["--tool", "--mcp-tool", "--mcp-tools"],
        ..agent("tools", "--tools", OptionKind::List).with(
            &[],
            Some(""),
            "tools to offer, separated by commas",
        )
    },
    agent("agents", "--agents", OptionKind::List).with(
        &[],
        Some(""),
        "agent files to offer as tools, separated by commas",
    ),
    agent("skills", "--skills", OptionKind::List)
        .ordered(Order::Trusted)
        .with(
            &["defaults.skills"],
            Some("none"),
            "skills to offer, separated by commas: names, all or none",
        ),
    OptionRow {
        flag_aliases: &["--llm-timeout-ms"],
        ..agent("llmTimeout", "--llm-timeout", MS)
            .ordered(Order::Lower)
            .with(
                &["defaults.llmTimeout"],
                Some("10m"),
                "give up on a silent model after this long",
            )
    },
    OptionRow {
        flag_aliases: &["--tool-timeout-ms"],
        ..agent("toolTimeout", "--tool-timeout", MS)
            .ordered(Order::Lower)
            .with(
                &["defaults.toolTimeout"],
                Some("5m"),
                "stop a tool after this long",
            )
    },
    agent("toolResponseMaxBytes", "--tool-response-max-bytes", BYTES)
        .ordered(Order::Lower)
        .with(
            &["defaults.toolResponseMaxBytes"],
            Some("12k"),
            "truncate tool output to this size",
        ),
    agent("temperature", "--temperature", real(0.0, 2.0)).with(
        &["defaults.temperature"],
        Some("none"),
        "sampling temperature, 0 to 2, or none",
    ),
    agent("topP", "--top-p", real(0.0, 1.0)).with(
        &["defaults.topP"],
        Some("none"),
        "nucleus sampling, 0 to 1, or none",
    ),
    agent("topK", "--top-k", COUNT_OR_NONE).with(
        &["defaults.topK"],
        Some("none"),
        "sample from this many tokens, or none",
    ),
    agent("repeatPenalty", "--repeat-penalty", real(0.0, f64::MAX)).with(
        &["defaults.repeatPenalty"],
        Some("none"),
        "penalty on repetition, or none",
    ),
    agent("reasoning", "--reasoning", OptionKind::Reasoning).with(
        &[],
        None,
        "reasoning effort: none, minimal, low, medium, high, xhigh or max",
    ),
    process(
        "defaultReasoning",
        "--default-reasoning",
        OptionKind::Reasoning,
    )
    .ordered(Order::Trusted)
    .with(
        &["defaults.reasoning"],
        None,
        "reasoning effort of agents that set none",
    ),
    agent(
        "reasoningTokens",
        "--reasoning-tokens",
        OptionKind::ReasoningTokens,
    )
    .ordered(Order::Trusted)
    .with(
        &["defaults.reasoningValue"],
        None,
        "tokens for reasoning, or 0 for none",
    ),
    agent("maxOutputTokens", "--max-output-tokens", REPLY_TOKENS)
        .ordered(Order::Lower)
        .with(
            &["defaults.maxOutputTokens"],
            Some("4096"),
            "limit of tokens per reply",
        ),
    agent("maxRetries", "--max-retries", whole(0, BITS_32))
        .ordered(Order::Lower)
        .with(
            &["defaults.maxRetries"],
            Some("3"),
            "attempts per turn, including the first",
        ),
    agent("maxTurns", "--max-turns", COUNT)
        .ordered(Order::Lower)
        .with(&["defaults.maxTurns"], Some("10"), "limit of turns"),
    agent("maxToolCallsPerTurn", "--max-tool-calls-per-turn", COUNT)
        .ordered(Order::Lower)
        .with(
            &["defaults.maxToolCallsPerTurn"],
            Some("10"),
            "limit of tool calls per turn",
        ),
    agent("toolOutputPaging", "--tool-output-paging", OptionKind::Flag).with(
        &["defaults.toolOutputPaging"],
        Some("true"),
        "keep truncated output and let the model page through it",
    ),
    agent(
        "toolSearchAbove",
        "--tool-search-above",
        whole_or_none(0, BITS_32),
    )
    .with(
        &["defaults.toolSearchAbove"],
        Some("5000"),
        "tokens of server tools above which the model finds them by a search (none: send all)",
    ),
    agent("contextSummary", "--context-summary", OptionKind::Flag).with(
        &["defaults.contextSummary"],
        Some("false"),
        "summarise the conversation when the context is full",
    ),
    agent("progressReports", "--progress-reports", OptionKind::Flag).with(
        &["defaults.progressReports"],
        Some("false"),
        "offer the model a progress-report tool",
    ),
    OptionRow {
        flag: None,
        ..agent("approvals", "", OptionKind::Approvals)
            .ordered(Order::Rules)
            .with(
                &["defaults.approvals"],
                None,
                "which tools to allow, ask about and deny",
            )
    },
    process("ask", "--ask", OptionKind::Patterns).with(
        &[],
        Some(""),
        "ask before calls of these tools (* matches anything)",
    ),
    process("deny", "--deny", OptionKind::Patterns).with(
        &[],
        Some(""),
        "never call these tools (* matches anything)",
    ),
    agent("untrusted", "--untrusted", OptionKind::Patterns)
        .ordered(Order::Fixed)
        .with(
            &["defaults.untrusted"],
            None,
            "tools with untrusted output (* matches anything)",
        ),
    agent("afterUntrusted", "--after-untrusted", PERMISSION)
        .ordered(Order::Strict)
        .with(
            &["defaults.afterUntrusted"],
            Some("allow"),
            "calls that change something after untrusted output: allow, ask or deny",
        ),
    agent("readOnly", "--read-only", OptionKind::Flag)
        .ordered(Order::On)
        .with(
            &["defaults.readOnly"],
            Some("false"),
            "change nothing: offer only tools that read, and keep nothing of what commands write",
        ),
    agent("openaiMode", "--openai-mode", OPENAI_MODE).with(
        &["defaults.openaiMode"],
        Some("auto"),
        "OpenAI API to use: responses, chat or auto (responses at OpenAI itself)",
    ),
    agent("caching", "--caching", CACHING).with(&[], Some("full"), "prompt caching: full or none"),
    OptionRow {
        overridable: true,
        ..process("toolingTransport", "--tooling-transport", TRANSPORT).with(
            &["tooling.transport"],
            Some("xml-final"),
            "how the model writes calls: native, xml or xml-final",
        )
    },
    process("stream", "--stream", OptionKind::Flag).with(
        &["defaults.stream"],
        Some("false"),
        "stream replies",
    ),
    switch(
        "traceLLM",
        "--trace-llm",
        "log requests to models and their replies",
    ),
    switch(
        "traceMCP",
        "--trace-mcp",
        "log requests to MCP servers and their replies",
    ),
    switch(
        "traceTools",
        "--trace-tools",
        "keep the whole of truncated tool output",
    ),
    switch("verbose", "--verbose", "more progress output"),
    switch("quiet", "--quiet", "no progress output"),
    OptionRow {
        key: "contextWindow",
        overridable: true,
        kind: WINDOW,
        default: Some("none"),
        help: "context window in tokens, instead of the model's own",
        ..ROW
    },
    OptionRow {
        key: "contextWindowBufferTokens",
        overridable: true,
        config: &["defaults.contextWindowBufferTokens"],
        kind: TOKENS,
        default: Some("256"),
        help: "tokens of the context window to keep free",
        ..ROW
    },
    process("sessionsDir", "--sessions-dir", OptionKind::Text)
        .ordered(Order::Fixed)
        .with(
            &["persistence.sessionsDir"],
            None,
            "write a snapshot of each run to this directory",
        ),
    process("billingFile", "--billing-file", OptionKind::Text)
        .ordered(Order::Fixed)
        .with(
            &["persistence.billingFile", "accounting.file"],
            None,
            "append token and cost records to this file",
        ),
    OptionRow {
        overridable: true,
        ..process("sandbox", "--sandbox", SANDBOX)
            .ordered(Order::Level)
            .with(
                &["defaults.sandbox"],
                Some("workspace-write"),
                "what commands may write: read-only, workspace-write or full",
            )
    },
    process("sandboxRequired", "--sandbox-required", OptionKind::Flag)
        .ordered(Order::On)
        .with(
            &["defaults.sandboxRequired"],
            Some("false"),
            "fail if the sandbox cannot be fully enforced",
        ),
    process(
        "sandboxBestEffort",
        "--sandbox-best-effort",
        OptionKind::Flag,
    )
    .ordered(Order::Off)
    .with(
        &["defaults.sandboxBestEffort"],
        Some("false"),
        "run commands with as much of the sandbox as this machine can enforce",
    ),
    process("sandboxNetwork", "--sandbox-network", OptionKind::Flag)
        .ordered(Order::Off)
        .with(
            &["defaults.sandboxNetwork"],
            Some("false"),
            "allow commands to use the network",
        ),
    OptionRow {
        overridable: true,
        ..process("sandboxEnv", "--sandbox-env", OptionKind::List)
            .ordered(Order::Fewer)
            .with(
                &["defaults.sandboxEnv"],
                Some(""),
                "extra environment variables to pass to commands",
            )
    },
    OptionRow {
        overridable: true,
        ..process("sandboxShow", "--sandbox-show", OptionKind::List)
            .ordered(Order::Fewer)
            .with(
                &["defaults.sandboxShow"],
                Some(""),
                "paths in your home that commands may read",
            )
    },
    OptionRow {
        flag_aliases: &["--sandbox-cpu-ms"],
        ..limit("sandboxCpuMs", "--sandbox-cpu", MS)
            .ordered(Order::Lower)
            .with(
                &["defaults.sandboxCpuMs"],
                Some("1h"),
                "CPU time per process of a command",
            )
    },
    OptionRow {
        flag_aliases: &["--sandbox-memory-bytes"],
        ..limit("sandboxMemoryBytes", "--sandbox-memory", PROCESS_MEMORY)
            .ordered(Order::Lower)
            .with(
                &["defaults.sandboxMemoryBytes"],
                Some("16G"),
                "memory per process of a command",
            )
    },
    limit("sandboxProcesses", "--sandbox-processes", PROCESSES)
        .ordered(Order::Lower)
        .with(
            &["defaults.sandboxProcesses"],
            Some("4096"),
            "processes and threads of a command at a time",
        ),
    OptionRow {
        flag_aliases: &["--sandbox-file-bytes"],
        ..limit("sandboxFileBytes", "--sandbox-file-size", FILE_BYTES)
            .ordered(Order::Lower)
            .with(
                &["defaults.sandboxFileBytes"],
                Some("8G"),
                "largest file that a command may write",
            )
    },
    process("format", "--format", FORMAT).with(
        &["defaults.outputFormat"],
        None,
        "the format of the result",
    ),
];
