//! Whether the provider that the configuration names could be asked now.
//!
//! A look costs at most a few seconds and nothing else: no model is asked. Who wants to know at once is told what the
//! last look came to; where that is old, another one begins meanwhile, one at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::{Failure, FailureClass, Millis, Target};
use bonded_transport::{Credentials, check_health};

use super::config::WorkspaceConfig;
use super::operator::OperatorSink;
use super::target::target_of;
use bonded_host::Clock;
use bonded_host::config::{Environment, Whose};
use bonded_host::provider::{ProviderError, account_headers};

/// So long a look holds: a provider that is well is left alone for longer.
const WELL_MS: u64 = 30_000;
/// A provider that is not well is looked at again soon, so that a page shows when it is back.
const UNWELL_MS: u64 = 5_000;

/// So many models are named to a person.
const NAMED_MAX: usize = 5;

/// What a look came to.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderState {
    /// It answers, takes the key, and has the model.
    Well,
    /// It answers and does not list the model. `listed` names what it has, for a person.
    WithoutModel { listed: String },
    /// It cannot be asked.
    Away { failure: Failure },
}

impl ProviderState {
    /// The stable word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::WithoutModel { .. } => "model_not_listed",
            Self::Away { .. } => "unavailable",
        }
    }
}

/// A state, and when it was so.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderLook {
    /// When the look ended.
    pub at: Millis,
    /// What it came to.
    pub state: ProviderState,
}

/// The provider of a workspace's agent.
pub struct ProviderHealth {
    target: Target,
    environment: Environment,
    clock: Arc<dyn Clock>,
    tell: OperatorSink,
    seen: Mutex<LookRecord>,
}

/// The flag keeps looks to one at a time.
#[derive(Default)]
struct LookRecord {
    last: Option<ProviderLook>,
    is_looking: bool,
}

impl std::fmt::Debug for ProviderHealth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderHealth").finish_non_exhaustive()
    }
}

impl ProviderHealth {
    /// The provider that the configuration names. Its key comes from the environment. Whoever runs the server is told
    /// when it is not well, and when it is again.
    pub fn new(
        config: &WorkspaceConfig,
        environment: Environment,
        clock: Arc<dyn Clock>,
        tell: OperatorSink,
    ) -> Result<Self, ProviderError> {
        let whose = |_: &str, _: &str| Whose::Persons;
        let variable = |name: &str| environment.get(name).map(str::to_owned);
        let choice = config.loop_defaults().provider;
        let target = target_of(&choice, |name| name.into(), whose, variable)?;
        Ok(Self {
            target,
            environment,
            clock,
            tell,
            seen: Mutex::default(),
        })
    }

    /// The kind of the provider.
    pub fn kind(&self) -> &str {
        &self.target.provider
    }

    /// Where it is, and what it is to be asked for.
    pub fn place(&self) -> String {
        let Target {
            provider,
            endpoint,
            model,
            ..
        } = &self.target;
        format!("{provider} at {endpoint}, model {model}")
    }

    /// Asks the provider.
    pub async fn look(&self) -> ProviderState {
        let variable = |name: &str| self.environment.get(name).map(str::to_owned);
        let headers = account_headers(&self.target, variable);
        let credentials = Credentials {
            headers,
            ..Credentials::from_variable(&self.target, variable)
        };
        match check_health(&self.target, credentials).await {
            Ok(health) if health.has_model => ProviderState::Well,
            Ok(health) => ProviderState::WithoutModel {
                listed: named(&health.models),
            },
            Err(failure) => ProviderState::Away { failure },
        }
    }

    /// What the last look came to; `None` before the first has ended. Never waits. Where the last look is old, or there
    /// was none, another one begins.
    pub fn last(self: &Arc<Self>) -> Option<ProviderLook> {
        let now = self.clock.now();
        let mut seen = self.seen();
        let is_fresh = seen.last.as_ref().is_some_and(|look| look.holds_at(now));
        if !is_fresh && !seen.is_looking {
            seen.is_looking = true;
            let health = self.clone();
            tokio::spawn(async move {
                let state = health.look().await;
                health.note(state);
            });
        }
        seen.last.clone()
    }

    /// Keeps a look, and tells what has changed.
    fn note(&self, state: ProviderState) {
        let message = {
            let mut seen = self.seen();
            let before = seen.last.take().map(|look| look.state);
            let message = self.change_message(before.as_ref(), &state);
            seen.last = Some(ProviderLook {
                at: self.clock.now(),
                state,
            });
            seen.is_looking = false;
            message
        };
        if let Some(message) = message {
            (self.tell)(&message);
        }
    }

    /// What whoever runs the server is told of a change.
    fn change_message(
        &self,
        before: Option<&ProviderState>,
        now: &ProviderState,
    ) -> Option<String> {
        let was_well = before.is_none_or(|before| *before == ProviderState::Well);
        match (was_well, self.trouble(now)) {
            (true, Some((what, how))) => Some(format!("{what}; {how}")),
            (false, None) => Some(format!("{} is available again", self.place())),
            _ => None,
        }
    }

    /// What is wrong and what to do, for a person; `None` where nothing is.
    pub fn trouble(&self, state: &ProviderState) -> Option<(String, String)> {
        match state {
            ProviderState::Well => None,
            ProviderState::WithoutModel { listed } => {
                let what = format!(
                    "{}: it does not list the model, only {listed}",
                    self.place()
                );
                let how = "load the model, or name another one as automation.model in config.json";
                Some((what, how.into()))
            }
            ProviderState::Away { failure } => {
                let by = format!("{}: ", self.kind());
                let reason = failure.message.strip_prefix(&by);
                let reason = reason.unwrap_or(&failure.message);
                let what = format!("{}: {reason}", self.place());
                Some((what, self.advice(failure)))
            }
        }
    }

    /// What to do, by the class of the failure.
    fn advice(&self, failure: &Failure) -> String {
        let key = self.target.key_env.as_deref();
        let elsewhere = "start its server, or correct automation.base_url in config.json";
        match failure.class {
            FailureClass::Auth => key.map_or(elsewhere.into(), |key| {
                format!("set {key} in the environment, or in .env in the data directory")
            }),
            FailureClass::Quota => "add credits, or choose another provider".into(),
            FailureClass::RateLimit => "it is tried again".into(),
            FailureClass::Malformed | FailureClass::Model => {
                "automation.base_url in config.json must be the base of its API, which usually ends in /v1".into()
            }
            FailureClass::Network
            | FailureClass::Timeout
            | FailureClass::Overflow
            | FailureClass::Interrupted => elsewhere.into(),
        }
    }

    /// A panic while the lock was held leaves a record that is as good as any.
    fn seen(&self) -> MutexGuard<'_, LookRecord> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProviderLook {
    /// Whether it is recent enough to need no other.
    fn holds_at(&self, now: Millis) -> bool {
        let holds_ms = match self.state {
            ProviderState::Well => WELL_MS,
            ProviderState::WithoutModel { .. } | ProviderState::Away { .. } => UNWELL_MS,
        };
        // A clock that was set back makes a look old.
        self.at <= now && now < self.at.plus(holds_ms)
    }
}

/// The first few models, and how many more there are.
fn named(models: &[String]) -> String {
    let shown = models.iter().take(NAMED_MAX).cloned();
    let shown: Vec<String> = shown.collect();
    match models.len().saturating_sub(NAMED_MAX) {
        _ if shown.is_empty() => "none at all".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
