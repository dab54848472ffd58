//! The embedding model of a server: who is asked what texts mean, and which answers are taken.
//!
//! Vectors are only comparable within one model and one length, so both are part of the name that vectors are kept
//! under, and an answer of another length is refused rather than kept.

use bonded_kernel::{Failure, FailureClass, Target};
use bonded_transport::{BODY_BYTES_MAX, Credentials, Embeddings};

use super::config::SearchSection;
use super::embedding_providers::{NO_PROVIDER, embedding_providers, provider_kinds};
use bonded_host::config::Environment;
use bonded_host::provider::{ProviderError, account_headers, checked_url};

/// Whoever searches waits for the provider only this long.
pub const QUERY_TIMEOUT_MS: u64 = 2_000;

/// Nobody waits for the index.
const BATCH_TIMEOUT_MS: u64 = 60_000;

/// No number of a vector is written longer, and an answer that is cut off is none.
const NUMBER_BYTES_MAX: usize = 32;

/// Why there can be no embedding model as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEmbedder {
    /// The configuration names a kind that has no embeddings.
    #[error("search.embedding_provider: must be one of {known}, not {kind:?}")]
    UnknownKind { kind: String, known: String },
    /// The address cannot be used.
    #[error("search.embedding_base_url: {source}")]
    BadPlace { source: ProviderError },
}

/// Asks one embedding model. A failed request is not sent again from here.
#[derive(Debug)]
pub struct Embedder {
    target: Target,
    environment: Environment,
    embeddings: Embeddings,
    dimensions: usize,
    batch_size: usize,
}

impl Embedder {
    /// The model that the configuration names; `None` where it wants none. Keys come from the environment.
    pub fn new(
        search: &SearchSection,
        environment: &Environment,
    ) -> Result<Option<Self>, BadEmbedder> {
        if !search.semantic_enabled || search.embedding_provider == NO_PROVIDER {
            return Ok(None);
        }
        let kind = &search.embedding_provider;
        let known = embedding_providers().find(|known| known.name == kind);
        let known = known.ok_or_else(|| BadEmbedder::UnknownKind {
            kind: kind.clone(),
            known: provider_kinds().join(", "),
        })?;
        let endpoint = match search.embedding_base_url.as_str() {
            "" => known.endpoint_by(|name| environment.get(name).map(str::to_owned)),
            url => url.to_owned(),
        };
        let endpoint = checked_url(&endpoint).map_err(|source| BadEmbedder::BadPlace { source })?;
        let dimensions = search.vector_dimensions as usize;
        let fitting = BODY_BYTES_MAX / dimensions.saturating_mul(NUMBER_BYTES_MAX).max(1);
        let target = Target::new(kind.as_str(), endpoint, search.embedding_model.as_str());
        Ok(Some(Self {
            target: Target {
                key_env: known.key_env.map(str::to_owned),
                ..target
            },
            environment: environment.clone(),
            embeddings: Embeddings::default(),
            dimensions,
            batch_size: (search.reindex_batch_size as usize).min(fitting).max(1),
        }))
    }

    /// What the vectors are kept under: those of another model, or of another length, cannot be compared with them.
    pub fn space(&self) -> String {
        format!("{} {}", self.target.model, self.dimensions)
    }

    /// The kind of the provider.
    pub fn provider(&self) -> &str {
        &self.target.provider
    }

    /// As configured, or fewer where an answer for so many would be longer than is read.
    pub(super) fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// What a query means, soon or not at all.
    pub async fn embed_query(&self, query: &str) -> Result<Vec<f32>, Failure> {
        let vectors = self.embed(&[query.to_owned()], QUERY_TIMEOUT_MS).await?;
        let nothing = || Failure::new(FailureClass::Malformed, "no embedding was returned");
        vectors.into_iter().next().ok_or_else(nothing)
    }

    /// What each of these texts means.
    pub(super) async fn embed_batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        self.embed(texts, BATCH_TIMEOUT_MS).await
    }

    /// Headers and key are made for each request from the environment; none of them is kept.
    async fn embed(&self, texts: &[String], timeout_ms: u64) -> Result<Vec<Vec<f32>>, Failure> {
        let target = Target {
            timeout_ms,
            ..self.target.clone()
        };
        let variable = |name: &str| self.environment.get(name).map(str::to_owned);
        let headers = account_headers(&target, variable);
        let credentials = Credentials {
            headers,
            ..Credentials::from_variable(&target, variable)
        };
        let vectors = self.embeddings.send(&target, credentials, texts).await?;
        match vectors.iter().find(|it| it.len() != self.dimensions) {
            Some(other) => Err(self.other_length(other.len())),
            None => Ok(vectors),
        }
    }

    /// The message says which number to write into the configuration.
    fn other_length(&self, numbers: usize) -> Failure {
        let (provider, expected) = (self.provider(), self.dimensions);
        let message = format!(
            "{provider}: its embeddings have {numbers} numbers, and search.vector_dimensions in config.json says \
             {expected}; set it to {numbers} and start again, or name another model"
        );
        Failure::new(FailureClass::Malformed, message)
    }
}
