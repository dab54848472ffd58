//! Requests that are answered before they were read to their end.
//!
//! A refusal comes before the body is read. What is left of it must be taken in before the next request of the same
//! connection can be, or the client must be told that there is no next one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CONNECTION, EXPECT};
use axum::response::Response;
use futures_util::StreamExt as _;
use hyper::body::{Frame, SizeHint};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::guests::Busy;

/// How much of a body is taken in after its answer is made, and for how long.
const LEFT_BYTES_MAX: usize = 16 * 1024 * 1024;
const LEFT_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a request. The guest is busy until the answer was sent.
pub(crate) async fn answer(
    router: Router,
    request: Request,
    busy: Busy,
) -> Result<Response, Infallible> {
    let waits_for_leave = request.headers().contains_key(EXPECT);
    let (head, body) = request.into_parts();
    let left = Arc::new(Mutex::new(UnreadBody {
        body,
        is_begun: false,
    }));
    let lent = Body::new(Lent(left.clone()));
    let mut request = Request::from_parts(head, lent);
    request.extensions_mut().insert(busy.asker());
    let mut response = TowerToHyperService::new(router).call(request).await?;
    if !is_taken_in(&left, waits_for_leave).await {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    Ok(response.map(|body| Body::new(SentBody { body, _busy: busy })))
}

/// A body that somebody else may go on with.
/// When the handler has answered, the drain takes the body out of it: what the handler may still hold of it is at
/// its end then.
#[derive(Debug)]
struct UnreadBody {
    body: Body,
    /// Whether the handler has asked for a piece: from then on a client that waited for leave has it.
    is_begun: bool,
}

/// The body as those have it who answer.
struct Lent(Arc<Mutex<UnreadBody>>);

/// The body of an answer, with what is let go when it was sent.
struct SentBody {
    body: Body,
    _busy: Busy,
}

/// Whether nothing of the request is left on the connection.
/// Otherwise the connection must be closed after the answer, or the rest of the body would be read as the next
/// request.
async fn is_taken_in(left: &Mutex<UnreadBody>, waits_for_leave: bool) -> bool {
    let body = {
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.body.is_end_stream() {
            return true;
        }
        // Who waits to be told to send has sent nothing, and is not told to now.
        if waits_for_leave && !left.is_begun {
            return false;
        }
        std::mem::take(&mut left.body)
    };
    if body.size_hint().lower() > LEFT_BYTES_MAX as u64 {
        return false;
    }
    let rest = async {
        let (mut pieces, mut bytes) = (body.into_data_stream(), 0_usize);
        while let Some(piece) = pieces.next().await {
            bytes = bytes.saturating_add(piece.map_or(usize::MAX, |piece| piece.len()));
            if bytes > LEFT_BYTES_MAX {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(LEFT_TIMEOUT, rest)
        .await
        .unwrap_or(false)
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.is_begun = true;
        Pin::new(&mut left.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.body.size_hint()
    }
}

impl HttpBody for SentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
