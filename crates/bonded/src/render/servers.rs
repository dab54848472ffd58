//! The servers that a run waits for before it begins, by name.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_host::agent::ServerStart;

/// Names that are shown; the rest is counted.
const SHOWN_MAX: usize = 3;

/// Those of this process: they are shared by its runs.
static SERVERS: Mutex<Servers> = Mutex::new(Servers {
    waiting: vec![],
    ready: 0,
});

#[derive(Debug, Default)]
struct Servers {
    /// In the order in which they were begun.
    waiting: Vec<String>,
    ready: usize,
}

fn servers() -> MutexGuard<'static, Servers> {
    // A panic elsewhere leaves names that can still be shown.
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a start, or the end of one.
pub(crate) fn note(start: ServerStart<'_>) {
    servers().note(start);
}

/// Whom the run waits for; `None` where it does not wait.
pub(crate) fn waiting() -> Option<String> {
    servers().text()
}

impl Servers {
    fn note(&mut self, start: ServerStart<'_>) {
        match start {
            ServerStart::Begun(name) => self.waiting.push(name.to_owned()),
            ServerStart::Over(name) => {
                if let Some(at) = self.waiting.iter().position(|it| it == name) {
                    self.waiting.remove(at);
                    self.ready += 1;
                }
            }
        }
        if self.waiting.is_empty() {
            self.ready = 0;
        }
    }

    fn text(&self) -> Option<String> {
        let all = self.waiting.len() + self.ready;
        let shown: Vec<&str> = self
            .waiting
            .iter()
            .take(SHOWN_MAX)
            .map(String::as_str)
            .collect();
        let more = match self.waiting.len().saturating_sub(SHOWN_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = shown.join(", ");
        match (self.waiting.len(), all) {
            (0, _) => None,
            (1, 1) => Some(format!("starting server {names}")),
            _ => Some(format!(
                "starting servers: {} of {all} ready, waiting for {names}{more}",
                self.ready
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_while_they_are_waited_for() {
        let mut servers = Servers::default();
        let names = ["wiki", "fs", "github", "mail", "web"];
        servers.note(ServerStart::Begun("wiki"));
        assert_eq!(servers.text().as_deref(), Some("starting server wiki"));
        names[1..]
            .iter()
            .for_each(|name| servers.note(ServerStart::Begun(name)));
        servers.note(ServerStart::Over("fs"));
        assert_eq!(
            servers.text().as_deref(),
            Some("starting servers: 1 of 5 ready, waiting for wiki, github, mail and 1 more")
        );
        names
            .iter()
            .for_each(|name| servers.note(ServerStart::Over(name)));
        assert_eq!(servers.text(), None);
    }
}
