use super::{Calibration, estimate_for};
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
        assert_eq!(Some(unknown), each.into_iter().max(), "{}", sample.name);
    }
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
