//! MCP over the lines of two streams.
//!
//! The session has no id and its caller is nobody in particular: whoever started the process may do all that it
//! offers. The end of the input is the end of the client; answers that are nearly there still have half a second,
//! and so has the client to read them. A thread that is stuck in a read or a write is left behind when the process
//! ends.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::Hash;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::about::About;
use super::lines::{self, InputLine};
use super::message::{Misread, Outbox};
use super::served::Served;
use super::session::{McpSession, Received};

/// How many answers are worked on; further lines wait.
const ANSWERS_MAX: usize = 2048;
/// After the last line: for answers that are as good as there, and for the client to read them. Clients wait two
/// seconds before they end a server by force.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Talks with one client until it closes its stream, reads no more, or `stop` is cancelled. What it has begun is
/// dropped then: the client is gone.
pub async fn talk<S: Served>(
    served: Arc<S>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: &CancellationToken,
) {
    let about = served.about();
    let mut lines = lines::reader(input);
    let (out, written) = lines::writer(output);
    let session = McpSession::new(Hash::ZERO, out.clone());
    let mut answers = JoinSet::new();
    loop {
        let line = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = out.closed() => break,
            Some(_answered) = answers.join_next() => continue,
            line = lines.recv(), if answers.len() < ANSWERS_MAX => line,
        };
        let Some(line) = line else { break };
        let received = receive(&session, &about, &line);
        answers.spawn(answer(served.clone(), received, out.clone()));
    }
    if !stop.is_cancelled() {
        let ending = async { while answers.join_next().await.is_some() {} };
        // What is not answered by now takes longer than a client waits that is leaving.
        let _late = timeout(LAST_ANSWERS, ending).await;
    }
    session.end();
    answers.shutdown().await;
    drop((session, out));
    // A client that does not read must not keep the process.
    let _unread = timeout(LAST_WORDS, written).await;
}

/// Takes a line in, without waiting. Empty lines are passed over.
fn receive(session: &Arc<McpSession>, about: &About, line: &InputLine) -> Received {
    match line.message() {
        None => Received::Nothing,
        Some(Ok(message)) => session.take(about, message),
        Some(Err(Misread { id, fault })) => Received::Reply(fault.reply(&id)),
    }
}

/// One task for each line. The order of answers is therefore that in which they are ready; the order in which lines
/// take effect was decided before, in `receive`.
async fn answer<S: Served>(served: Arc<S>, received: Received, out: Outbox) {
    let reply = match received {
        Received::Nothing => None,
        Received::Reply(reply) => Some(reply),
        Received::Request(under_way) => under_way.answer(&served, out.clone()).await,
    };
    if let Some(reply) = reply {
        // A client that is gone needs no answer.
        let _gone = out.send(reply).await;
    }
}
