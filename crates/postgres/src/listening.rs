//! Listening to what other processes tell, on a connection of its own.
//!
//! A connection on which nothing arrives looks like one on which nothing is told. So a token is told as everything else is,
//! by another connection, and only while it comes back are looks made rarely. Through a pooler nothing comes back.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::connection;
use crate::run_news::CHANNEL;
use crate::server::Server;

/// How often to see whether there is something to listen for.
const IDLE: Duration = Duration::from_millis(100);

/// How long not to try again where nothing is heard.
const AGAIN: Duration = Duration::from_secs(5);

/// How long a token may take.
const ECHO_MAX: Duration = Duration::from_secs(2);

/// How often one is sent.
const ECHO_AGAIN: Duration = Duration::from_secs(15);

/// What is told is gathered for so long, so that it costs little however much there is.
const GATHERING: Duration = Duration::from_millis(10);

/// How long a process that ends waits to tell what it has to.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What tells need not be durable: who does not hear it looks.
const TELL: &str =
    "SELECT pg_notify($1, $2) FROM (SELECT set_config('synchronous_commit', 'off', true)) AS quick";

impl Server {
    /// Tells what there is to tell, for as long as there is a store.
    pub(crate) async fn tell_news(self: Arc<Self>) {
        loop {
            self.news.untold.notified().await;
            self.tell_all().await;
            sleep(GATHERING).await;
        }
    }

    /// Tells what is left before the process ends: who approves a call ends with it.
    pub(crate) async fn tell_last(&self) {
        // Who is not told looks.
        let _told = timeout(LAST_WORDS, self.tell_all()).await;
    }

    async fn tell_all(&self) {
        let _telling = self.news.telling.lock().await;
        for message in self.news.take_messages() {
            let Ok(connection) = self.connection().await else {
                return;
            };
            // A standby tells nothing.
            let _told = self.rows(connection, TELL, &[&CHANNEL, &message]).await;
        }
    }

    /// Listens while this process follows runs, drives them or takes them from queues.
    pub(crate) async fn listen(self: Arc<Self>) {
        loop {
            sleep(IDLE).await;
            let is_wanted =
                !self.watchers.is_empty() || self.offer.get().is_some() || !self.held.is_empty();
            if !is_wanted || self.address.pooling.is_found() {
                continue;
            }
            self.listen_once().await;
            self.news.end_hearing();
            // Who waits for news looks.
            self.news.moved.notify_one();
            self.news.queued.notify_one();
            sleep(AGAIN).await;
        }
    }

    /// Until nothing is heard any more.
    async fn listen_once(&self) {
        let (sender, mut heard) = mpsc::unbounded_channel();
        let Some(client) = connection::listening(&self.address, sender).await else {
            return;
        };
        let listen = format!("LISTEN {CHANNEL}");
        if client.batch_execute(&listen).await.is_err() {
            return;
        }
        let mut next = Instant::now();
        let mut token = None;
        loop {
            tokio::select! {
                message = heard.recv() => {
                    let Some(message) = message else {
                        return;
                    };
                    let echo = self.news.hear(&message, |run| self.watchers.is_watched(run));
                    if echo.is_some() && echo == token {
                        self.news.begin_hearing();
                        token = None;
                        next = Instant::now() + ECHO_AGAIN;
                    }
                }
                () = sleep_until(next) => {
                    if token.is_some() {
                        return;
                    }
                    let sent = RandomState::new().hash_one(());
                    token = Some(sent);
                    self.news.tell_echo(sent);
                    next = Instant::now() + ECHO_MAX;
                }
            }
        }
    }
}
