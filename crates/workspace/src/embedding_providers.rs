//! Which providers have embeddings.
//!
//! It is a module of its own because the configuration checks the same list that the embedder picks from.

use bonded_host::provider::{KNOWN_PROVIDERS, KnownProvider};
use bonded_transport::dialect;

/// The kind of provider that is none.
pub(super) const NO_PROVIDER: &str = "null";

/// The kinds of providers that a configuration may name.
pub(super) fn provider_kinds() -> Vec<&'static str> {
    let kinds = embedding_providers().map(|known| known.name);
    kinds.chain([NO_PROVIDER]).collect()
}

/// Services that speak OpenAI's language and have no embeddings.
const WITHOUT: [&str; 3] = ["deepseek", "xai", "groq"];

/// Whoever speaks OpenAI's language has embeddings at the same place under the endpoint.
pub(super) fn embedding_providers() -> impl Iterator<Item = &'static KnownProvider> {
    let known = KNOWN_PROVIDERS.iter();
    known.filter(|known| dialect::is_openai(known.dialect) && !WITHOUT.contains(&known.name))
}
