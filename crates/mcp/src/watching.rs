//! Resources that a client wants to hear of.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::message::{self, Outbox};
use super::served::Served;

/// Tells of each change of a resource until it changes no more or nobody wants to know.
/// Changes that come while the client does not read are reported as one: the mark is that of the last look. A
/// resource that can no longer be looked at is not reported either.
pub(super) async fn watch<S: Served>(
    served: Arc<S>,
    uri: String,
    mut mark: u64,
    news: Outbox,
    stop: CancellationToken,
) {
    let params = json!({ "uri": uri });
    let watching = async {
        while let Ok(Some(next)) = served.changed(&uri, mark).await {
            mark = next;
            let notification = message::notification("notifications/resources/updated", &params);
            if news.send(notification).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = watching => {}
    }
}
