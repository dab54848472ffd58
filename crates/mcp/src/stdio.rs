//! Messages as lines of two streams. Reading and writing have a thread each, because neither can be interrupted.
//!
//! The session has no id and its caller is nobody in particular: whoever started the process may do all that it
//! offers. The end of the input is the end of the client; answers that are nearly there still have half a second,
//! and so has the client to read them. A thread that is stuck in a read or a write is left behind when the process
//! ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bonded_kernel::Hash;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::about::About;
use super::fault::{INVALID_REQUEST, McpFault};
use super::message;
use super::message::Outbox;
use super::served::Served;
use super::session::{McpSession, Received};

/// The most bytes of one message. A longer line is skipped to its end and refused, and the next one counts again.
const LINE_BYTES_MAX: usize = 10 * 1024 * 1024;
/// How many messages may wait to be written, or to be taken in.
const WAITING_MAX: usize = 64;
/// How many answers are worked on; further lines wait.
const ANSWERS_MAX: usize = 2048;
/// After the last line: for answers that are as good as there, and for the client to read them. Clients wait two
/// seconds before they end a server by force.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A line as it was read.
#[derive(Debug, PartialEq)]
enum InputLine {
    /// Without its line feed; a carriage return before it is still there.
    Whole(Vec<u8>),
    /// It had more than the most bytes; none of them are kept.
    TooLong,
}

/// Talks with one client until it closes its stream, reads no more, or `stop` is cancelled. What it has begun is
/// dropped then: the client is gone.
pub async fn talk<S: Served>(
    served: Arc<S>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: &CancellationToken,
) {
    let about = served.about();
    let (sender, mut lines) = mpsc::channel(WAITING_MAX);
    thread::spawn(move || read_lines(input, &sender));
    let (out, written) = writer(output);
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
    let bytes = match line {
        InputLine::TooLong => {
            let message = format!("a message has at most {LINE_BYTES_MAX} bytes");
            let fault = McpFault::new(INVALID_REQUEST, message);
            return Received::Reply(fault.reply(&Value::Null));
        }
        InputLine::Whole(bytes) if bytes.trim_ascii().is_empty() => return Received::Nothing,
        InputLine::Whole(bytes) => bytes,
    };
    match message::read(bytes) {
        Ok(message) => session.take(about, message),
        Err(misread) => Received::Reply(misread.fault.reply(&misread.id)),
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

/// Runs on a thread of its own until the stream ends or nobody takes lines any more. The channel is bounded: a
/// client that sends faster than it is answered waits in its own write.
fn read_lines(input: impl Read, lines: &mpsc::Sender<InputLine>) {
    let mut input = BufReader::new(input);
    // A stream that cannot be read any more has ended.
    while let Ok(Some(line)) = next_line(&mut input, LINE_BYTES_MAX) {
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The next line. Of one that is too long nothing is kept.
fn next_line(input: &mut impl BufRead, bytes_max: usize) -> io::Result<Option<InputLine>> {
    let mut line = vec![];
    let mut is_too_long = false;
    loop {
        let available = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let is_over = available.is_empty();
        if line.len() + part.len() > bytes_max {
            is_too_long = true;
            line = vec![];
        }
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        match (end, is_over) {
            (None, false) => {}
            (None, true) if line.is_empty() && !is_too_long => return Ok(None),
            _ if is_too_long => return Ok(Some(InputLine::TooLong)),
            _ => return Ok(Some(InputLine::Whole(line))),
        }
    }
}

/// Writes what is sent to it, and says when it has written the last of it.
fn writer(mut output: impl Write + Send + 'static) -> (Outbox, oneshot::Receiver<()>) {
    let (out, mut messages) = mpsc::channel::<Value>(WAITING_MAX);
    let (done, written) = oneshot::channel();
    thread::spawn(move || {
        while let Some(message) = messages.blocking_recv() {
            let line = format!("{message}\n");
            let sent = output.write_all(line.as_bytes());
            if sent.and_then(|()| output.flush()).is_err() {
                return;
            }
        }
        // Nobody may wait for it any more.
        let _unheard = done.send(());
    });
    (out, written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole_and_those_that_are_too_long_are_skipped() {
        let whole = |text: &str| InputLine::Whole(text.into());
        let rows: [(&str, Vec<InputLine>); 6] = [
            ("", vec![]),
            ("a\nb", vec![whole("a"), whole("b")]),
            ("a\r\n\nb\n", vec![whole("a\r"), whole(""), whole("b")]),
            ("12345678\n", vec![whole("12345678")]),
            ("123456789\nb\n", vec![InputLine::TooLong, whole("b")]),
            ("123456789", vec![InputLine::TooLong]),
        ];
        for (text, expected) in rows {
            for buffer in [1, 3, 64] {
                let mut input = BufReader::with_capacity(buffer, text.as_bytes());
                let mut lines = vec![];
                while let Ok(Some(line)) = next_line(&mut input, 8) {
                    lines.push(line);
                }
                assert_eq!(lines, expected, "{text:?} in pieces of {buffer}");
            }
        }
    }
}
