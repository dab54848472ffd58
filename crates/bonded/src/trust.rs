//! The question whether what was found is trusted, where a person is there to answer it.
//!
//! Someone must be able to see the question and to answer it; elsewhere nothing is trusted by silence. What is
//! asked shows what the file would do, not what it says. Names of files are anybody's and are written out, so that
//! they cannot forge a line of the question.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;

use bonded_host::config::{LayerShown, Origin};
use bonded_host::letters::written_out;
use bonded_host::trust::{Question, Stance, TrustAnswer, TrustExtent};
use serde::Serialize;

use crate::args::AgentArgs;
use crate::output;

/// What happens with what is found and not trusted: what was said, else whoever sits here is asked.
pub(crate) fn stance(args: &AgentArgs) -> Stance {
    match () {
        () if args.trust => Stance::Once,
        () if args.no_trust => Stance::Never,
        () if somebody_is_here() => Stance::Ask(Box::new(ask)),
        () => Stance::Refuse,
    }
}

/// Whether a question would be seen, and could be answered.
pub(crate) fn somebody_is_here() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Anything that is not understood is asked again; an empty line stops, because it is what an impatient person
/// types.
fn ask(question: &Question) -> TrustAnswer {
    for line in question_lines(question) {
        output::stderr(&line);
    }
    loop {
        output::stderr("[t] trust it   [w] continue with its restrictions only   [s] stop");
        match line().as_deref().map(str::trim) {
            Some("t" | "trust") => return TrustAnswer::Trust,
            Some("w" | "without") => return TrustAnswer::Without,
            // Nobody answers any more, or does not want to.
            None | Some("s" | "stop" | "") => return TrustAnswer::Stop,
            Some(_) => {}
        }
    }
}

/// What a person must know before he answers.
pub(crate) fn question_lines(question: &Question) -> Vec<String> {
    let file = written_out(&question.file.to_string_lossy());
    let mut lines = vec![match &question.changed {
        Some(changed) if !changed.is_empty() => {
            let changed = written_out(&changed.join(", "));
            format!("{file} is not what you trusted: {changed} changed. It would")
        }
        _ => format!("{file} was found there and is not trusted. It would"),
    }];
    let wants = question.wants.lines().into_iter();
    lines.extend(wants.map(|line| format!("  {line}")));
    lines
}

/// One answer; `None` at the end of the input.
pub(crate) fn line() -> Option<String> {
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    matches!(read, Ok(1..)).then_some(answer)
}

/// A layer as a line, and what does not count of it.
pub(crate) fn layer_line(layer: &LayerShown) -> String {
    let file = written_out(&layer.file.to_string_lossy());
    let what = match (layer.origin, layer.held) {
        (Origin::Own, _) => "your own",
        (Origin::Named, _) => "named by you",
        (Origin::Found, TrustExtent::Whole) => "found, trusted",
        (Origin::Found, TrustExtent::Tightening) => "found, only its restrictions apply",
    };
    match left_out(layer).as_slice() {
        [] => format!("# {file}: {what}"),
        paths => format!("# {file}: {what}; left out: {}", paths.join(", ")),
    }
}

/// How what was left out of a layer would count, where something was.
pub(crate) fn is_left_out(layer: &LayerShown) -> Option<String> {
    let place = layer.file.parent().unwrap_or(&layer.file);
    match layer.held {
        _ if layer.left_out.is_empty() => None,
        TrustExtent::Whole => {
            Some("it may not exceed your own files or the well-known defaults".into())
        }
        TrustExtent::Tightening => Some(format!(
            "if you trust it: bonded trust {}",
            written_out(&place.to_string_lossy())
        )),
    }
}

/// The same for programs.
#[derive(Serialize)]
pub(crate) struct LayerAnswer<'a> {
    file: &'a Path,
    origin: &'static str,
    trusted: bool,
    left_out: Vec<String>,
}

impl<'a> From<&'a LayerShown> for LayerAnswer<'a> {
    fn from(layer: &'a LayerShown) -> Self {
        Self {
            file: &layer.file,
            origin: layer.origin.as_str(),
            trusted: layer.held == TrustExtent::Whole,
            left_out: left_out(layer),
        }
    }
}

/// The keys that do not count, by their paths.
fn left_out(layer: &LayerShown) -> Vec<String> {
    let paths = layer.left_out.iter();
    paths.map(|path| written_out(&path.to_string())).collect()
}
