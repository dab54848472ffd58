//! What a client is asked while a request of its own is under way.
//!
//! An answer counts only in the session in which its question was asked, once, and while somebody waits for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::fault::RpcFault;
use super::message::{self, Outbox};

/// How many questions may wait for one client.
const QUESTIONS_MAX: usize = 64;

/// What a client has said that it can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    sampling: bool,
    elicitation: bool,
}

/// The questions of one client.
#[derive(Debug, Default)]
pub(super) struct Questions(Mutex<BTreeMap<String, oneshot::Sender<Result<Value, RpcFault>>>>);

/// A question that waits for its answer. Dropping it takes it back.
struct PendingQuestion<'a> {
    questions: &'a Questions,
    id: String,
    out: &'a Outbox,
}

impl Abilities {
    /// What is not an object does not count: the protocol declares abilities by objects, and `true` is none.
    pub(super) fn of(capabilities: Option<&Value>) -> Self {
        let ability = |name: &str| capabilities.and_then(|all| all.get(name)?.as_object());
        Self {
            sampling: ability("sampling").is_some(),
            // Without a word about how, it is by form; addresses to visit are something else.
            elicitation: ability("elicitation")
                .is_some_and(|modes| modes.is_empty() || modes.contains_key("form")),
        }
    }

    /// Whatever else a method may be, it cannot be asked.
    pub(super) fn include(self, method: &str) -> bool {
        match method {
            "sampling/createMessage" => self.sampling,
            "elicitation/create" => self.elicitation,
            _ => false,
        }
    }
}

impl Questions {
    /// Asks, and waits for the answer.
    pub(super) async fn ask(
        &self,
        out: &Outbox,
        method: &str,
        params: &Value,
        patience: Duration,
    ) -> Result<Value, RpcFault> {
        let (question, answered) = self.begin(out)?;
        let asked =
            json!({ "jsonrpc": "2.0", "id": question.id, "method": method, "params": params });
        let gone = || RpcFault::internal("the client is gone");
        let asking = async {
            out.send(asked).await.map_err(|_| gone())?;
            answered.await.map_err(|_| gone())?
        };
        let late = |_| {
            let patience_s = patience.as_secs();
            RpcFault::internal(format!(
                "the client has not answered within {patience_s} seconds"
            ))
        };
        timeout(patience, asking).await.map_err(late)?
    }

    /// An id that nobody can guess, so that no answer comes before its question.
    fn begin<'a>(&'a self, out: &'a Outbox) -> Result<(PendingQuestion<'a>, Answered), RpcFault> {
        let (sender, answered) = oneshot::channel();
        let mut waiting = self.lock();
        if waiting.len() >= QUESTIONS_MAX {
            let message = format!("{QUESTIONS_MAX} questions wait for this client already");
            return Err(RpcFault::internal(message));
        }
        let id = uuid::Uuid::new_v4().simple().to_string();
        waiting.insert(id.clone(), sender);
        let question = PendingQuestion {
            questions: self,
            id,
            out,
        };
        Ok((question, answered))
    }

    /// Takes an answer in; what nobody waits for is nothing.
    pub(super) fn answer(&self, id: &Value, answered: Result<Value, RpcFault>) {
        let sender = id.as_str().and_then(|id| self.lock().remove(id));
        if let Some(sender) = sender {
            // Whoever asked may have stopped waiting just now.
            let _unheard = sender.send(answered);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, oneshot::Sender<Result<Value, RpcFault>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Answered = oneshot::Receiver<Result<Value, RpcFault>>;

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        if self.questions.lock().remove(&self.id).is_some() {
            let params =
                json!({ "requestId": self.id, "reason": "the answer is no longer needed" });
            let notification = message::notification("notifications/cancelled", &params);
            // A client that does not read is not told.
            let _full = self.out.try_send(notification);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn id_of(asked: &Value) -> Value {
        asked["id"].clone()
    }

    #[test]
    fn a_client_is_asked_only_what_it_has_said() {
        let rows = [
            (json!(null), false, false),
            (json!({}), false, false),
            (json!({ "sampling": {} }), true, false),
            (json!({ "sampling": true }), false, false),
            (json!({ "elicitation": {} }), false, true),
            (json!({ "elicitation": { "form": {} } }), false, true),
            (json!({ "elicitation": { "url": {} } }), false, false),
            (
                json!({ "sampling": {}, "elicitation": { "form": {}, "url": {} } }),
                true,
                true,
            ),
        ];
        for (capabilities, sampling, elicitation) in rows {
            let abilities = Abilities::of(Some(&capabilities));
            assert_eq!(
                abilities.include("sampling/createMessage"),
                sampling,
                "{capabilities}"
            );
            assert_eq!(
                abilities.include("elicitation/create"),
                elicitation,
                "{capabilities}"
            );
            assert!(!abilities.include("roots/list"));
        }
        assert_eq!(Abilities::of(None), Abilities::default());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_once_where_and_while_its_question_waits() {
        let (own, other) = (Arc::<Questions>::default(), Arc::<Questions>::default());
        let (out, mut sent) = mpsc::channel(8);
        let asking = tokio::spawn({
            let own = own.clone();
            async move {
                own.ask(&out, "elicitation/create", &json!({}), PATIENCE)
                    .await
            }
        });
        let id = id_of(&sent.recv().await.expect("it is asked"));
        for wrong in [json!(1), json!(null), json!("1"), json!({})] {
            own.answer(&wrong, Ok(json!("forged")));
        }
        other.answer(&id, Ok(json!("of another session")));
        own.answer(&id, Ok(json!("first")));
        own.answer(&id, Ok(json!("second")));
        assert_eq!(asking.await.expect("it ends"), Ok(json!("first")));
        assert!(
            sent.recv().await.is_none(),
            "what is answered is not taken back"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_nobody_answers_is_taken_back_in_time() {
        let questions = Arc::<Questions>::default();
        let (out, mut sent) = mpsc::channel(8);
        let params = json!({});
        let asked = questions.ask(&out, "elicitation/create", &params, PATIENCE);
        let fault = asked.await.expect_err("nobody answers");
        assert!(fault.message.contains("60 seconds"), "{fault:?}");
        let id = id_of(&sent.recv().await.expect("it was asked"));
        let taken_back = sent.recv().await.expect("it is taken back");
        assert_eq!(taken_back["method"], "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], id);
        assert!(questions.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn questions_that_wait_are_bounded_and_named_differently_in_each_session() {
        let questions = Arc::<Questions>::default();
        let (out, _told) = mpsc::channel(1000);
        // As many as are taken, and not as many as a constant says.
        let waiting: Vec<_> = (0..1000)
            .map_while(|_| questions.begin(&out).ok())
            .collect();
        assert_eq!(waiting.len(), 64);
        let fault = questions.begin(&out).err().expect("there is no room");
        assert!(
            fault.message.contains("64 questions wait"),
            "{}",
            fault.message
        );
        drop(waiting);
        let (question, _) = questions.begin(&out).expect("there is room");
        let other = Questions::default();
        let (others, _) = other.begin(&out).expect("there is room");
        assert_ne!(question.id, others.id, "sessions do not count alike");
    }
}
