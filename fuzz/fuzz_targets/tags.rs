//! Calls that are written as tags: any text is read, each slot is found once, and what a person is shown of a report
//! does not depend on the pieces in which it came.

#![no_main]

use std::collections::BTreeSet;

use bonded_kernel::{Finish, Slot, StreamFilter, find_tags};
use libfuzzer_sys::fuzz_target;

const NONCE: &str = "0123abcd";

fn shown(pieces: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut filter = StreamFilter::new(NONCE);
    let mut shown: String = pieces
        .into_iter()
        .map(|piece| filter.push(piece.as_ref()))
        .collect();
    shown.push_str(&filter.finish());
    shown
}

fuzz_target!(|text: &str| {
    let offered = [
        Slot::Numbered(1),
        Slot::Numbered(2),
        Slot::Progress,
        Slot::Final,
    ];
    for finish in [Finish::Stop, Finish::Length, Finish::Unknown] {
        let found = find_tags(text, NONCE, &offered, finish);
        let slots: BTreeSet<Slot> = found.calls.iter().map(|call| call.slot).collect();
        assert_eq!(slots.len(), found.calls.len(), "a slot was used twice");
        for call in &found.calls {
            assert!(offered.contains(&call.slot));
            assert!(text.contains(&call.payload) && !call.payload.trim().is_empty());
            assert!(call.closed || call.slot == Slot::Final);
        }
    }
    let whole = shown([text]);
    let signs: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(whole, shown(&signs), "one sign after the other");
    let pairs: Vec<String> = signs.chunks(2).map(|pair| pair.concat()).collect();
    assert_eq!(whole, shown(&pairs), "in pairs");
    assert!(!whole.contains("</ai-agent-0123abcd-FINAL>"));
});
