//! The strict provider: a program beside the test that judges every request.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bonded_testkit::installed::judge;
use serde_json::Value;

use super::models::Model;

pub(super) struct Strict {
    child: Child,
    port: u16,
    judged: Arc<Mutex<Vec<Value>>>,
}

impl Strict {
    /// `None` where the SDKs are not here and nobody promised them.
    pub(super) fn start() -> Option<Self> {
        let mut child = judge()?
            .arg("server.py")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the SDKs' interpreter can be started");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let port = lines.next().expect("the provider says its port");
        let port = port.expect("UTF-8").parse().expect("a port");
        let judged = Arc::new(Mutex::new(vec![]));
        let heard = judged.clone();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let verdict = serde_json::from_str(&line).expect("a verdict is JSON");
                let mut judged = heard.lock().unwrap_or_else(PoisonError::into_inner);
                judged.push(verdict);
            }
        });
        Some(Self {
            child,
            port,
            judged,
        })
    }

    /// Where a model is asked in a mode.
    pub(super) fn base_url(&self, model: &Model, tried: &str) -> String {
        let route = model.route.unwrap_or("default");
        let version = match model.service {
            "google" => "v1beta",
            "azure" => "openai/v1",
            _ => "v1",
        };
        format!(
            "http://127.0.0.1:{}/{}/{tried}-{route}/{version}",
            self.port, model.service
        )
    }

    /// Why requests to a model were refused in a mode.
    pub(super) fn refusals(&self, model: &Model, tried: &str) -> Vec<String> {
        let tried = format!("{tried}-{}", model.route.unwrap_or("default"));
        let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_mine = |verdict: &&Value| {
            verdict["service"] == model.service
                && verdict["tried"] == tried.as_str()
                && verdict["model"] == model.name
        };
        let mine = judged.iter().filter(is_mine);
        let all = mine.flat_map(|verdict| verdict["refused"].as_array().into_iter().flatten());
        let mut words: Vec<String> = vec![];
        for refusal in all {
            let said = refusal["words"].as_str().unwrap_or_default();
            let said = match refusal["advice"].as_bool() {
                Some(true) => format!("(advice) {said}"),
                _ => said.to_owned(),
            };
            if !words.contains(&said) {
                words.push(said);
            }
        }
        words
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        // It ends when nobody can speak to it any more.
        drop(self.child.stdin.take());
        let _status = self.child.wait();
    }
}
