//! Messages of JSON-RPC as lines of two streams. Reading and writing have a thread each, because neither can be
//! interrupted.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::fault::{INVALID_REQUEST, RpcFault};
use super::message::{self, Misread, Outbox, RpcMessage};

/// The most bytes of one message. A longer line is skipped to its end and refused, and the next one counts again.
const LINE_BYTES_MAX: usize = 10 * 1024 * 1024;
/// How many messages may wait to be written, or to be taken in.
const WAITING_MAX: usize = 64;

/// A line as it was read.
#[derive(Debug, PartialEq)]
pub enum InputLine {
    /// Without its line feed; a carriage return before it is still there.
    Whole(Vec<u8>),
    /// It had more than the most bytes; none of them are kept.
    TooLong,
}

impl InputLine {
    /// What it says; `None` for an empty line, which is passed over.
    pub fn message(&self) -> Option<Result<RpcMessage, Misread>> {
        let bytes = match self {
            Self::TooLong => {
                let message = format!("a message has at most {LINE_BYTES_MAX} bytes");
                let fault = RpcFault::new(INVALID_REQUEST, message);
                return Some(Err(Misread {
                    id: Value::Null,
                    fault,
                }));
            }
            Self::Whole(bytes) if bytes.trim_ascii().is_empty() => return None,
            Self::Whole(bytes) => bytes,
        };
        Some(message::read(bytes))
    }
}

/// The lines of a stream, until it ends.
pub fn reader(input: impl Read + Send + 'static) -> mpsc::Receiver<InputLine> {
    let (sender, lines) = mpsc::channel(WAITING_MAX);
    thread::spawn(move || read_lines(input, &sender));
    lines
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
pub fn writer(mut output: impl Write + Send + 'static) -> (Outbox, oneshot::Receiver<()>) {
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
