//! What a stream must have given before anything can be sent: waited for, or why it does not come.

use tokio::sync::watch;

use super::fault::HttpFault;

pub(super) struct Standing<T>(watch::Sender<State<T>>);

enum State<T> {
    Awaited,
    Here(T),
    Gone(HttpFault),
}

impl<T> Default for Standing<T> {
    fn default() -> Self {
        Self(watch::channel(State::Awaited).0)
    }
}

impl<T: Clone> Standing<T> {
    /// The first that comes counts.
    pub(super) fn come(&self, what: T) {
        self.0.send_if_modified(|state| match state {
            State::Awaited => {
                *state = State::Here(what);
                true
            }
            State::Here(_) | State::Gone(_) => false,
        });
    }

    pub(super) fn go(&self, fault: HttpFault) {
        self.0.send_replace(State::Gone(fault));
    }

    /// Waits for as long as the caller does.
    pub(super) async fn wait(&self) -> Result<T, HttpFault> {
        let mut watched = self.0.subscribe();
        let state = watched
            .wait_for(|state| !matches!(state, State::Awaited))
            .await;
        match state.as_deref() {
            Ok(State::Here(what)) => Ok(what.clone()),
            Ok(State::Gone(fault)) => Err(fault.clone()),
            Ok(State::Awaited) | Err(_) => Err(HttpFault::Closed),
        }
    }
}
