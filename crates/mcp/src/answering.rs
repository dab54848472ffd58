//! How a request under way is answered: by what is served, but for what a client wants to watch.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fault::RpcFault;
use super::lifecycle::Lifecycle;
use super::message::{Id, Outbox};
use super::served::{ClientRequest, RequestClient, Served};
use super::session::{RequestUnderWay, lock};
use super::watching::watch;

/// How many resources one client may watch.
const WATCHED_MAX: usize = 64;

impl RequestUnderWay {
    /// Answers the request; `None` if it was cancelled, which is not answered.
    pub(super) async fn answer<S: Served>(mut self, served: &Arc<S>, out: Outbox) -> Option<Value> {
        let token = self.request.meta("progressToken");
        let peer = RequestClient {
            out,
            progress_token: token.filter(|token| Id::of(token).is_some()).cloned(),
            // Who stands alone has no session in which an answer could come.
            session: (self.lifecycle == Lifecycle::Greeted).then(|| self.session.clone()),
        };
        let asked = ClientRequest {
            method: self.request.method.clone(),
            params: std::mem::take(&mut self.request.params),
            caller: self.session.caller,
        };
        let answered = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return None,
            answered = self.ask(served, &asked, peer) => answered,
        };
        let finished = self.lifecycle.finished(&asked.method, answered);
        Some(self.request.reply(finished))
    }

    /// Subscriptions are answered here, because they live as long as the session and not as long as the request.
    async fn ask<S: Served>(
        &self,
        served: &Arc<S>,
        asked: &ClientRequest,
        peer: RequestClient,
    ) -> Result<Value, RpcFault> {
        match asked.method.as_str() {
            "resources/subscribe" => self.subscribe(served, asked.text("uri")?).await,
            "resources/unsubscribe" => {
                if let Some(watching) = lock(&self.session.watched).remove(asked.text("uri")?) {
                    watching.cancel();
                }
                Ok(json!({}))
            }
            _ => served.answer(asked, peer).await,
        }
    }

    /// The mark is taken before the watching begins, so that a change between the two is noticed. Whoever
    /// subscribes again to the same resource replaces the watch instead of adding one.
    async fn subscribe<S: Served>(&self, served: &Arc<S>, uri: &str) -> Result<Value, RpcFault> {
        let mark = served.mark(self.session.caller, uri).await?;
        let stop = self.session.over.child_token();
        let mut watched = lock(&self.session.watched);
        if watched.len() >= WATCHED_MAX && !watched.contains_key(uri) {
            let message =
                format!("{WATCHED_MAX} resources are already watched; unsubscribe from one");
            return Err(RpcFault::invalid_request(message));
        }
        if let Some(before) = watched.insert(uri.to_owned(), stop.clone()) {
            before.cancel();
        }
        let news = self.session.news.clone();
        tokio::spawn(watch(served.clone(), uri.to_owned(), mark, news, stop));
        Ok(json!({}))
    }
}
