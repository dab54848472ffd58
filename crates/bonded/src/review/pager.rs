//! A long text in the person's pager: BONDED_PAGER, PAGER, or `less -FRX`.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use crate::output;

const USUAL: &str = "less -FRX";

/// Shows a text until the person leaves it; where the pager cannot be started, the text is written as it is.
/// A pager that is closed before the end is as good as any.
pub(super) fn show(text: &str) {
    let set = |name: &str| std::env::var(name).ok().filter(|it| !it.trim().is_empty());
    let pager = set("BONDED_PAGER").or_else(|| set("PAGER"));
    let pager = pager.unwrap_or_else(|| USUAL.into());
    let text = output::masked(text);
    match paged(&pager, &text) {
        Ok(true) => {}
        Ok(false) | Err(_) => output::draw(&text),
    }
}

/// Whether the pager was there. It draws where the question is drawn: stdout may be a file.
fn paged(pager: &str, text: &str) -> io::Result<bool> {
    /// A shell's word for a program that is not there.
    const NOT_FOUND: i32 = 127;
    let screen = io::stderr().as_fd().try_clone_to_owned()?;
    let mut child = Command::new("sh")
        .args(["-c", pager])
        .stdin(Stdio::piped())
        .stdout(Stdio::from(screen))
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // Who leaves before the end reads no more.
        let _left = input.write_all(text.as_bytes());
    }
    Ok(child.wait()?.code() != Some(NOT_FOUND))
}
