//! The Agent Client Protocol: an editor is the surface, and this process the agent.
//!
//! A session of the protocol is a run: its id is the run's, a prompt is a goal, and what the editor is shown is read from
//! the log, except the text that a model is writing just now. So a session outlives this process and the editor: it is
//! loaded from the store, and `bonded show`, `undo` and `verify` know it like any other run.
//!
//! Nothing of the editor is trusted further than the person who started it: configuration counts where it is trusted on
//! record, and the tools work in the session's directory with the sandbox that a run has.

mod connection;
mod permission;
mod projection;
mod prompt;
mod sessions;
mod spoken;
mod turn;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use bonded_host::CancellationToken;
use bonded_mcp::RpcFault;
use bonded_mcp::lines;
use bonded_mcp::message::{Misread, Request, RpcMessage};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use connection::Editor;
pub(crate) use sessions::{SessionSettings, Sessions};

/// How many requests are worked on at a time; further lines wait.
const REQUESTS_MAX: usize = 256;

/// How long runs may take to let go of their logs when the editor is gone.
const LETTING_GO: Duration = Duration::from_secs(5);

/// For an editor to read what was written last.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Talks with the editor until it closes its stream or `stop` is cancelled. Then the runs are let go of, resumably:
/// `let_go` has every host of the process do so.
pub(crate) async fn talk(sessions: Sessions, stop: &CancellationToken, let_go: fn()) {
    let mut lines = lines::reader(std::io::stdin());
    let (out, written) = lines::writer(std::io::stdout());
    let editor = Arc::new(Editor::new(out));
    let sessions = Arc::new(sessions);
    let mut requests = JoinSet::new();
    loop {
        let line = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = editor.is_gone() => break,
            Some(_answered) = requests.join_next() => continue,
            line = lines.recv(), if requests.len() < REQUESTS_MAX => line,
        };
        let Some(line) = line else { break };
        match line.message() {
            None => {}
            Some(Ok(RpcMessage::Request(request))) => {
                requests.spawn(answer(sessions.clone(), editor.clone(), request));
            }
            Some(Ok(RpcMessage::Notification { method, params })) => {
                sessions.hear(&method, &params);
            }
            Some(Ok(RpcMessage::Reply { id, answered })) => editor.answered(&id, answered),
            Some(Err(Misread { id, fault })) => editor.send(fault.reply(&id)).await,
        }
    }
    let_go();
    let ending = async { while requests.join_next().await.is_some() {} };
    let _late = timeout(LETTING_GO, ending).await;
    requests.shutdown().await;
    sessions.end().await;
    drop(editor);
    // An editor that does not read must not keep the process.
    let _unread = timeout(LAST_WORDS, written).await;
}

async fn answer(sessions: Arc<Sessions>, editor: Arc<Editor>, request: Request) {
    let answered = Box::pin(carry_out(&sessions, &editor, &request)).await;
    editor.send(request.reply(answered)).await;
}

async fn carry_out(
    sessions: &Arc<Sessions>,
    editor: &Arc<Editor>,
    request: &Request,
) -> Result<Value, RpcFault> {
    let params = &request.params;
    match request.method.as_str() {
        "initialize" => {
            let read: wire::Initialize = wire::read(params)?;
            editor.greet(&read);
            Ok(wire::greeting())
        }
        "session/new" => sessions.begin(editor, wire::read(params)?).await,
        "session/load" => sessions.load(editor, wire::read(params)?).await,
        "session/resume" => sessions.resume(editor, wire::read(params)?).await,
        "session/list" => sessions.list(wire::read(params)?).await,
        "session/close" => sessions.close(&wire::read(params)?).await,
        "session/prompt" => sessions.prompt(wire::read(params)?).await,
        other => Err(RpcFault::unknown_method(other)),
    }
}
