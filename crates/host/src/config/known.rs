//! The keys that a configuration file may have.
//!
//! One table for all: the check of types, the guess at what was meant by a slip, and the word about
//! keys that have no effect here all read it. A key that is not in it is told as unknown and does
//! nothing.

use bonded_kernel::Measure;

use super::KeyPath;
use super::shape::ValueShape::{
    self, Any, AnyObject, Bool, Count, Defaults, Map, Measured, Number, Object, Price, Reasoning,
    Text, TextList, TextOrList, Unsupported,
};

/// Keys that files of other programs have: they are told of, and are no mistake.
const NO_EFFECT: ValueShape = Unsupported("this has no effect here");

/// The whole file.
pub(super) const ROOT: ValueShape = Object(&[
    ("providers", Map(&PROVIDER)),
    ("mcpServers", Map(&MCP_SERVER)),
    ("restTools", Map(&REST_TOOL)),
    ("openapiSpecs", Map(&OPENAPI_SPEC)),
    ("queues", Map(&QUEUE)),
    ("defaults", Defaults),
    ("pricing", Map(&Map(&PRICING))),
    ("accounting", Object(&[("file", Text)])),
    (
        "persistence",
        Object(&[("sessionsDir", Text), ("billingFile", Text)]),
    ),
    ("tooling", Object(&[("transport", Text)])),
    ("telemetry", Unsupported("telemetry is not supported")),
    ("slack", Unsupported("Slack is not supported")),
    ("api", Unsupported("servers are not configured here")),
    ("cache", Unsupported("a cache of replies is not supported")),
    ("embed", Unsupported("servers are not configured here")),
]);

const PROVIDER: ValueShape = Object(&[
    ("type", Text),
    ("apiKey", Text),
    ("baseUrl", Text),
    ("headers", Map(&Text)),
    ("custom", AnyObject),
    ("openaiMode", Text),
    ("models", Map(&MODEL)),
    ("overrides", OVERRIDES),
    ("reasoning", Reasoning),
    ("toolChoice", Text),
    ("contextWindow", Measured(Measure::Tokens, 1)),
    ("tokenizer", Text),
    ("contextWindowBufferTokens", Measured(Measure::Tokens, 0)),
    ("parallelToolCalls", Bool),
    ("promptCacheKey", Text),
    ("serviceTier", Text),
    ("accepts", ACCEPTS),
    ("apiVersion", Text),
    ("mergeStrategy", NO_EFFECT),
    ("toolsAllowed", NO_EFFECT),
    ("toolsDenied", NO_EFFECT),
    ("stringSchemaFormatsAllowed", NO_EFFECT),
    ("stringSchemaFormatsDenied", NO_EFFECT),
    ("reasoningAutoStreamLevel", NO_EFFECT),
]);

const MODEL: ValueShape = Object(&[
    ("overrides", OVERRIDES),
    ("reasoning", Reasoning),
    ("toolChoice", Text),
    ("contextWindow", Measured(Measure::Tokens, 1)),
    ("tokenizer", Text),
    ("contextWindowBufferTokens", Measured(Measure::Tokens, 0)),
    ("parallelToolCalls", Bool),
    ("promptCacheKey", Text),
    ("serviceTier", Text),
    ("accepts", ACCEPTS),
]);

/// What a model accepts, where that is not what is known of it.
const ACCEPTS: ValueShape = Object(&[
    ("like", Text),
    ("temperatureMax", Number),
    ("temperature", Bool),
    ("topP", Bool),
    ("topK", Bool),
    ("temperatureWithTopP", Bool),
    ("penalty", Text),
    ("outputLimit", Text),
    ("thinking", Text),
    ("efforts", TextList),
    ("toolChoiceRequired", Bool),
    ("systemRole", Text),
    ("alternates", Bool),
    ("userAfterTool", Bool),
    ("thoughtReturn", Text),
    ("signedThoughts", Text),
    ("callsNeedTools", Bool),
    ("callIds", Text),
    ("streamUsage", Bool),
    ("parallelToolCalls", Bool),
    ("promptCacheKey", Bool),
    ("serviceTier", Bool),
]);

const OVERRIDES: ValueShape = Object(&[
    ("temperature", Number),
    ("topP", Number),
    ("topK", Count),
    ("repeatPenalty", Number),
]);

const MCP_SERVER: ValueShape = Object(&[
    ("type", Text),
    ("command", TextOrList),
    ("args", TextList),
    ("env", Map(&Text)),
    ("secretEnv", Map(&Text)),
    ("url", Text),
    ("headers", Map(&Text)),
    ("secretHeaders", Map(&Text)),
    ("enabled", Bool),
    ("toolsAllowed", TextList),
    ("toolsDenied", TextList),
    ("queue", Text),
    ("shared", Bool),
    ("healthProbe", Text),
    ("requestTimeoutMs", Measured(Measure::Ms, 1)),
    ("required", Bool),
    ("cwd", Text),
    ("sandbox", Text),
    ("sandboxNetwork", Bool),
    ("oauth", OAUTH),
]);

const OAUTH: ValueShape = Object(&[
    ("grant", Text),
    ("clientId", Text),
    ("clientSecret", Text),
    ("privateKey", Text),
    ("scopes", TextOrList),
    ("issuer", Text),
    ("redirectPort", Count),
    ("privateAddresses", Bool),
    ("identityProvider", IDENTITY_PROVIDER),
]);

const IDENTITY_PROVIDER: ValueShape = Object(&[
    ("issuer", Text),
    ("tokenEndpoint", Text),
    ("clientId", Text),
    ("clientSecret", Text),
    ("token", Text),
    ("tokenFile", Text),
    ("tokenType", Text),
]);

const REST_TOOL: ValueShape = Object(&[
    ("description", Text),
    ("method", Text),
    ("url", Text),
    ("headers", Map(&Text)),
    ("parametersSchema", AnyObject),
    ("bodyTemplate", Any),
    ("queue", Text),
    ("streaming", STREAMING),
    ("redirects", Text),
    ("privateAddresses", Bool),
]);

const STREAMING: ValueShape = Object(&[
    ("mode", Text),
    ("linePrefix", Text),
    ("discriminatorField", Text),
    ("doneValue", Text),
    ("answerField", Text),
    ("tokenValue", Text),
    ("tokenField", Text),
    ("timeoutMs", Measured(Measure::Ms, 1)),
    ("maxBytes", Measured(Measure::Bytes, 1)),
]);

const OPENAPI_SPEC: ValueShape = Object(&[
    ("spec", Text),
    ("baseUrl", Text),
    ("headers", Map(&Text)),
    ("queue", Text),
    ("includeMethods", TextList),
    ("tagFilter", TextList),
    ("redirects", Text),
    ("privateAddresses", Bool),
]);

const QUEUE: ValueShape = Object(&[("concurrent", Count)]);

const PRICING: ValueShape = Object(&[
    ("unit", Text),
    ("currency", Text),
    ("prompt", Price),
    ("completion", Price),
    ("cacheRead", Price),
    ("cacheWrite", Price),
    ("above", Object(&LONG_PRICING)),
]);

/// What holds for requests with more input than so many tokens.
const LONG_PRICING: [(&str, ValueShape); 5] = [
    ("tokens", Measured(Measure::Tokens, 1)),
    ("prompt", Price),
    ("completion", Price),
    ("cacheRead", Price),
    ("cacheWrite", Price),
];

/// Another spelling of a key.
#[derive(Debug)]
pub(super) struct Alias {
    /// The keys above it; `*` stands for any.
    above: &'static [&'static str],
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
