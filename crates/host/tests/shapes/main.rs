//! What programs read is what its page says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bonded_host::shapes::json;
use bonded_kernel::{Entry, FORMAT, GoalId, Hash, Header, Millis, RunId};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/json.md");

/// Every kind of event with every field that it may have, in the newest format.
const GOLDEN: &str = include_str!("../../../kernel/tests/golden/format-10.jsonl");

/// The words in backticks of a part of the page.
fn words(text: &str) -> BTreeSet<String> {
    let marked = text.split('`').skip(1).step_by(2);
    marked.map(str::to_owned).collect()
}

/// The part of the page between two of its lines.
fn part<'p>(from: &str, to: &str) -> &'p str {
    let (_, rest) = PAGE.split_once(from).expect("the page has this line");
    rest.split_once(to).map_or(rest, |(part, _)| part)
}

/// The kinds of events, each with the words that are said of it.
fn kinds() -> BTreeMap<String, BTreeSet<String>> {
    let rows = part("| Kind |", "\n\n").lines().skip(2);
    let row = |line: &str| {
        let (kind, fields) = line.strip_prefix("| `")?.split_once("` |")?;
        Some((kind.to_owned(), words(fields)))
    };
    rows.filter_map(row).collect()
}

/// The line of an entry that holds this event.
fn shown(event: &str) -> Value {
    let header = Header {
        format: FORMAT,
        run: RunId::new("run").expect("a name"),
        goal: GoalId::of("goal"),
        seq: 1,
        at: Millis(1),
        turn: 1,
        prev: Hash::of(b""),
    };
    let body: Arc<[u8]> = event.as_bytes().into();
    let entry = Entry::open(header, None, body, |_| Some("".into()));
    let line = json::entry(&entry.expect("a golden line can be read"));
    serde_json::from_str(&line).expect("a line is JSON")
}

#[test]
fn every_field_of_every_kind_of_entry_is_on_the_page_and_no_other() {
    assert_eq!(FORMAT, 10, "a new format has a golden file of its own");
    let page = kinds();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in GOLDEN.lines() {
        let entry = shown(line);
        let kind = entry["kind"].as_str().expect("an entry has a kind");
        let fields = entry["data"].as_object().expect("an event is an object");
        let of_kind = found.entry(kind.to_owned()).or_default();
        of_kind.extend(fields.keys().cloned());
        let around = entry.as_object().expect("an entry is an object").keys();
        let around: BTreeSet<String> = around.cloned().collect();
        assert_eq!(around, words(part("## An entry", "A field of `data`")));
    }
    for (kind, fields) in &found {
        let known = page.get(kind).cloned().unwrap_or_default();
        let missing: Vec<_> = fields.difference(&known).collect();
        assert!(missing.is_empty(), "{kind}: the page lacks {missing:?}");
    }
    let on_page: BTreeSet<&String> = page.keys().collect();
    assert_eq!(on_page, found.keys().collect(), "the kinds of the page");
}

#[test]
fn the_names_of_the_log_are_those_of_its_format_and_those_around_it_are_not() {
    for line in GOLDEN.lines() {
        let recorded: Value = serde_json::from_str(line).expect("a golden line is JSON");
        let entry = shown(line);
        let kind = entry["kind"].as_str().expect("an entry has a kind");
        for (name, value) in recorded[kind].as_object().expect("an event is an object") {
            let is_named = kind == "attempt_started" && ["reserved", "context"].contains(&&**name);
            let is_text = value.get("blob").is_some();
            if !is_named && !is_text {
                assert!(!entry["data"][name].is_null(), "{kind}: {name} is lost");
            }
        }
    }
}
