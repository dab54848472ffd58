//! What a client is told while it waits for a run.
//!
//! It follows the log of the run, as streams do, so that a client that comes late is told the same.

use crate::agents::{AgentServer, Client, Ended, Follower};
use bonded_mcp::RequestClient;

/// Tells what the log of a run says, if the client wants to know.
#[derive(Debug)]
pub(super) struct ProgressSender<'a> {
    peer: &'a RequestClient,
    follower: Option<Follower>,
    sent: u64,
}

impl<'a> ProgressSender<'a> {
    /// Nothing is followed for a client that did not ask for progress.
    pub(super) fn new(server: &AgentServer, client: &Client, peer: &'a RequestClient) -> Self {
        let follow = || Follower::new(server.runs.store(), client.run.clone(), 0);
        Self {
            peer,
            follower: peer.wants_progress().then(follow),
            sent: 0,
        }
    }

    /// Waits for the end of the run, and tells what happens on the way.
    pub(super) async fn wait(&mut self, client: &mut Client) -> Ended {
        loop {
            let lines = async {
                match &mut self.follower {
                    Some(follower) => follower.next().await,
                    None => std::future::pending().await,
                }
            };
            let ended = tokio::select! {
                biased;
                lines = lines => {
                    match lines {
                        Ok(lines) => self.tell(&lines).await,
                        // The answer matters more than the progress towards it.
                        Err(_) => self.follower = None,
                    }
                    continue;
                }
                ended = client.ended() => ended,
            };
            if let Some(follower) = &mut self.follower
                && let Ok(lines) = follower.catch_up().await
            {
                self.tell(&lines).await;
            }
            return ended;
        }
    }

    /// Numbers only grow, as the protocol wants it.
    async fn tell(&mut self, lines: &[String]) {
        for line in lines {
            self.sent += 1;
            self.peer.progress(self.sent, None, line).await;
        }
    }
}
