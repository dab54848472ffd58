//! One conversation: the same requests as the program that is measured, and nothing around them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, redirect, retry};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Fault;
use crate::log::Log;
use crate::options::{Appends, Options};

/// What all conversations share.
pub(crate) struct Shared {
    client: Client,
    url: String,
    like: Like,
    dir: std::path::PathBuf,
    appends: Appends,
    log: Arc<Log>,
}

/// The parts of a request that stay the same.
#[derive(Deserialize)]
struct Like {
    model: String,
    messages: Vec<LikeMessage>,
    tools: Box<RawValue>,
    max_tokens: u32,
}

#[derive(Deserialize)]
struct LikeMessage {
    role: String,
    content: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: &'a [Message],
    tools: &'a RawValue,
    max_tokens: u32,
}

#[derive(Serialize)]
struct Message {
    role: &'static str,
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

#[derive(Serialize, Deserialize)]
struct Call {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    function: Function,
}

#[derive(Serialize, Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Reply {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: ReplyMessage,
}

#[derive(Deserialize)]
struct ReplyMessage {
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct ReadArguments {
    path: String,
}

/// As the `read` tool answers.
#[derive(Serialize)]
struct Output<'a> {
    content: &'a str,
    hash: &'a str,
}

impl Shared {
    pub(crate) fn new(options: &Options, log: Arc<Log>) -> Result<Self, Fault> {
        let mut like: Like = serde_json::from_slice(&std::fs::read(&options.like)?)?;
        if let Some(model) = &options.model {
            like.model.clone_from(model);
        }
        Ok(Self {
            client: client()?,
            url: format!("{}/chat/completions", options.base_url),
            like,
            dir: options.dir.clone(),
            appends: options.appends,
            log,
        })
    }

    fn opening(&self, goal: String) -> Vec<Message> {
        let system = self.like.messages.iter().find(|m| m.role == "system");
        let system = system.and_then(|message| message.content.clone());
        vec![said("system", system), said("user", Some(goal))]
    }

    async fn ask(&self, messages: &[Message]) -> Result<Call, Fault> {
        let body = serde_json::to_vec(&Body {
            model: &self.like.model,
            messages,
            tools: &self.like.tools,
            max_tokens: self.like.max_tokens,
        })?;
        let response = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await?;
        let reply: Reply = serde_json::from_slice(&response.bytes().await?)?;
        let choice = reply.choices.into_iter().next();
        let call = choice.and_then(|choice| choice.message.tool_calls.into_iter().next());
        call.ok_or_else(|| "the reply holds no call".into())
    }

    /// One request, for the time that a process needs to come so far.
    pub(crate) async fn open(&self) -> Result<(), Fault> {
        let start = record("start", self.appends.start_bytes);
        self.log.append(0, start).await?;
        let opening = self.opening("say hello".into());
        self.ask(&opening).await.map(drop)
    }

    /// A whole conversation.
    pub(crate) async fn run(&self, number: usize) -> Result<(), Fault> {
        let start = record("start", self.appends.start_bytes);
        self.log.append(number, start).await?;
        let mut messages = self.opening(format!("read the notes, run {number}"));
        loop {
            let call = self.ask(&messages).await?;
            let reply = record(&call.function.arguments, self.appends.reply_bytes);
            self.log.append(number, reply).await?;
            if call.function.name == "done" {
                return Ok(());
            }
            let output = read(&self.dir, &call.function.arguments)?;
            self.log
                .append(number, record(&output, self.appends.output_bytes))
                .await?;
            let id = call.id.clone();
            messages.push(Message {
                tool_calls: vec![call],
                ..said("assistant", None)
            });
            messages.push(Message {
                tool_call_id: Some(id),
                ..said("tool", Some(output))
            });
        }
    }
}

fn said(role: &'static str, content: Option<String>) -> Message {
    Message {
        role,
        content,
        tool_call_id: None,
        tool_calls: vec![],
    }
}

/// What is appended: the text, filled up to the size that the measured program appends.
fn record(text: &str, bytes: usize) -> Vec<u8> {
    let mut record = text.as_bytes().to_vec();
    record.resize(bytes.max(record.len()), b' ');
    record
}

fn read(dir: &Path, arguments: &str) -> Result<String, Fault> {
    let ReadArguments { path } = serde_json::from_str(arguments)?;
    let content = std::fs::read_to_string(dir.join(&path))?;
    let hash = "0".repeat(16);
    Ok(serde_json::to_string(&Output {
        content: &content,
        hash: &hash,
    })?)
}

/// Set up like the client of the measured program for an endpoint without TLS.
fn client() -> Result<Client, Fault> {
    let provider = rustls::crypto::ring::default_provider();
    let no_roots = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = Client::builder()
        .user_agent("floor")
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(Duration::from_secs(4))
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
        .tls_backend_preconfigured(no_roots)
        .no_proxy();
    Ok(client.build()?)
}
