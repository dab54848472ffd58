//! `read`: the lines of a text file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::sync::Arc;

use bonded_kernel::{Invocation, ToolEffect, ToolSpec};
use futures_util::future::BoxFuture;
use rustix::fs::Stat;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::{FILE_BYTES_MAX, budget, head_within, json_bytes};
use crate::fault::{self, ToolFault};
use crate::mark::mark;
use crate::task::{Cancel, blocking};
use crate::tool::{Tool, ToolValue, parse};
use crate::workdir::{FILES, Workdir, load, shown, size_of};

/// The fixed fields of the output as JSON.
const FIXED_BYTES: usize = 320;

/// A file up to this size is read on the spot: that takes microseconds, less than handing it to another
/// thread, and a regular file cannot make a reader wait the way a pipe can.
const INLINE_BYTES_MAX: u64 = 64 * 1024;

pub(crate) struct ReadTool {
    spec: ToolSpec,
    workdir: Arc<Workdir>,
}

#[derive(Deserialize)]
struct ReadArguments {
    path: String,
    #[serde(default = "one")]
    offset: u64,
    #[serde(default = "limit_default")]
    limit: u64,
}

fn one() -> u64 {
    1
}

fn limit_default() -> u64 {
    2000
}

impl ReadTool {
    pub(crate) fn new(workdir: Arc<Workdir>) -> Self {
        let spec = ToolSpec::closed(
            "read",
            ToolEffect::Read,
            "Reads lines of a UTF-8 text file. `hash` marks the whole file's content, for `write` with \
             expected_hash. If `truncated`, continue with offset = next_line; `line_cut` says that the last \
             line shown is not whole.",
            &json!({
                "path": { "type": "string", "description": "File inside the working directory." },
                "offset": {
                    "type": "integer", "minimum": 1,
                    "description": "First line to read, counted from 1; default 1."
                },
                "limit": {
                    "type": "integer", "minimum": 1,
                    "description": "The most lines to read; default 2000."
                }
            }),
            &["path"],
        ).of_resource(FILES);
        Self { spec, workdir }
    }

    async fn read(&self, arguments: ReadArguments, call: &Invocation) -> Result<Value, ToolFault> {
        let relative = self.workdir.relative(&arguments.path)?;
        let (file, stat, _) = self.workdir.file(&relative, call, &arguments.path)?;
        let path = shown(&relative);
        let bytes_max = budget(call, FIXED_BYTES + json_bytes(&path));
        let ask = ReadRequest {
            path,
            offset: arguments.offset,
            limit: arguments.limit,
            bytes_max,
        };
        let content = load(&file, &stat, INLINE_BYTES_MAX).map_err(|error| ask.io(&error))?;
        if let Some(content) = content {
            return ask.answer_from_whole(&content, &Cancel::default());
        }
        blocking(move |cancel| ask.answer_from_file(file, &stat, cancel)).await
    }
}

impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move { Ok(self.read(parse(arguments)?, call).await?.into()) })
    }
}

struct ReadRequest {
    path: String,
    offset: u64,
    limit: u64,
    bytes_max: usize,
}

impl ReadRequest {
    fn io(&self, error: &io::Error) -> ToolFault {
        ToolFault::from_io(error, &self.path)
    }

    fn answer_from_file(
        &self,
        mut file: File,
        stat: &Stat,
        cancel: &Cancel,
    ) -> Result<Value, ToolFault> {
        file.rewind().map_err(|error| self.io(&error))?;
        let content = load(&file, stat, FILE_BYTES_MAX).map_err(|error| self.io(&error))?;
        if let Some(content) = content {
            return self.answer_from_whole(&content, cancel);
        }
        file.rewind().map_err(|error| self.io(&error))?;
        let window = self.window(BufReader::with_capacity(64 * 1024, file), cancel)?;
        self.answer(&window, size_of(stat))
    }

    fn answer_from_whole(&self, content: &[u8], cancel: &Cancel) -> Result<Value, ToolFault> {
        let size_bytes = content.len() as u64;
        let is_text = !content.contains(&0) && std::str::from_utf8(content).is_ok();
        if !is_text {
            return Err(ToolFault::not_utf8(&self.path, size_bytes));
        }
        let window = self.window(content, cancel)?;
        let mut answer = self.answer(&window, size_bytes)?;
        answer["hash"] = mark(content).into();
        if answer["from_line"].is_u64() {
            answer["lines_total"] = content.split_inclusive(|b| *b == b'\n').count().into();
        }
        Ok(answer)
    }

    /// Takes the lines that were asked for, and never more bytes than can be shown.
    fn window(&self, mut source: impl BufRead, cancel: &Cancel) -> Result<Window, ToolFault> {
        let mut window = Window::default();
        let mut line = 1_u64;
        // Whether the line so far has something in it.
        let mut is_begun = false;
        let end = self.offset.saturating_add(self.limit);
        loop {
            cancel.check()?;
            let chunk = source.fill_buf().map_err(|error| self.io(&error))?;
            if chunk.is_empty() {
                self.refuse_past_end(line - u64::from(!is_begun))?;
                return Ok(window);
            }
            if line >= end {
                window.more = true;
                return Ok(window);
            }
            let newline = chunk.iter().position(|b| *b == b'\n');
            let taken = newline.map_or(chunk.len(), |at| at + 1);
            if line >= self.offset {
                // One byte over the limit is enough to know that there is too much.
                let room = (self.bytes_max + 1).saturating_sub(window.bytes.len());
                window.bytes.extend_from_slice(&chunk[..taken.min(room)]);
                if taken > room {
                    window.more = true;
                    return Ok(window);
                }
            }
            source.consume(taken);
            line += u64::from(newline.is_some());
            is_begun = newline.is_none();
        }
    }

    /// Nothing is no answer to who asks for a line that is not there. An empty file can be read from its beginning.
    fn refuse_past_end(&self, lines: u64) -> Result<(), ToolFault> {
        if self.offset <= lines.max(1) {
            return Ok(());
        }
        let message = format!(
            "{:?} has only {lines} lines, and offset {} is beyond them",
            self.path, self.offset
        );
        Err(ToolFault::new(fault::PAST_END, message))
    }

    fn answer(&self, window: &Window, size_bytes: u64) -> Result<Value, ToolFault> {
        let text = match std::str::from_utf8(&window.bytes) {
            Ok(text) => text,
            // A character that the byte limit has split is no fault of the file.
            Err(error) if window.more && error.error_len().is_none() => {
                std::str::from_utf8(&window.bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Err(ToolFault::not_utf8(&self.path, size_bytes)),
        };
        if text.contains('\0') {
            return Err(ToolFault::not_utf8(&self.path, size_bytes));
        }
        let (content, line_cut) = whole_lines_within(text, self.bytes_max);
        let truncated = window.more || content.len() < text.len();
        let mut answer = json!({ "content": content });
        // A file that is shown whole needs no more words.
        if truncated || self.offset > 1 {
            answer["size_bytes"] = size_bytes.into();
            answer["from_line"] = self.offset.into();
        }
        if truncated {
            answer["truncated"] = true.into();
            let shown = content.bytes().filter(|b| *b == b'\n').count() as u64;
            answer["next_line"] = (self.offset + shown + u64::from(line_cut)).into();
        }
        if line_cut {
            answer["line_cut"] = true.into();
        }
        Ok(answer)
    }
}

#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    /// Whether the file goes on after the bytes.
    more: bool,
}

/// The lines that fit; a part of the first if not even that fits, and then true.
fn whole_lines_within(text: &str, bytes_max: usize) -> (&str, bool) {
    let head = head_within(text, bytes_max);
    if head.len() == text.len() {
        return (text, false);
    }
    match head.rfind('\n') {
        Some(at) => (&head[..=at], false),
        None => (head, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_whole_unless_the_first_alone_is_too_long() {
        for (text, bytes_max, expected) in [
            ("a\nb\n", 6, ("a\nb\n", false)),
            ("a\nb\n", 5, ("a\n", false)),
            ("abcdef\n", 3, ("abc", true)),
            ("", 0, ("", false)),
        ] {
            assert_eq!(whole_lines_within(text, bytes_max), expected, "{text:?}");
        }
    }
}
