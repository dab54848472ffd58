//! A connection whose other side must keep reading.
//!
//! A client that asks for much and reads nothing would keep its place, its request and the memory of the answer for
//! as long as it likes. Only writes that cannot go on are timed: a silent stream has nothing to write, and a slow
//! reader that takes a piece now and then starts the time anew. Reading is bounded elsewhere, by the timeouts of
//! heads and bodies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Breaks when a write has waited for too long: a client that does not read counts as gone.
#[derive(Debug)]
pub(crate) struct Stalling<S> {
    inner: S,
    patience: Duration,
    /// Runs from the first write that could not go on; `None` while writes do.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    pub(crate) fn new(inner: S, patience: Duration) -> Self {
        Self {
            inner,
            patience,
            waiting: None,
        }
    }

    /// Passes on what came of a write, or the end of the patience with it.
    fn judged<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judged(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.judged(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.judged(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judged(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_breaks_the_connection_and_a_slow_one_does_not() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut ours = Stalling::new(ours, Duration::from_secs(30));
        let reading = tokio::spawn(async move {
            let mut taken = [0; 2];
            for _ in 0..4 {
                sleep(Duration::from_secs(20)).await;
                theirs.read_exact(&mut taken).await.expect("bytes come");
            }
            // From here on nothing is read, and the other end stays open.
            sleep(Duration::from_secs(3600)).await;
            drop(theirs);
        });
        ours.write_all(b"12345678")
            .await
            .expect("it is read, slowly");
        let stalled = ours.write_all(b"123456789").await;
        assert_eq!(
            stalled.map_err(|error| error.kind()),
            Err(io::ErrorKind::TimedOut)
        );
        reading.abort();
    }
}
