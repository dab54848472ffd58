//! The keys that a configuration file may have.
//!
//! One table for all: the check of types, the guess at what was meant by a slip, the word about keys that
//! have no effect here, and the schema for editors all read it. A key that is not in it is told as unknown and does
//! nothing.

use bonded_kernel::{Effort, Measure, SCHEMA_KEY, SCHEMA_ROW, SandboxLevel, words};

use bonded_tools::rest::rest_methods;

use super::provider::{KINDS, OPENAI_MODES, TOOL_CHOICES};
use super::shape::ValueShape::{
    self, Any, AnyCase, AnyCaseList, AnyObject, Bool, Count, Defaults, Http, Map, Measured, Number,
    Object, Port, Price, Reasoning, Text, TextList, TextOrList, Unsupported, Word, WordList,
};
use super::{KeyPath, accepts, mcp, oauth, pricing, rest};

/// A key of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConfigKey {
    pub(super) name: &'static str,
    pub(super) shape: ValueShape,
    /// What it is for, in a line; empty where an option, or the shape, says it.
    pub(super) help: &'static str,
}

const fn key(name: &'static str, shape: ValueShape, help: &'static str) -> ConfigKey {
    ConfigKey { name, shape, help }
}

/// The words of a reader's table.
fn names<T: Copy, const N: usize>(table: &[(&'static str, T); N]) -> Vec<String> {
    words(table).map(str::to_owned).to_vec()
}

/// Keys that files of other programs have: they are told of, and are no mistake.
const NO_EFFECT: ValueShape = Unsupported("this has no effect here");

/// The whole file.
pub(super) const ROOT: ValueShape = Object(&[
    key(SCHEMA_KEY, Any, SCHEMA_ROW.help),
    key(
        "providers",
        Map(&PROVIDER),
        "Model providers, by the name used in NAME/MODEL",
    ),
    key(
        "mcpServers",
        Map(&MCP_SERVER),
        "MCP servers, by the name that agents use in `tools`",
    ),
    key(
        "restTools",
        Map(&REST_TOOL),
        "HTTP requests offered as tools, by name",
    ),
    key(
        "openapiSpecs",
        Map(&OPENAPI_SPEC),
        "OpenAPI documents whose operations are offered as tools, by name",
    ),
    key("queues", Map(&QUEUE), "Queues that tools wait in, by name"),
    key("defaults", Defaults, "Defaults for every run"),
    key(
        "pricing",
        Map(&Map(&PRICING)),
        "Prices, by provider and model",
    ),
    key(
        "accounting",
        Object(&[key(
            "file",
            Text,
            "Append token and cost records to this file",
        )]),
        "Where token and cost records go",
    ),
    key(
        "persistence",
        Object(&[key("sessionsDir", Text, ""), key("billingFile", Text, "")]),
        "Where snapshots and the ledger go",
    ),
    key(
        "tooling",
        Object(&[key("transport", Text, "")]),
        "How models write calls",
    ),
    key("telemetry", Unsupported("telemetry is not supported"), ""),
    key("slack", Unsupported("Slack is not supported"), ""),
    key("api", Unsupported("servers are not configured here"), ""),
    key(
        "cache",
        Unsupported("a cache of replies is not supported"),
        "",
    ),
    key("embed", Unsupported("servers are not configured here"), ""),
]);

const PROVIDER: ValueShape = Object(&[
    key(
        "type",
        Word(|| names(&KINDS)),
        "The kind of service; not needed where the name of the entry is one",
    ),
    key(
        "apiKey",
        Text,
        "The key, usually a variable such as ${OPENAI_API_KEY}",
    ),
    key(
        "baseUrl",
        Http,
        "The address of the service, http:// or https://",
    ),
    key("headers", Map(&Text), "Headers to send with every request"),
    key("custom", AnyObject, "Fields to add to every request"),
    key(
        "openaiMode",
        Word(|| names(&OPENAI_MODES)),
        "The OpenAI API to use: responses, chat, or auto",
    ),
    key(
        "models",
        Map(&MODEL),
        "Settings for single models, by their name at the service",
    ),
    key(
        "overrides",
        OVERRIDES,
        "Sampling values that override those of the run; null sends none",
    ),
    key(
        "reasoning",
        Reasoning,
        "What the reasoning levels mean: one value, or four for minimal, low, medium and high",
    ),
    key(
        "toolChoice",
        Word(|| names(&TOOL_CHOICES)),
        "Whether the model must call a tool: auto or required",
    ),
    key(
        "contextWindow",
        Measured(Measure::Tokens, 1),
        "The context window in tokens, such as 200k",
    ),
    key("tokenizer", Text, "The vocabulary used to estimate tokens"),
    key(
        "contextWindowBufferTokens",
        Measured(Measure::Tokens, 0),
        "Tokens of the context window to keep free",
    ),
    key(
        "parallelToolCalls",
        Bool,
        "Whether a reply may hold several calls",
    ),
    key(
        "promptCacheKey",
        Text,
        "The key by which the service caches the prompt",
    ),
    key("serviceTier", Text, "The service tier to ask for"),
    key(
        "accepts",
        ACCEPTS,
        "What the models accept, where that differs from what is known of them",
    ),
    key("apiVersion", Text, "The version of the API, for Azure"),
    key("mergeStrategy", NO_EFFECT, ""),
    key("toolsAllowed", NO_EFFECT, ""),
    key("toolsDenied", NO_EFFECT, ""),
    key("stringSchemaFormatsAllowed", NO_EFFECT, ""),
    key("stringSchemaFormatsDenied", NO_EFFECT, ""),
    key("reasoningAutoStreamLevel", NO_EFFECT, ""),
]);

const MODEL: ValueShape = Object(&[
    key(
        "overrides",
        OVERRIDES,
        "Sampling values that override those of the run; null sends none",
    ),
    key(
        "reasoning",
        Reasoning,
        "What the reasoning levels mean: one value, or four for minimal, low, medium and high",
    ),
    key(
        "toolChoice",
        Word(|| names(&TOOL_CHOICES)),
        "Whether the model must call a tool: auto or required",
    ),
    key(
        "contextWindow",
        Measured(Measure::Tokens, 1),
        "The context window in tokens, such as 200k",
    ),
    key("tokenizer", Text, "The vocabulary used to estimate tokens"),
    key(
        "contextWindowBufferTokens",
        Measured(Measure::Tokens, 0),
        "Tokens of the context window to keep free",
    ),
    key(
        "parallelToolCalls",
        Bool,
        "Whether a reply may hold several calls",
    ),
    key(
        "promptCacheKey",
        Text,
        "The key by which the service caches the prompt",
    ),
    key("serviceTier", Text, "The service tier to ask for"),
    key(
        "accepts",
        ACCEPTS,
        "What the models accept, where that differs from what is known of them",
    ),
]);

/// What a model accepts, where that is not what is known of it.
const ACCEPTS: ValueShape = Object(&[
    key("like", Text, "A known model that this one behaves like"),
    key(
        "temperatureMax",
        Number,
        "The maximum temperature that is accepted",
    ),
    key("temperature", Bool, "Whether a temperature is accepted"),
    key("topP", Bool, "Whether top_p is accepted"),
    key("topK", Bool, "Whether top_k is accepted"),
    key(
        "temperatureWithTopP",
        Bool,
        "Whether temperature and top_p are accepted together",
    ),
    key(
        "penalty",
        Word(|| names(&accepts::PENALTIES)),
        "The field of the repetition penalty, or none",
    ),
    key(
        "outputLimit",
        Word(|| names(&accepts::OUTPUT_LIMITS)),
        "The field of the output limit",
    ),
    key(
        "thinking",
        Word(|| names(&accepts::THINKING)),
        "How to ask for thinking",
    ),
    key(
        "efforts",
        WordList(|| Effort::ALL.map(|it| it.as_str().to_owned()).to_vec()),
        "The efforts that are accepted",
    ),
    key(
        "toolChoiceRequired",
        Bool,
        "Whether a tool call can be required",
    ),
    key(
        "systemRole",
        Word(|| names(&accepts::ROLES)),
        "The role of the system prompt",
    ),
    key(
        "alternates",
        Bool,
        "Whether user and assistant must alternate",
    ),
    key(
        "userAfterTool",
        Bool,
        "Whether a user message must follow a tool result",
    ),
    key(
        "thoughtReturn",
        Word(|| names(&accepts::RETURNS)),
        "The field in which thoughts are sent back, or none",
    ),
    key(
        "signedThoughts",
        Word(|| names(&accepts::SIGNED)),
        "What to do with signed thoughts",
    ),
    key(
        "callsNeedTools",
        Bool,
        "Whether a conversation with calls must list the tools",
    ),
    key(
        "callIds",
        Word(|| names(&accepts::CALL_IDS)),
        "The form of call ids",
    ),
    key("streamUsage", Bool, "Whether a stream reports its usage"),
    key(
        "parallelToolCalls",
        Bool,
        "Whether the setting parallelToolCalls is accepted",
    ),
    key(
        "promptCacheKey",
        Bool,
        "Whether the setting promptCacheKey is accepted",
    ),
    key(
        "serviceTier",
        Bool,
        "Whether the setting serviceTier is accepted",
    ),
    key("images", Bool, "Whether the model takes images"),
]);

const OVERRIDES: ValueShape = Object(&[
    key("temperature", Number, "Sampling temperature"),
    key("topP", Number, "Nucleus sampling"),
    key("topK", Count, "Sample from this many tokens"),
    key("repeatPenalty", Number, "Penalty on repetition"),
]);

const MCP_SERVER: ValueShape = Object(&[
    key(
        "type",
        Word(|| names(&mcp::KINDS)),
        "How the server is reached; not needed with a command or a url",
    ),
    key(
        "command",
        TextOrList,
        "The program to start, or a list of it and its first arguments",
    ),
    key("args", TextList, "Arguments of the program"),
    key("env", Map(&Text), "Environment variables, taken literally"),
    key(
        "secretEnv",
        Map(&Text),
        "Environment variables with secrets, such as ${TOKEN}",
    ),
    key("url", Text, "The address of a server on the network"),
    key("headers", Map(&Text), "Headers, taken literally"),
    key(
        "secretHeaders",
        Map(&Text),
        "Headers with secrets, such as Bearer ${TOKEN}",
    ),
    key(
        "enabled",
        Bool,
        "Whether the server is used [default: true]",
    ),
    key("toolsAllowed", TextList, "The only tools to offer"),
    key("toolsDenied", TextList, "Tools that are not offered"),
    key(
        "queue",
        Text,
        "The queue that calls wait in [default: default]",
    ),
    key(
        "shared",
        Bool,
        "Whether all runs of the process share one connection [default: true]",
    ),
    key(
        "healthProbe",
        Word(|| names(&mcp::PROBES)),
        "How to check that the server is alive: ping or listTools",
    ),
    key(
        "requestTimeoutMs",
        Measured(Measure::Ms, 1),
        "Time limit of one request, such as 90s; a number counts milliseconds",
    ),
    key(
        "required",
        Bool,
        "Whether a run fails to start without the server",
    ),
    key("cwd", Text, "The directory that the program is started in"),
    key(
        "sandbox",
        Word(|| SandboxLevel::ALL.map(|it| it.as_str().to_owned()).to_vec()),
        "What the program may write: read-only, workspace-write or full; never more than the run",
    ),
    key(
        "sandboxNetwork",
        Bool,
        "Whether the program may use the network",
    ),
    key("oauth", OAUTH, "How to log in to the server"),
]);

const OAUTH: ValueShape = Object(&[
    key(
        "grant",
        Word(|| names(&oauth::GRANTS)),
        "How tokens are obtained [default: authorization_code]",
    ),
    key("clientId", Text, "The id of the client at the issuer"),
    key("clientSecret", Text, "The secret of the client"),
    key("privateKey", Text, "The private key of the client, as PEM"),
    key("scopes", TextOrList, "Scopes to ask for"),
    key("issuer", Text, "The only issuer to log in at"),
    key(
        "redirectPort",
        Port,
        "The local port that the browser returns to",
    ),
    key(
        "privateAddresses",
        Bool,
        "Allow issuers in private networks",
    ),
    key(
        "identityProvider",
        IDENTITY_PROVIDER,
        "The identity provider, for the grant identity_assertion",
    ),
]);

const IDENTITY_PROVIDER: ValueShape = Object(&[
    key("issuer", Text, "The issuer; or name its tokenEndpoint"),
    key(
        "tokenEndpoint",
        Text,
        "The token endpoint; or name the issuer",
    ),
    key("clientId", Text, "The id of the client there"),
    key("clientSecret", Text, "The secret of the client there"),
    key("token", Text, "The token; or name a tokenFile"),
    key(
        "tokenFile",
        Text,
        "An absolute path of a file with the token",
    ),
    key(
        "tokenType",
        Word(|| names(&oauth::TOKEN_TYPES)),
        "What the token is [default: id_token]",
    ),
]);

const REST_TOOL: ValueShape = Object(&[
    key("description", Text, "What the tool does, for the model"),
    key(
        "method",
        AnyCase(rest_methods),
        "The HTTP method [default: GET]",
    ),
    key(
        "url",
        Text,
        "The address; ${parameters.NAME} stands for an argument",
    ),
    key("headers", Map(&Text), "Headers to send"),
    key(
        "parametersSchema",
        AnyObject,
        "JSON Schema of the arguments, or of their properties alone",
    ),
    key(
        "bodyTemplate",
        Any,
        "The body; ${parameters.NAME} stands for an argument",
    ),
    key(
        "queue",
        Text,
        "The queue that calls wait in [default: default]",
    ),
    key(
        "streaming",
        STREAMING,
        "How to join an answer of JSON lines",
    ),
    key(
        "redirects",
        Word(|| names(&rest::REDIRECTS)),
        "Whether redirects within the origin are followed [default: none]",
    ),
    key(
        "privateAddresses",
        Bool,
        "Allow names that lead to private networks",
    ),
]);

const STREAMING: ValueShape = Object(&[
    key(
        "mode",
        Word(|| names(&rest::STREAM_MODES)),
        "Always json-stream",
    ),
    key("linePrefix", Text, "The prefix of each line"),
    key(
        "discriminatorField",
        Text,
        "The field that says what a line is [default: type]",
    ),
    key(
        "doneValue",
        Text,
        "Its value on the last line [default: done]",
    ),
    key(
        "answerField",
        Text,
        "The field with the whole answer [default: answer]",
    ),
    key(
        "tokenValue",
        Text,
        "Its value on a line with a part [default: token]",
    ),
    key(
        "tokenField",
        Text,
        "The field with the part [default: content]",
    ),
    key(
        "timeoutMs",
        Measured(Measure::Ms, 1),
        "Time limit, such as 90s; a number counts milliseconds",
    ),
    key(
        "maxBytes",
        Measured(Measure::Bytes, 1),
        "Maximum size of the answer, such as 64k",
    ),
]);

const OPENAPI_SPEC: ValueShape = Object(&[
    key(
        "spec",
        Text,
        "The file of the document, JSON or YAML, relative to this file",
    ),
    key(
        "baseUrl",
        Text,
        "Where requests go [default: what the document says]",
    ),
    key("headers", Map(&Text), "Headers to send"),
    key(
        "queue",
        Text,
        "The queue that calls wait in [default: default]",
    ),
    key(
        "includeMethods",
        AnyCaseList(rest_methods),
        "Only operations with these methods",
    ),
    key(
        "tagFilter",
        TextList,
        "Only operations with one of these tags",
    ),
    key(
        "redirects",
        Word(|| names(&rest::REDIRECTS)),
        "Whether redirects within the origin are followed [default: none]",
    ),
    key(
        "privateAddresses",
        Bool,
        "Allow names that lead to private networks",
    ),
]);

const QUEUE: ValueShape = Object(&[key(
    "concurrent",
    Count,
    "How many calls run at the same time",
)]);

const PRICING: ValueShape = Object(&[
    key(
        "unit",
        Word(|| names(&pricing::UNITS)),
        "The unit of the prices [default: per_1m]",
    ),
    key(
        "currency",
        Word(|| names(&pricing::CURRENCIES)),
        "Always USD",
    ),
    key("prompt", Price, "Input, in dollars"),
    key("completion", Price, "Output, in dollars"),
    key("cacheRead", Price, "Input from a cache, in dollars"),
    key("cacheWrite", Price, "Input written to a cache, in dollars"),
    key(
        "above",
        Object(&LONG_PRICING),
        "Prices of requests with more input than a number of tokens",
    ),
]);

/// What holds for requests with more input than so many tokens.
const LONG_PRICING: [ConfigKey; 5] = [
    key(
        "tokens",
        Measured(Measure::Tokens, 1),
        "The input above which these prices apply, such as 200k",
    ),
    key("prompt", Price, "Input, in dollars"),
    key("completion", Price, "Output, in dollars"),
    key("cacheRead", Price, "Input from a cache, in dollars"),
    key("cacheWrite", Price, "Input written to a cache, in dollars"),
];

/// Another spelling of a key.
#[derive(Debug)]
pub(super) struct Alias {
    /// The keys above it; `*` stands for any.
    pub(super) above: &'static [&'static str],
    pub(super) written: &'static str,
    pub(super) meant: &'static str,
}

const fn alias(
    above: &'static [&'static str],
    written: &'static str,
    meant: &'static str,
) -> Alias {
    Alias {
        above,
        written,
        meant,
    }
}

const OF_PROVIDER: &[&str] = &["providers", "*", "overrides"];
const OF_MODEL: &[&str] = &["providers", "*", "models", "*", "overrides"];

/// They are renamed before anything else is looked at.
pub(super) const ALIASES: &[Alias] = &[
    alias(OF_PROVIDER, "top_p", "topP"),
    alias(OF_PROVIDER, "top_k", "topK"),
    alias(OF_PROVIDER, "repeat_penalty", "repeatPenalty"),
    alias(OF_MODEL, "top_p", "topP"),
    alias(OF_MODEL, "top_k", "topK"),
    alias(OF_MODEL, "repeat_penalty", "repeatPenalty"),
    alias(&["mcpServers", "*"], "environment", "env"),
];

impl Alias {
    /// `path` is that of the object which holds the key.
    pub(super) fn stands_at(&self, path: &KeyPath) -> bool {
        let keys = path.keys();
        keys.len() == self.above.len()
            && keys
                .iter()
                .zip(self.above)
                .all(|(key, above)| *above == "*" || key == above)
    }
}
