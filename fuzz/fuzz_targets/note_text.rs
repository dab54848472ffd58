//! What is read out of a note: links, headings, words and snippets are bounded and say nothing that is not there.
//! The first line of an input is the query; a text that is JSON is checked as metadata too.

#![no_main]

use std::collections::BTreeSet;

use bonded_workspace_rules::{LINKS_MAX, METADATA_BYTES_MAX, METADATA_KEYS_MAX, Metadata, SNIPPET_CHARS_MAX, TITLE_CHARS_MAX, check_metadata, headings_and_body, index_text, links, meaning_text, search_terms, snippet};
use libfuzzer_sys::fuzz_target;

fn check_links(text: &str) {
    let found = links(text);
    let different: BTreeSet<&String> = found.iter().collect();
    assert!(found.len() <= LINKS_MAX && different.len() == found.len());
    for link in &found {
        assert!(text.contains(link.as_str()) && link.trim() == link && !link.is_empty());
        assert!(!link.contains(['\n', '|']) && link.chars().count() <= TITLE_CHARS_MAX);
        // A title may end with a bracket, so that blanks keep it apart.
        let written = format!("[[ {link} ]]");
        let is_plain = !link.contains(['`', '[', '~']);
        assert!(
            !is_plain || links(&written) == [link.as_str()],
            "{written:?}"
        );
    }
}

fn check_snippet(text: &str, query: &str) {
    let shown = snippet(text, query);
    assert!(shown.chars().count() <= SNIPPET_CHARS_MAX);
    let without_marks = shown.replace("<mark>", "").replace("</mark>", "");
    assert!(!without_marks.contains(['<', '>']), "{shown:?}");
    assert_eq!(
        shown.matches("<mark>").count(),
        shown.matches("</mark>").count()
    );
    assert!(search_terms(query).len() <= 32);
}

fn check_metadata_of(text: &str) {
    let Ok(metadata) = serde_json::from_str::<Metadata>(text) else {
        return;
    };
    if check_metadata(&metadata).is_ok() {
        let written = serde_json::to_string(&metadata).expect("metadata is JSON");
        assert!(metadata.len() <= METADATA_KEYS_MAX && written.len() <= METADATA_BYTES_MAX);
        let read: Metadata = serde_json::from_str(&written).expect("as it was written");
        check_metadata(&read).expect("what is good stays good");
    }
}

fuzz_target!(|input: &str| {
    let (query, text) = input.split_once('\n').unwrap_or(("", input));
    check_links(text);
    check_snippet(text, query);
    let (headings, body) = headings_and_body(text);
    assert!(headings.len() + body.len() <= text.len() + text.split('\n').count());
    assert!(index_text(text).len() <= 3 * text.len());
    assert_eq!(index_text(text).replace(' ', ""), text.replace(' ', ""));
    assert!(meaning_text(query, text).len() <= query.len() + text.len() + 1);
    check_metadata_of(text);
});
