//! What a stream must have given before anything can be sent: waited for, or why it does not come.

use tokio::sync::watch;

use super::fault::HttpFault;

pub(super) struct LinkStanding<T>(watch::Sender<StandingState<T>>);

/// It only goes forward: from awaited to here, and from either to gone.
enum StandingState<T> {
    Awaited,
    Here(T),
    Gone(HttpFault),
}

impl<T> Default for LinkStanding<T> {
    fn default() -> Self {
        Self(watch::channel(StandingState::Awaited).0)
    }
}

impl<T: Clone> LinkStanding<T> {
    /// The first that comes counts.
    pub(super) fn come(&self, what: T) {
        self.0.send_if_modified(|state| match state {
            StandingState::Awaited => {
                *state = StandingState::Here(what);
                true
            }
            StandingState::Here(_) | StandingState::Gone(_) => false,
        });
    }

    pub(super) fn go(&self, fault: HttpFault) {
        self.0.send_replace(StandingState::Gone(fault));
    }

    /// Waits for as long as the caller does.
    pub(super) async fn wait(&self) -> Result<T, HttpFault> {
        let mut watched = self.0.subscribe();
        let state = watched
            .wait_for(|state| !matches!(state, StandingState::Awaited))
            .await;
        match state.as_deref() {
            Ok(StandingState::Here(what)) => Ok(what.clone()),
            Ok(StandingState::Gone(fault)) => Err(fault.clone()),
            Ok(StandingState::Awaited) | Err(_) => Err(HttpFault::Closed),
        }
    }
}
