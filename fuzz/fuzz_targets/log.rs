//! The log: any line is an event or refused, an event is written and read as the same, and whatever entries follow one
//! another, a run folds out of them, says what comes next, and is audited.

#![no_main]

use std::sync::Arc;

use bonded_kernel::{
    Entry, Event, FORMAT, GoalId, Head, Header, Millis, RunId, audit, next, replay, request,
};
use libfuzzer_sys::fuzz_target;

fn open(seq: u64, turn: u32, head: Head, line: &[u8]) -> Option<Entry> {
    let header = Header {
        format: FORMAT,
        run: RunId::new("run").expect("it is an id"),
        goal: GoalId::of("goal"),
        seq,
        at: Millis(1_794_744_000_000 + seq),
        turn,
        prev: head.hash,
    };
    let body: Arc<[u8]> = line.into();
    Entry::open(header, None, body, |_| Some("a long text".into())).ok()
}

fn check_event(line: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Event>(line) else {
        return;
    };
    let written = serde_json::to_vec(&event).expect("an event is JSON");
    let read: Event = serde_json::from_slice(&written).expect("as it was written");
    assert_eq!(read, event);
    assert_eq!(
        serde_json::to_vec(&read).expect("an event is JSON"),
        written
    );
}

fuzz_target!(|log: &[u8]| {
    let mut entries: Vec<Entry> = vec![];
    let (mut head, mut turn) = (Head::EMPTY, 0);
    for line in log.split(|byte| *byte == b'\n') {
        check_event(line);
        let Some(entry) = open(head.seq + 1, turn, head, line) else {
            continue;
        };
        if matches!(entry.event, Event::AttemptStarted { .. }) {
            turn += 1;
        }
        head = entry.head();
        entries.push(entry);
    }
    if let Ok(run) = replay(&entries) {
        assert_eq!(run.head(), head);
        let effect = format!("{:?}", next(&run));
        let again = replay(&entries).expect("it was a log just now");
        assert_eq!(effect, format!("{:?}", next(&again)));
        let _ = (request(&run), audit(&entries));
    }
});
