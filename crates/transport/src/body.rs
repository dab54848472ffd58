//! Reading a body with bounded memory and without waiting for ever.
//!
//! Whoever is on the other side may be broken or hostile, so that nothing here trusts a length, an end or a
//! pace. Memory is bounded by counting what has come, also where the server announced less. Time is bounded
//! twice: by the idle time here, which finds a stream that died without a word, and by the clock of the
//! exchange, which the callers hold around all of this.
//!
//! What is cut is a failure of its own class, so that the retry policy can tell a slow server from a broken
//! wire. A body that was cut is no reply, unless the connection broke after a stream had said why the model
//! stopped; that is for the dialects to know.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::Response;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use crate::failure::{causes, failed};
use bonded_kernel::{Failure, FailureClass};

/// A longer reply is given up.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long a stream that has begun may say nothing. Before its first bytes only the target's timeout
/// counts: a model may think for long.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(120);

/// Why a body was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    /// The rest was not read.
    #[error("the reply is larger than {bytes_max} bytes and was given up")]
    TooLarge {
        /// What is read of a reply at most.
        bytes_max: usize,
    },
    /// Nothing came for so long that nothing is waited for.
    #[error("the stream fell silent for {idle_ms} ms")]
    Idle {
        /// Since the last piece.
        idle_ms: u128,
    },
    /// The server, or something on the way, ended it.
    #[error("the connection broke in the middle of the reply: {why}")]
    Broken {
        /// With its causes, on one line.
        why: String,
    },
}

impl Cut {
    /// The model may have worked in each of these cases, so each may be billed.
    pub(crate) fn into_failure(self) -> Failure {
        let class = match self {
            Self::TooLarge { .. } => FailureClass::Malformed,
            Self::Idle { .. } => FailureClass::Timeout,
            Self::Broken { .. } => FailureClass::Network,
        };
        failed(class, self.to_string(), true)
    }
}

/// The pieces of a response's body, cut when they are too many or too late.
pub(crate) fn pieces(
    response: Response<Incoming>,
    idle_max: Duration,
) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
    let announced = response.body().size_hint().exact().unwrap_or(0);
    let bytes = response.into_body().into_data_stream().map(|piece| {
        piece.map_err(|error| Cut::Broken {
            why: causes(&error),
        })
    });
    // A length that is too large is known before the first byte is read.
    let spent = usize::try_from(announced).unwrap_or(usize::MAX);
    let too_large = (spent > BODY_BYTES_MAX).then_some(Err(too_large()));
    stream::iter(too_large).chain(capped(bytes, idle_max))
}

/// The one place where the limit becomes a reason, for lengths that are announced and lengths that are counted.
fn too_large() -> Cut {
    Cut::TooLarge {
        bytes_max: BODY_BYTES_MAX,
    }
}

/// The count and the idle time around any stream of pieces. Before the first piece nothing is timed here,
/// because a model may think for minutes before it says a word; then only the caller's clock counts. The piece
/// that goes beyond the limit is dropped with all that follows, so that memory never holds more than the limit
/// and one piece.
fn capped<S>(bytes: S, idle_max: Duration) -> impl Stream<Item = Result<Bytes, Cut>> + Send
where
    S: Stream<Item = Result<Bytes, Cut>> + Send,
{
    let state = (Box::pin(bytes), 0usize);
    stream::try_unfold(state, move |(mut bytes, mut read)| async move {
        let next = bytes.next();
        let piece = if read == 0 {
            next.await
        } else {
            let idle = |_| Cut::Idle {
                idle_ms: idle_max.as_millis(),
            };
            tokio::time::timeout(idle_max, next).await.map_err(idle)?
        };
        let Some(piece) = piece.transpose()? else {
            return Ok(None);
        };
        read = read.saturating_add(piece.len());
        if read > BODY_BYTES_MAX {
            return Err(too_large());
        }
        Ok(Some((piece, (bytes, read))))
    })
}

/// The whole body.
///
/// Bounded only by what the pieces are bounded by: it is meant for streams that `pieces` has made.
pub(crate) async fn read_whole(
    pieces: impl Stream<Item = Result<Bytes, Cut>>,
) -> Result<Vec<u8>, Cut> {
    let mut pieces = std::pin::pin!(pieces);
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece?);
    }
    Ok(whole)
}

/// As much of an error's body as is worth reading, whatever becomes of the rest.
///
/// Never fails: an error's body only explains a failure that is certain already, so that a part of it is better
/// than another failure.
pub(crate) async fn read_some(
    pieces: impl Stream<Item = Result<Bytes, Cut>>,
    bytes_max: usize,
    patience: Duration,
) -> Vec<u8> {
    let mut pieces = std::pin::pin!(pieces);
    let mut some = Vec::new();
    let read = async {
        while let Some(Ok(piece)) = pieces.next().await {
            let room = bytes_max - some.len();
            some.extend_from_slice(&piece[..piece.len().min(room)]);
            if some.len() == bytes_max {
                break;
            }
        }
    };
    // Out of patience or not, what was read until then is what there is.
    let _ = tokio::time::timeout(patience, read).await;
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces_of(sizes: &[usize]) -> impl Stream<Item = Result<Bytes, Cut>> + Send + use<> {
        let pieces: Vec<_> = sizes
            .iter()
            .map(|n| Ok(Bytes::from(vec![b'x'; *n])))
            .collect();
        stream::iter(pieces)
    }

    #[tokio::test]
    async fn a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_not() {
        let half = BODY_BYTES_MAX / 2;
        let fits = read_whole(capped(pieces_of(&[half, half]), IDLE_MAX)).await;
        assert_eq!(fits.map(|whole| whole.len()), Ok(BODY_BYTES_MAX));
        let over = read_whole(capped(pieces_of(&[half, half, 1]), IDLE_MAX)).await;
        assert_eq!(over, Err(too_large()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_falls_silent_is_cut_after_the_idle_time() {
        let silent = pieces_of(&[1]).chain(stream::pending());
        let begun = tokio::time::Instant::now();
        let cut = read_whole(capped(silent, IDLE_MAX)).await;
        let idle_ms = IDLE_MAX.as_millis();
        assert_eq!(cut, Err(Cut::Idle { idle_ms }));
        assert_eq!(begun.elapsed(), IDLE_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn before_its_first_bytes_a_stream_may_be_silent() {
        let late = stream::once(async {
            tokio::time::sleep(IDLE_MAX * 3).await;
            Ok(Bytes::from_static(b"late"))
        });
        let whole = read_whole(capped(late, IDLE_MAX)).await;
        assert_eq!(whole.as_deref(), Ok(&b"late"[..]));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_body_is_read_only_so_far_and_only_so_long() {
        let patience = Duration::from_secs(1);
        let long = read_some(pieces_of(&[3, 3, 3]), 7, patience).await;
        assert_eq!(long.len(), 7);
        let silent = pieces_of(&[3]).chain(stream::pending());
        let slow = read_some(silent, 7, patience).await;
        assert_eq!(slow.len(), 3);
    }
}
