//! A running server of a workspace: the program in a process of its own.

use std::ops::Deref;

use bonded_testkit::clients::Clients;
use bonded_testkit::process::Process;
use bonded_testkit::provider::Provider;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Done, Place};

pub(crate) use bonded_testkit::client::Client;
pub(crate) use bonded_testkit::clients::code;

pub(crate) struct Server {
    pub(crate) place: Place,
    pub(crate) process: Process,
    clients: Clients,
    /// What it said before it listened.
    pub(crate) told: Vec<String>,
}

impl Deref for Server {
    type Target = Clients;

    fn deref(&self) -> &Clients {
        &self.clients
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_in(Place::new())
    }

    /// Serves the directory `data` of a place.
    pub(crate) fn start_in(place: Place) -> Self {
        let (process, address) = Process::serve(&mut place.serve_data());
        Self {
            clients: Clients::of(&place, address),
            told: process.told_first(),
            place,
            process,
        }
    }

    /// A server with this in its configuration.
    pub(crate) fn with_config(config: &Value) -> Self {
        Self::start_in(Place::with_config(config))
    }

    /// A server whose rules may ask these models.
    pub(crate) fn asking(models: &[&Provider]) -> Self {
        let listed = models
            .iter()
            .map(|it| format!("lmstudio={}", it.base_url()));
        let listed: Vec<String> = listed.collect();
        Self::with_config(&json!({ "automation": { "allowed_providers": listed } }))
    }

    /// Ends the server as a person would, and gives its place for another one.
    pub(crate) fn stop(self) -> (Place, Done) {
        let done = self.process.end(Signal::TERM);
        (self.place, done)
    }

    /// Ends the server by a signal, and gives its place and all that it printed.
    pub(crate) fn end(self, signal: Signal) -> (Place, String) {
        let done = self.process.end(signal);
        (self.place, done.stdout + &done.stderr)
    }

    /// Kills the server, and gives its place for another one.
    pub(crate) fn crash(self) -> Place {
        self.process.end(Signal::KILL);
        self.place
    }
}
