//! The editor at the other end: what it is told, and what it is asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_host::letters::written_out;
use bonded_mcp::RpcFault;
use bonded_mcp::message::{self, Outbox};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::wire::Initialize;

/// How much of an editor's name is kept.
const NAME_CHARS_MAX: usize = 60;

/// The editor that started this process.
#[derive(Debug)]
pub(super) struct Editor {
    out: Outbox,
    name: Mutex<String>,
    questions: Mutex<Questions>,
}

#[derive(Debug, Default)]
struct Questions {
    asked: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Result<Value, RpcFault>>>,
}

/// A question that waits for its answer. Dropping it takes it back.
struct PendingQuestion<'a> {
    editor: &'a Editor,
    id: u64,
}

impl Editor {
    pub(super) fn new(out: Outbox) -> Self {
        Self {
            out,
            name: Mutex::new("an editor".into()),
            questions: Mutex::default(),
        }
    }

    /// Notes what the editor says of itself. It is its own word, and shown as that.
    pub(super) fn greet(&self, greeting: &Initialize) {
        if let Some(info) = &greeting.client_info {
            let name = info.title.as_ref().unwrap_or(&info.name);
            let name = written_out(name).chars().take(NAME_CHARS_MAX).collect();
            *self.name.lock().unwrap_or_else(PoisonError::into_inner) = name;
        }
    }

    pub(super) fn name(&self) -> String {
        let name = self.name.lock();
        name.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves when nothing can be written any more.
    pub(super) async fn is_gone(&self) {
        self.out.closed().await;
    }

    /// Sends a message; an editor that does not read holds up what it would be told, and is told all of it in order.
    pub(super) async fn send(&self, message: Value) {
        let _gone = self.out.send(message).await;
    }

    /// Shows something in a session.
    pub(super) async fn update(&self, session: &str, update: Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.send(message::notification("session/update", &params))
            .await;
    }

    /// Asks, and waits as long as the person takes.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcFault> {
        let gone = || RpcFault::internal("the editor is gone");
        let (sender, answered) = oneshot::channel();
        let id = {
            let mut questions = self.questions();
            questions.asked += 1;
            let id = questions.asked;
            questions.waiting.insert(id, sender);
            id
        };
        let _pending = PendingQuestion { editor: self, id };
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.out.send(asked).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// Takes an answer in; what was not asked, or not any more, is nothing.
    pub(super) fn answered(&self, id: &Value, answered: Result<Value, RpcFault>) {
        let waiting = id
            .as_u64()
            .and_then(|id| self.questions().waiting.remove(&id));
        if let Some(sender) = waiting {
            let _unheard = sender.send(answered);
        }
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        if self.editor.questions().waiting.remove(&self.id).is_some() {
            let params = json!({ "requestId": self.id });
            let message = message::notification("$/cancel_request", &params);
            // An editor that does not read is not told.
            let _full = self.editor.out.try_send(message);
        }
    }
}
