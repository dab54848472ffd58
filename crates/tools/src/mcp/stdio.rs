//! Messages as lines on the stdin and stdout of a child process.
//!
//! One task reads and many may write: a lock on stdin keeps lines whole. A server that prints without end,
//! prints no messages or asks without reading is cut off with a reason that its last words give.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::frame::{Frame, FrameLine, FrameLines, LINE_BYTES_MAX, parse};
use super::witness::Witness;

const CHUNK_BYTES: usize = 64 * 1024;

/// How much noise there may be between two messages.
const NOISE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How many requests of the server may wait for our answer. One that asks without reading the answers
/// would fill our memory with them.
const UNANSWERED_MAX: usize = 256;

/// The client's end of the pipes. Memory is bounded by one line, whatever the server prints.
pub(super) struct Stdio {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    stdout: ChildStdout,
    chunk: Vec<u8>,
    lines: FrameLines,
    noise_bytes: u64,
    /// Requests of the server that were read and whose answers are not written yet.
    unanswered: Arc<AtomicUsize>,
    witness: Arc<Witness>,
}

impl Stdio {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout, witness: Arc<Witness>) -> Self {
        Self {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            stdout,
            chunk: vec![0; CHUNK_BYTES],
            lines: FrameLines::new(LINE_BYTES_MAX),
            noise_bytes: 0,
            unanswered: Arc::default(),
            witness,
        }
    }

    /// The next message among the lines that are here already. The error is why there will be none.
    fn next_here(&mut self) -> Result<Option<RxJsonRpcMessage<RoleClient>>, String> {
        loop {
            let line = match self.lines.next_line() {
                FrameLine::More => return Ok(None),
                FrameLine::Overlong => {
                    return Err(format!(
                        "printed a line of more than {LINE_BYTES_MAX} bytes"
                    ));
                }
                FrameLine::Whole(line) => line,
            };
            match parse(line) {
                Frame::Message(message) => {
                    self.noise_bytes = 0;
                    self.admit(&message)?;
                    return Ok(Some(*message));
                }
                Frame::Notice(notice) => self.witness.notice(&notice),
                Frame::Ignored => {}
                Frame::Noise => {
                    self.noise_bytes += line.len() as u64 + 1;
                    self.witness.noise(line);
                }
            }
            if self.noise_bytes > NOISE_BYTES_MAX {
                return Err(format!(
                    "printed more than {NOISE_BYTES_MAX} bytes that are not messages"
                ));
            }
        }
    }

    /// Counted before the message is handed on, and uncounted when an answer is written.
    fn admit(&self, message: &RxJsonRpcMessage<RoleClient>) -> Result<(), String> {
        if !matches!(message, JsonRpcMessage::Request(_)) {
            return Ok(());
        }
        if self.unanswered.fetch_add(1, Ordering::Relaxed) >= UNANSWERED_MAX {
            return Err(format!(
                "sent more than {UNANSWERED_MAX} requests without reading the answers"
            ));
        }
        Ok(())
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (stdin, unanswered) = (Arc::clone(&self.stdin), Arc::clone(&self.unanswered));
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let pipe = stdin.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            pipe.write_all(&line).await?;
            pipe.flush().await?;
            if matches!(
                message,
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
            ) {
                unanswered.fetch_sub(1, Ordering::Relaxed);
            }
            Ok(())
        }
    }

    /// May be dropped at any await: what was read is kept.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.next_here() {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(why) => {
                    self.witness.broken(why);
                    return None;
                }
            }
            match self.stdout.read(&mut self.chunk).await {
                Ok(length @ 1..) => self.lines.push(&self.chunk[..length]),
                Ok(0) | Err(_) => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Whoever writes has the lock, and fails when the child is ended.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
        Ok(())
    }
}
