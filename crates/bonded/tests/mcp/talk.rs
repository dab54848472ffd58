//! A client that has started `bonded mcp` and talks with it line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use bonded_testkit::patience::PATIENCE;
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, parse};

pub(crate) struct Talk {
    pub(crate) place: Place,
    process: Process,
    stdin: Option<ChildStdin>,
    messages: Receiver<String>,
    /// Everything that was told, besides replies.
    pub(crate) told: Vec<Value>,
}

/// The greeting of a client.
pub(crate) fn hello(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A call of an agent that is asked why.
pub(crate) fn question(agent: &str) -> Value {
    json!({ "name": agent, "arguments": { "prompt": "why?" } })
}

impl Talk {
    /// Starts agents, each with a script, and says hello.
    pub(crate) fn start(agents: &[(&str, Vec<Value>)]) -> Self {
        let place = Place::new();
        for (name, lines) in agents {
            place.agent(name, lines, "description: An agent of the tests.");
        }
        let names: Vec<&str> = agents.iter().map(|(name, _)| *name).collect();
        Self::start_in(place, &names, &[]).greeted()
    }

    pub(crate) fn start_in(place: Place, names: &[&str], flags: &[&str]) -> Self {
        let mut words = vec!["mcp".to_owned()];
        for name in names {
            words.push("--agent".into());
            words.push(place.path(&format!("{name}.ai")).display().to_string());
        }
        let usual = ["--tooling-transport", "native"];
        words.extend(usual.iter().chain(flags).map(|word| (*word).to_owned()));
        let process = Process::begin(place.command(&words).stdin(Stdio::piped()));
        let stdout = process.stdout();
        let (sender, messages) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // The test may have heard enough.
                let _unheard = sender.send(line);
            }
        });
        Self {
            place,
            stdin: Some(process.stdin()),
            process,
            messages,
            told: vec![],
        }
    }

    pub(crate) fn greeted(mut self) -> Self {
        let reply = self.ask(0, "initialize", &hello("2025-11-25"));
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25", "{reply}");
        self.send_line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the stream is open");
        let sent = stdin.write_all(bytes).and_then(|()| stdin.flush());
        sent.expect("the program reads");
    }

    pub(crate) fn send_line(&mut self, message: &Value) {
        self.send(format!("{message}\n").as_bytes());
    }

    pub(crate) fn next(&mut self) -> Value {
        let line = self.messages.recv_timeout(PATIENCE);
        parse(&line.expect("the program says something"))
    }

    /// The reply to a request; what is told before it is kept.
    pub(crate) fn reply(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }

    pub(crate) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send_line(&request(id, method, params));
        self.reply(id)
    }

    /// Asks an agent why, and gives the result.
    pub(crate) fn call(&mut self, id: u64, agent: &str) -> Value {
        self.ask(id, "tools/call", &question(agent))["result"].clone()
    }

    /// The status of every run in the store, the newest first.
    pub(crate) fn statuses(&self) -> Vec<String> {
        self.place.statuses()
    }

    /// Waits until the runs stand so.
    pub(crate) fn wait_for(&self, expected: &[&str]) {
        self.place.wait_for(expected);
    }

    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// The most memory that it has used, in bytes.
    pub(crate) fn memory_peak(&self) -> u64 {
        self.process.peak_bytes()
    }

    /// Closes the stream, if it is open still, and waits for the end.
    pub(crate) fn finish(&mut self) -> Option<i32> {
        self.close();
        self.process.finish().code
    }
}
