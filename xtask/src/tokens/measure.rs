//! The tables of the kernel's estimate, from texts and from where vocabularies cut them.
//!
//! The chance that a token begins at a byte is taken for a product of two: one for the step of the automaton, one for the
//! two letters. Each is what fits the texts best while the other is held; after some rounds nothing changes any more.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::fault::Fault;

#[path = "../../../crates/kernel/src/tokens/cuts.rs"]
mod cuts;

use cuts::{CLASS_OF, CLASSES, NEXT, START, STATES};

/// The files, in the order in which a text's cuts are told.
const NAMES: [&str; 4] = ["claude", "cl100k", "o200k", "qwen"];
const STEPS: usize = STATES * CLASSES;
const LETTERS: usize = 53;
const PAIRS: usize = LETTERS * LETTERS;

/// What a token is in each table.
const STEP_UNIT: f64 = 128.0;
const PAIR_UNIT: f64 = 32.0;

const ROUNDS: usize = 30;
/// How much has to be seen before a step counts for itself, and a pair.
const STEP_DOUBT: f64 = 15.0;
const PAIR_DOUBT: f64 = 20.0;
/// What all texts of a kind together weigh, in bytes.
const KIND_WEIGHT: f64 = 1e6;

/// How much kinds weigh that are seldom most of a text.
fn weight(kind: &str) -> f64 {
    match kind {
        "noise" | "emoji" => 0.1,
        "hex" => 0.15,
        "zhmd" => 0.3,
        "base64" => 0.4,
        "other" => 0.6,
        _ => 1.0,
    }
}

/// How much was seen at a step with a pair of letters, and how many tokens began there.
#[derive(Clone, Copy, Default)]
struct Seen {
    bytes: f64,
    begun: [f64; NAMES.len()],
}

type AllSeen = BTreeMap<(usize, usize), Seen>;

pub(super) fn write_tables(texts: &Path, cuts: &str, to: &Path) -> Result<(), Fault> {
    let seen = look(texts, cuts)?;
    let (steps, pairs) = fit(&seen);
    for (name, steps) in NAMES.iter().zip(&steps) {
        write(&to.join(format!("{name}.txt")), steps, CLASSES, STEP_UNIT)?;
    }
    write(&to.join("pairs.txt"), &pairs, LETTERS, PAIR_UNIT)
}

fn look(texts: &Path, cuts: &str) -> Result<AllSeen, Fault> {
    let mut of_kinds: BTreeMap<String, (f64, AllSeen)> = BTreeMap::new();
    let mut lines = cuts.lines();
    while let Some(name) = lines.next() {
        let path = texts.join(name);
        let text = fs::read(&path).map_err(Fault::file(&path))?;
        let kind = name.split('/').next().unwrap_or_default();
        let (bytes, seen) = of_kinds.entry(kind.to_owned()).or_default();
        *bytes += text.len() as f64;
        let mut begun = vec![[0_u8; NAMES.len()]; text.len()];
        for vocabulary in 0..NAMES.len() {
            let places = lines.next().unwrap_or_default().split_ascii_whitespace();
            for place in places.filter_map(|place| place.parse::<usize>().ok()) {
                if let Some(begun) = begun.get_mut(place) {
                    begun[vocabulary] += 1;
                }
            }
        }
        late_in_blanks(&text, &mut begun);
        add(&text, &begun, seen);
    }
    let mut all = AllSeen::new();
    for (kind, (bytes, seen)) in of_kinds {
        let weight = weight(&kind) * KIND_WEIGHT / bytes.max(1.0);
        for (at, seen) in seen {
            let all = all.entry(at).or_default();
            all.bytes += weight * seen.bytes;
            for (all, begun) in all.begun.iter_mut().zip(seen.begun) {
                *all += weight * begun;
            }
        }
    }
    Ok(all)
}

/// The last of several blanks belongs to the word after them, but that it is the last is known only there: the token
/// counts as begun at the word.
fn late_in_blanks(text: &[u8], begun: &mut [[u8; NAMES.len()]]) {
    let is_blank = |at: usize| matches!(text[at], b' ' | b'\t');
    for at in 1..text.len().saturating_sub(1) {
        if !is_blank(at - 1) || !is_blank(at) || is_blank(at + 1) || text[at + 1] == b'\n' {
            continue;
        }
        let late = std::mem::take(&mut begun[at]);
        for (begun, late) in begun[at + 1].iter_mut().zip(late) {
            *begun += late;
        }
    }
}

fn add(text: &[u8], begun: &[[u8; NAMES.len()]], seen: &mut AllSeen) {
    let (mut state, mut before) = (START, 0);
    for (byte, begun) in text.iter().zip(begun) {
        let class = usize::from(CLASS_OF[usize::from(*byte)]);
        let letter = letter(*byte);
        let pair = if letter == 0 {
            0
        } else {
            before * LETTERS + letter
        };
        let seen = seen
            .entry((usize::from(state) * CLASSES + class, pair))
            .or_default();
        seen.bytes += 1.0;
        for (all, begun) in seen.begun.iter_mut().zip(begun) {
            *all += f64::from(*begun);
        }
        state = NEXT[usize::from(state)][class];
        before = letter;
    }
}

fn letter(byte: u8) -> usize {
    match byte {
        b'a'..=b'z' => usize::from(byte - b'a') + 1,
        b'A'..=b'Z' => usize::from(byte - b'A') + 27,
        _ => 0,
    }
}

/// For each vocabulary its steps, and the pairs for all of them.
fn fit(seen: &AllSeen) -> ([Vec<f64>; NAMES.len()], Vec<f64>) {
    let mut pairs = vec![1.0; PAIRS];
    for _ in 1..ROUNDS {
        let steps = fit_all_steps(seen, &pairs);
        let (mut expected, mut begun) = (vec![0.0; PAIRS], vec![0.0; PAIRS]);
        for ((step, pair), seen) in seen {
            for (steps, seen_begun) in steps.iter().zip(seen.begun) {
                expected[*pair] += seen.bytes * steps[*step];
                begun[*pair] += seen_begun;
            }
        }
        // The first stands for everything that is no pair.
        for pair in 1..PAIRS {
            pairs[pair] = (begun[pair] + PAIR_DOUBT) / (expected[pair] + PAIR_DOUBT);
        }
    }
    (fit_all_steps(seen, &pairs), pairs)
}

fn fit_all_steps(seen: &AllSeen, pairs: &[f64]) -> [Vec<f64>; NAMES.len()] {
    std::array::from_fn(|vocabulary| fit_steps(seen, pairs, vocabulary))
}

fn fit_steps(seen: &AllSeen, pairs: &[f64], vocabulary: usize) -> Vec<f64> {
    let (mut bytes, mut begun) = (vec![0.0; STEPS], vec![0.0; STEPS]);
    let mut of_class = [(0.0, 0.0); CLASSES];
    for ((step, pair), seen) in seen {
        let weighed = seen.bytes * pairs[*pair];
        bytes[*step] += weighed;
        begun[*step] += seen.begun[vocabulary];
        let (bytes, begun) = &mut of_class[step % CLASSES];
        *bytes += weighed;
        *begun += seen.begun[vocabulary];
    }
    let fit = |step: usize| {
        let usual = match of_class[step % CLASSES] {
            (bytes, begun) if bytes > 0.0 => begun / bytes,
            _ => 1.0,
        };
        (begun[step] + STEP_DOUBT * usual) / (bytes[step] + STEP_DOUBT)
    };
    (0..STEPS).map(fit).collect()
}

/// Two digits in base 16 for each number, a line for each row.
fn write(path: &Path, table: &[f64], columns: usize, unit: f64) -> Result<(), Fault> {
    let mut text = String::new();
    for row in table.chunks(columns) {
        for number in row {
            let whole = (number * unit).round().clamp(0.0, 255.0) as u8;
            text += &format!("{whole:02x}");
        }
        text.push('\n');
    }
    fs::write(path, text).map_err(Fault::file(path))
}
