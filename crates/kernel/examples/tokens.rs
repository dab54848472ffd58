//! Prints how far estimates of tokens are off, for a directory of samples with their true counts. `cargo xtask tokens`
//! counts the samples and runs this.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program beside the kernel: it reads files and prints"
)]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use bonded_kernel::{Calibration, Vocabulary, estimate_tokens, estimate_tokens_for};

const VOCABULARIES: [(&str, Vocabulary); 4] = [
    ("claude", Vocabulary::Claude),
    ("cl100k", Vocabulary::Cl100k),
    ("o200k", Vocabulary::O200k),
    ("qwen", Vocabulary::Qwen),
];

/// What a first request holds: instructions and the schemas of tools.
const FIRST: [&str; 2] = ["english.txt", "compact.json.txt"];

/// In per mille of the true count; for the seven kinds and a vocabulary that is known.
const BEFORE: (i64, i64) = (0, 400);
const AFTER: (i64, i64) = (-30, 150);

/// Of other scripts only that they are counted is promised.
const UNBOUND: &str = "scripts";

struct Sample {
    kind: String,
    name: String,
    text: String,
    truth: Vec<u64>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("a directory of samples")?;
    let samples = read(Path::new(&dir))?;
    println!(
        "per cent above the true count; before: no reply yet; after: the first reply was counted\n"
    );
    println!("kind      vocabulary   true      old   before    after   unknown: before    after");
    let mut is_good = true;
    let mut kinds: Vec<&str> = samples.iter().map(|it| it.kind.as_str()).collect();
    kinds.dedup();
    for kind in kinds {
        for at in 0..VOCABULARIES.len() {
            is_good &= row(&samples, kind, at);
        }
    }
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        println!("\nWhat is marked is outside of what is promised.");
        ExitCode::FAILURE
    })
}

/// The whole samples.
fn read(dir: &Path) -> Result<Vec<Sample>, Box<dyn Error>> {
    let mut samples: Vec<Sample> = vec![];
    let counts = std::fs::read_to_string(dir.join("counts.tsv"))?;
    for line in counts.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind, name, bytes, truth @ ..] = cells.as_slice() else {
            return Err(format!("counts.tsv: {line}").into());
        };
        let text = std::fs::read_to_string(dir.join(name))?;
        if text.len() == bytes.parse::<usize>()? {
            samples.push(Sample {
                kind: (*kind).into(),
                name: (*name).into(),
                text,
                truth: truth
                    .iter()
                    .map(|it| it.parse())
                    .collect::<Result<_, _>>()?,
            });
        }
    }
    Ok(samples)
}

/// Prints what is to be said of a kind and a vocabulary, and says whether it is within bounds.
fn row(samples: &[Sample], kind: &str, at: usize) -> bool {
    let (name, vocabulary) = VOCABULARIES[at];
    let of_kind = || samples.iter().filter(|it| it.kind == kind);
    let truth: u64 = of_kind().map(|it| it.truth[at]).sum();
    let error = |room: u64| (room as i64 - truth as i64) * 1_000 / truth.max(1) as i64;
    let old = of_kind().map(|it| estimate_tokens(&it.text)).sum();
    let rooms = |vocabulary| {
        let before = Calibration::of(vocabulary);
        let after = replied(samples, vocabulary, at);
        let sum = |it: &Calibration| {
            let room = |text: &str| it.text(estimate_tokens_for(text, vocabulary));
            of_kind().map(|it| room(&it.text)).sum()
        };
        (error(sum(&before)), error(sum(&after)))
    };
    let (before, after) = rooms(vocabulary);
    let (unknown_before, unknown_after) = rooms(Vocabulary::Unknown);
    let is_within = |error: i64, (least, most): (i64, i64)| (least..=most).contains(&error);
    let is_good = kind == UNBOUND || is_within(before, BEFORE) && is_within(after, AFTER);
    println!(
        "{kind:<9} {name:<10} {truth:>6} {} {} {}          {} {}{}",
        percent(error(old)),
        percent(before),
        percent(after),
        percent(unknown_before),
        percent(unknown_after),
        if is_good { "" } else { "  <--" },
    );
    is_good
}

/// A calibration that has seen the first reply.
fn replied(samples: &[Sample], vocabulary: Vocabulary, at: usize) -> Calibration {
    let first = || {
        samples
            .iter()
            .filter(|it| FIRST.contains(&it.name.as_str()))
    };
    let estimated = first()
        .map(|it| estimate_tokens_for(&it.text, vocabulary))
        .sum();
    let mut calibration = Calibration::of(vocabulary);
    calibration.counted(estimated, first().map(|it| it.truth[at]).sum());
    calibration
}

fn percent(per_mille: i64) -> String {
    format!("{:>+6.1} %", per_mille as f64 / 10.0)
}
