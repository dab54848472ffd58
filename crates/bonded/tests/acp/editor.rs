//! An editor that has started `bonded acp` and talks with it line by line.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use bonded_testkit::patience::PATIENCE;
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::done::parse;
use crate::place::Place;

pub(crate) struct Editor {
    process: Process,
    stdin: Option<ChildStdin>,
    messages: Receiver<String>,
    /// Who holds it keeps the editor from reading.
    pub(crate) gate: Arc<Mutex<()>>,
    requests: u64,
    /// What the person answers, in this order; then they answer nothing.
    pub(crate) answers: VecDeque<&'static str>,
    /// Every call that the person was asked about.
    pub(crate) asked: Vec<Value>,
    /// Every update, whatever its session.
    pub(crate) updates: Vec<Value>,
}

/// A script of replies with what an editor is started with.
pub(crate) fn start(place: &Place, lines: &[Value], flags: &[&str]) -> Editor {
    let script = place.script(lines);
    let mut words = vec!["acp", "--model", &script];
    words.extend(flags);
    Editor::begin(place, &words)
}

impl Editor {
    pub(crate) fn begin(place: &Place, words: &[&str]) -> Self {
        let process = Process::begin(place.command(words).stdin(Stdio::piped()));
        let stdout = process.stdout();
        let (sender, messages) = channel();
        let gate: Arc<Mutex<()>> = Arc::default();
        let before = gate.clone();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                drop(before.lock());
                // The test may have heard enough.
                let _unheard = sender.send(line);
            }
        });
        let mut editor = Self {
            stdin: Some(process.stdin()),
            process,
            messages,
            gate,
            requests: 0,
            answers: VecDeque::new(),
            asked: vec![],
            updates: vec![],
        };
        let info = json!({ "name": "test", "title": "A Test", "version": "1" });
        let hello = json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": {} });
        let greeting = editor.ask("initialize", hello);
        assert_eq!(greeting["protocolVersion"], 1, "{greeting}");
        editor
    }

    pub(crate) fn answering(mut self, answers: &[&'static str]) -> Self {
        self.answers = answers.iter().copied().collect();
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

    /// Sends a request and does not wait.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a message is made where it is sent"
    )]
    pub(crate) fn begin_request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_line(&message);
        id
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a message is made where it is sent"
    )]
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send_line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Takes one message in: an update, a question, or the reply to this request.
    fn heard(&mut self, id: u64) -> Option<Value> {
        let message = self.next();
        if message["method"] == "session/update" {
            self.updates.push(message["params"]["update"].clone());
            return None;
        }
        if message["method"] == "session/request_permission" {
            self.asked.push(message["params"].clone());
            if let Some(answer) = self.answers.pop_front() {
                let outcome = json!({ "outcome": "selected", "optionId": answer });
                let result = json!({ "outcome": outcome });
                self.send_line(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
            }
            return None;
        }
        (message["id"] == id && message["method"].is_null()).then_some(message)
    }

    /// The reply to a request, whole.
    pub(crate) fn reply(&mut self, id: u64) -> Value {
        loop {
            if let Some(reply) = self.heard(id) {
                return reply;
            }
        }
    }

    /// Waits until something was told or asked.
    pub(crate) fn wait_until(&mut self, is_there: impl Fn(&Self) -> bool) {
        while !is_there(self) {
            self.heard(u64::MAX);
        }
    }

    /// The result of a request, which succeeds.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin_request(method, params);
        let reply = self.reply(id);
        assert!(reply["error"].is_null(), "{method}: {reply}");
        reply["result"].clone()
    }

    /// The error of a request, which fails.
    #[track_caller]
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin_request(method, params);
        let reply = self.reply(id);
        assert!(reply["result"].is_null(), "{method}: {reply}");
        reply["error"].clone()
    }

    /// A new session in the place's working directory.
    pub(crate) fn session(&mut self, place: &Place) -> String {
        let result = self.ask(
            "session/new",
            json!({ "cwd": place.work(), "mcpServers": [] }),
        );
        result["sessionId"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn begin_prompt(&mut self, session: &str, text: &str) -> u64 {
        self.begin_request("session/prompt", prompt(session, text))
    }

    /// How a prompt ended.
    #[track_caller]
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> Value {
        self.ask("session/prompt", prompt(session, text))["stopReason"].clone()
    }

    /// Everything that the model said, in one text.
    pub(crate) fn said(&self) -> String {
        self.chunks("agent_message_chunk")
    }

    pub(crate) fn chunks(&self, kind: &str) -> String {
        let chunks = self.updates.iter().filter(|it| it["sessionUpdate"] == kind);
        let texts = chunks.map(|it| it["content"]["text"].as_str().unwrap_or_default());
        texts.collect()
    }

    /// The calls that were announced, with what became of them in the end.
    pub(crate) fn calls(&self) -> Vec<Value> {
        let mut calls: Vec<Value> = vec![];
        for update in &self.updates {
            match update["sessionUpdate"].as_str() {
                Some("tool_call") => calls.push(update.clone()),
                Some("tool_call_update") => {
                    let mut its = calls.iter_mut();
                    let call = its.find(|it| it["toolCallId"] == update["toolCallId"]);
                    let call = call.unwrap_or_else(|| panic!("no call of this id: {update}"));
                    for (key, value) in update.as_object().expect("an object") {
                        call[key] = value.clone();
                    }
                }
                _ => {}
            }
        }
        calls
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Ends the process as an editor does that is closed, and waits for it.
    pub(crate) fn close(mut self) -> bonded_testkit::done::Done {
        self.stdin = None;
        self.process.finish()
    }
}

pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

/// A reply in words.
pub(crate) fn words(text: &str) -> Value {
    json!({ "text": text })
}
