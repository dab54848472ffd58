use super::{Calibration, cuts, estimate_for, measured};
use crate::config::Vocabulary;

/// What the vocabularies themselves count; `cargo xtask tokens` counts it again.
const COUNTS: &str = include_str!("samples/counts.tsv");

const VOCABULARIES: [Vocabulary; 4] = [
    Vocabulary::Claude,
    Vocabulary::Cl100k,
    Vocabulary::O200k,
    Vocabulary::Qwen,
];

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("samples/", $name)))),*]
    };
}

const TEXTS: &[(&str, &str)] = texts![
    "base64.txt",
    "certificate.txt",
    "changes.md.txt",
    "chinese.txt",
    "compact.json.txt",
    "english.txt",
    "guide.md.txt",
    "module.rs.txt",
    "page.js.txt",
    "script.py.txt",
    "scripts.txt",
    "server.log.txt",
    "tool_output.json.txt",
];

/// A text, and how many tokens it has in each of [`VOCABULARIES`].
struct Sample {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
    tokens: [u64; 4],
}

fn samples() -> Vec<Sample> {
    let lines = COUNTS.lines().filter(|line| !line.starts_with('#'));
    lines.map(sample).collect()
}

fn sample(line: &'static str) -> Sample {
    let cells: Vec<&str> = line.split('\t').collect();
    let [kind, name, bytes, tokens @ ..] = cells.as_slice() else {
        unreachable!("{line}");
    };
    let (_, text) = TEXTS
        .iter()
        .find(|(it, _)| it == name)
        .expect("a sample of this name");
    let tokens: Vec<u64> = tokens
        .iter()
        .map(|it| it.parse().expect("a number"))
        .collect();
    Sample {
        name,
        kind,
        text: &text[..bytes.parse().expect("a number")],
        tokens: tokens.try_into().expect("a count for each vocabulary"),
    }
}

/// Texts of the seven kinds that the bounds are for.
fn of_seven_kinds() -> impl Iterator<Item = Sample> {
    let seven = samples().into_iter().filter(|it| it.kind != "scripts");
    seven.inspect(|it| assert!(it.text.len() >= 290, "{}", it.name))
}

/// Of a short text a few tokens are many per cent.
fn is_long(sample: &Sample) -> bool {
    sample.text.len() >= 900
}

/// How far `tokens` is above the true count, in per mille.
fn error(tokens: u64, truth: u64) -> i64 {
    (tokens as i64 - truth as i64) * 1_000 / truth as i64
}

#[test]
fn before_a_reply_there_is_room_for_every_kind_and_at_most_two_fifths_too_much() {
    for sample in of_seven_kinds().filter(is_long) {
        for (vocabulary, truth) in VOCABULARIES.into_iter().zip(sample.tokens) {
            let room = Calibration::of(vocabulary).text(estimate_for(sample.text, vocabulary));
            let error = error(room, truth);
            let name = sample.name;
            assert!((0..=400).contains(&error), "{name} {vocabulary:?} {error}");
        }
    }
}

#[test]
fn after_a_reply_what_is_new_is_near_its_true_count_whatever_was_counted_first() {
    let all: Vec<Sample> = of_seven_kinds().filter(is_long).collect();
    for (first, new) in all
        .iter()
        .flat_map(|it| all.iter().map(move |new| (it, new)))
    {
        for (at, vocabulary) in VOCABULARIES.into_iter().enumerate() {
            let mut calibration = Calibration::of(vocabulary);
            let begun = estimate_for(first.text, vocabulary);
            calibration.counted(begun, first.tokens[at]);
            let room = calibration.text(estimate_for(new.text, vocabulary));
            let error = error(room, new.tokens[at]);
            let names = [first.name, new.name];
            assert!(
                (-30..=150).contains(&error),
                "{names:?} {vocabulary:?} {error}"
            );
        }
    }
}

#[test]
fn a_short_text_is_off_by_a_few_tokens_at_most() {
    for sample in of_seven_kinds().filter(|it| !is_long(it)) {
        for (vocabulary, truth) in VOCABULARIES.into_iter().zip(sample.tokens) {
            let tokens = estimate_for(sample.text, vocabulary);
            let name = sample.name;
            assert!(
                tokens.abs_diff(truth) <= 16,
                "{name} {vocabulary:?} {tokens} {truth}"
            );
        }
    }
}

#[test]
fn an_unknown_vocabulary_gets_the_most_of_those_that_are_known() {
    for sample in samples() {
        let each = VOCABULARIES.map(|it| estimate_for(sample.text, it));
        let unknown = estimate_for(sample.text, Vocabulary::Unknown);
        let most = each.into_iter().max().unwrap_or(0);
        // Lines of one sign are more where nobody knows.
        assert!(
            (most..=most + most / 20).contains(&unknown),
            "{} {unknown} {most}",
            sample.name
        );
    }
}

#[test]
fn of_runs_of_one_letter_an_unknown_vocabulary_may_know_short_ones_only() {
    for (text, least, most) in [
        ("#".repeat(3_200), 800, 1_100),
        (" ".repeat(3_200), 1, 400),
        ("=".repeat(31), 1, 16),
    ] {
        let tokens = estimate_for(&text, Vocabulary::Unknown);
        assert!((least..=most).contains(&tokens), "{tokens}");
    }
    assert!(estimate_for(&"#".repeat(3_200), Vocabulary::O200k) < 400);
}

#[test]
fn an_unknown_vocabulary_has_room_and_at_most_two_fifths_too_much_but_for_chinese() {
    let long = of_seven_kinds().filter(|it| it.text.len() > 1_000);
    for sample in long {
        let estimated = estimate_for(sample.text, Vocabulary::Unknown);
        let room = Calibration::of(Vocabulary::Unknown).text(estimated);
        for truth in sample.tokens {
            let error = error(room, truth);
            let most = if sample.kind == "chinese" { 1_200 } else { 400 };
            assert!((0..=most).contains(&error), "{} {error}", sample.name);
        }
    }
}

#[test]
fn no_text_has_more_tokens_than_bytes() {
    for text in [
        "",
        "q",
        "Xq",
        "zQxJ",
        "\u{1}",
        "\u{10ffff}",
        "qxqzjxqz",
        "   1   2",
    ] {
        for vocabulary in VOCABULARIES.into_iter().chain([Vocabulary::Unknown]) {
            let tokens = estimate_for(text, vocabulary);
            assert!(tokens <= text.len() as u64, "{text:?} {tokens}");
            assert_eq!(tokens == 0, text.is_empty(), "{text:?}");
        }
    }
}

#[test]
fn the_same_text_twice_has_twice_the_tokens() {
    for sample in of_seven_kinds() {
        let twice = [sample.text, sample.text].concat();
        for vocabulary in VOCABULARIES {
            let one = estimate_for(sample.text, vocabulary);
            let two = estimate_for(&twice, vocabulary);
            assert!(two.abs_diff(2 * one) <= 4, "{} {one} {two}", sample.name);
        }
    }
}

/// The same sums, one byte and one vocabulary after the other.
fn plainly(text: &str) -> u64 {
    let middle = match text.len() {
        ..2_048 => 0,
        bytes => bytes / 2,
    };
    let (left, right) = text.as_bytes().split_at(middle);
    let mut most = 0;
    for vocabulary in VOCABULARIES {
        let begins = &measured::of(vocabulary).expect("it is measured").begins;
        let mut sum = 0;
        for half in [left, right] {
            let (mut state, mut before) = (usize::from(cuts::START), 0);
            for byte in half {
                let class = usize::from(cuts::CLASS_OF[usize::from(*byte)]);
                let letter = usize::from(measured::LETTER_OF[usize::from(*byte)]);
                let begun = u64::from(begins[state * cuts::CLASSES + class]);
                sum += begun * u64::from(measured::PAIRS[before][letter]);
                (state, before) = (usize::from(cuts::NEXT[state][class]), letter);
            }
        }
        most = u64::max(most, sum);
    }
    let runs = text.as_bytes().chunk_by(|one, other| one == other);
    let long = runs.filter(|run| run.len() >= 32 && !run[0].is_ascii_whitespace());
    let repeated: u64 = long.map(|run| run.len() as u64 / 4).sum();
    (most + measured::UNIT * repeated)
        .div_ceil(measured::UNIT)
        .min(text.len() as u64)
}

#[test]
fn sums_side_by_side_are_those_of_each_vocabulary() {
    let all: String = TEXTS.iter().map(|(_, text)| *text).collect();
    let long = all.repeat(600_000 / all.len() + 1);
    assert!(long.len() > 8 * 65_536, "several parts");
    assert_eq!(estimate_for(&long, Vocabulary::Unknown), plainly(&long));
    for (name, text) in TEXTS {
        assert_eq!(
            estimate_for(text, Vocabulary::Unknown),
            plainly(text),
            "{name}"
        );
    }
    for length in (0..200).chain([2_047, 2_048, 2_049, 200_001]) {
        for (before, letter, after) in [
            ("", "a", ""),
            ("b", "a", "b"),
            ("an aside: ", "=", " end"),
            ("x", " ", "y"),
        ] {
            let text = format!("{before}{}{after}", letter.repeat(length)).repeat(3);
            let what = format!("{before:?}, {length} times {letter:?}, {after:?}");
            assert_eq!(
                estimate_for(&text, Vocabulary::Unknown),
                plainly(&text),
                "{what}"
            );
        }
    }
}
