//! What a person may want to know while servers are used.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A server that reports its progress without a pause must not flood whoever watches.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);

/// Something about a server that is no result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpNews<'a> {
    /// Something that a person should look after.
    Warning(&'a str),
    /// A server is being started, or waited for.
    Starting {
        /// By its name in the configuration.
        server: &'a str,
    },
    /// The start of a server is over, however it ended.
    Started {
        /// By its name in the configuration.
        server: &'a str,
    },
    /// How far a call has come, in the server's own words. It prolongs nothing.
    Progress {
        /// By its name in the configuration.
        server: &'a str,
        /// As the server wrote it: it may hold anything.
        text: &'a str,
    },
}

/// Told the news of all servers. No event of `tracing`: whether progress is shown is an option of the surface, and a warning
/// is shown at whatever level the surface logs.
pub type OnNews = Arc<dyn Fn(McpNews<'_>) + Send + Sync>;

/// One server's way to whoever listens.
pub(super) struct Voice {
    server: String,
    tell: Option<OnNews>,
    progress_at: Mutex<Option<Instant>>,
}

impl Voice {
    pub(super) fn new(server: &str, tell: Option<OnNews>) -> Self {
        Self {
            server: server.into(),
            tell,
            progress_at: Mutex::default(),
        }
    }

    pub(super) fn warn(&self, warning: &str) {
        if let Some(tell) = &self.tell {
            tell(McpNews::Warning(warning));
        }
    }

    pub(super) fn progress(&self, text: &str) {
        let Some(tell) = &self.tell else { return };
        let now = Instant::now();
        {
            let last = self.progress_at.lock();
            let mut last = last.unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|last| now.duration_since(last) < PROGRESS_PAUSE) {
                return;
            }
            *last = Some(now);
        }
        let server = &self.server;
        tell(McpNews::Progress { server, text });
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Voice").field(&self.server).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn progress_is_told_ten_times_a_second_at_most_and_warnings_always() {
        let heard = Arc::new(Mutex::new(vec![]));
        let ear = Arc::clone(&heard);
        let tell: OnNews = Arc::new(move |news| {
            let mut heard = ear.lock().expect("nobody panics");
            heard.push(format!("{news:?}"));
        });
        let voice = Voice::new("s", Some(tell));
        for _ in 0..100 {
            voice.progress("step");
            voice.warn("odd");
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        let heard = heard.lock().expect("nobody panics");
        let count = |word: &str| heard.iter().filter(|news| news.contains(word)).count();
        assert_eq!((count("step"), count("odd")), (10, 100));
    }
}
