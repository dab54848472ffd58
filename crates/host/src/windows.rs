//! The windows of a run's targets, as the servers themselves say: asked once, before the run begins, and kept in its log.
//!
//! A server that does not answer leaves things as they are. What is learnt is frozen with the target,
//! so that a run that is taken up again guards the same window.

use bonded_kernel::{RunConfig, Target, WindowSource};
use bonded_transport::{ROUTER, Transport, models, tells_window};
use futures_util::future::join_all;

/// Whether a server's word would count: nobody who knows better has said how large the window is.
pub fn may_be_asked(target: &Target) -> bool {
    let is_open = match target.window_source {
        None => target.window.is_none(),
        Some(WindowSource::Assumed) => true,
        // A family's window is the least that one of it has; a router knows which one it is.
        Some(WindowSource::Table) => {
            models::Service::at(&target.endpoint).is_some_and(|it| it.name == ROUTER)
        }
        Some(WindowSource::Configured | WindowSource::Asked | WindowSource::Learned) => false,
    };
    is_open && tells_window(target)
}

/// What the servers say, by target. A server that has one is asked once for each of its models.
pub(crate) async fn ask(transport: &dyn Transport, config: &RunConfig) -> Vec<Option<u64>> {
    let targets = config.targets.iter();
    let asked = targets.map(|target| async {
        match may_be_asked(target) {
            true => transport.window(target).await,
            false => None,
        }
    });
    join_all(asked).await
}

/// Takes a server's word for a window.
pub fn take(target: &mut Target, tokens: Option<u64>) {
    if let Some(tokens) = tokens {
        target.window = Some(target.window_of(tokens));
        target.window_source = Some(WindowSource::Asked);
    }
}
