//! A long text in the person's pager, where the question is drawn: stdout may be a file.

use std::io;
use std::os::fd::AsFd as _;
use std::process::Stdio;

use crate::render::pager;
use crate::{masking, output};

/// Shows a text until the person leaves it; where the pager cannot be started, the text is written as it is.
pub(super) fn show(text: &str) {
    let text = masking::masked(text);
    let screen = io::stderr().as_fd().try_clone_to_owned();
    let is_shown = screen.is_ok_and(|screen| pager::page(&text, Stdio::from(screen)));
    if !is_shown {
        output::draw(&text);
    }
}
