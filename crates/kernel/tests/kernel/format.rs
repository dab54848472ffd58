//! The log's format outlives builds: what an earlier build wrote is read, and written again in the same
//! bytes. The golden file of a version is never edited; a new version gets a new file.

use std::collections::BTreeSet;

use bonded_kernel::{Entry, Event, FORMAT, GoalId, Hash, Header, Millis, Report, RunId};

/// A version, its golden file, and the hash that the first line has as the first entry of a log.
struct Golden {
    format: u16,
    lines: &'static str,
    first_hash: &'static str,
}

const GOLDEN: [Golden; 10] = [
    Golden {
        format: 1,
        lines: include_str!("../golden/format-1.jsonl"),
        first_hash: "2f657915bcb7129c294b975ef8f0935e95d60d9ba2d84a58a5743ba5e8710840",
    },
    Golden {
        format: 2,
        lines: include_str!("../golden/format-2.jsonl"),
        first_hash: "af824d14c22a967ed587712434bedc91497f731196d0cfd78e561e804e7dbd6a",
    },
    Golden {
        format: 3,
        lines: include_str!("../golden/format-3.jsonl"),
        first_hash: "c7cb0e96ac3d6d3d9627cb89209bbc8893e52a948ac8fa2692bb17add2e378ef",
    },
    Golden {
        format: 4,
        lines: include_str!("../golden/format-4.jsonl"),
        first_hash: "56f4314565fed582884388cb65dcc60195d989d78ca9ae88ee6dab0170375952",
    },
    Golden {
        format: 5,
        lines: include_str!("../golden/format-5.jsonl"),
        first_hash: "aaa89b9057a2ea920caa13b164207fa29f9fe8c3517ed0f9c3a8fa455ff73272",
    },
    Golden {
        format: 6,
        lines: include_str!("../golden/format-6.jsonl"),
        first_hash: "6d26e419f0ef246bdc8da563ebcc81937707f4ffb8f01ec0c367a5b70e7e385d",
    },
    Golden {
        format: 7,
        lines: include_str!("../golden/format-7.jsonl"),
        first_hash: "587afc18c6665f34a6be2aff8b2b87b1a5a71885734e006ab2f95cffe3bcc0af",
    },
    Golden {
        format: 8,
        lines: include_str!("../golden/format-8.jsonl"),
        first_hash: "6c1d25d3bdec0b5de4328a2c59764dbe65df34e868ee9195ed83f57fc14f275e",
    },
    Golden {
        format: 9,
        lines: include_str!("../golden/format-9.jsonl"),
        first_hash: "b3eae9091f9228770f225bc86d797f000ae71ec8c731008a21a142c132c9f331",
    },
    Golden {
        format: 10,
        lines: include_str!("../golden/format-10.jsonl"),
        first_hash: "cf40324cacb7d3bd61dfe59db4142b442007c59a0158b3919da47aec9b8548eb",
    },
];

const KINDS: [&str; 22] = [
    "run_started",
    "run_resumed",
    "attempt_started",
    "attempt_failed",
    "target_learned",
    "reply_rejected",
    "decision_made",
    "call_repaired",
    "context_guarded",
    "context_compacted",
    "context_summarised",
    "turn_failed",
    "progress_reported",
    "review_asked",
    "call_reviewed",
    "tool_invoked",
    "tool_finished",
    "call_skipped",
    "memory_edited",
    "person_spoke",
    "run_ended",
    "goal_given",
];

/// What came with each format after the first.
const SINCE_2: [&str; 2] = ["call_repaired", "context_guarded"];
const SINCE_3: [&str; 3] = ["progress_reported", "review_asked", "call_reviewed"];
const SINCE_4: [&str; 1] = ["memory_edited"];
const SINCE_5: [&str; 1] = ["target_learned"];
const SINCE_6: [&str; 1] = ["context_compacted"];
const SINCE_7: [&str; 1] = ["context_summarised"];
const SINCE_8: [&str; 2] = ["person_spoke", "goal_given"];

/// The kinds of events that a format knows.
pub(crate) fn kinds_of(format: u16) -> Vec<&'static str> {
    KINDS
        .into_iter()
        .filter(|kind| format > 1 || !SINCE_2.contains(kind))
        .filter(|kind| format > 2 || !SINCE_3.contains(kind))
        .filter(|kind| format > 3 || !SINCE_4.contains(kind))
        .filter(|kind| format > 4 || !SINCE_5.contains(kind))
        .filter(|kind| format > 5 || !SINCE_6.contains(kind))
        .filter(|kind| format > 6 || !SINCE_7.contains(kind))
        .filter(|kind| format > 7 || !SINCE_8.contains(kind))
        .collect()
}

fn read(line: &str) -> Event {
    let event: Result<Event, _> = serde_json::from_str(line);
    assert!(event.is_ok(), "{event:?} in {line}");
    event.expect("checked just now")
}

#[test]
fn every_line_of_the_golden_files_is_read_and_written_back_byte_for_byte() {
    for line in GOLDEN.iter().flat_map(|golden| golden.lines.lines()) {
        let written = serde_json::to_string(&read(line)).expect("events have string keys");
        assert_eq!(written, line);
    }
}

#[test]
fn each_golden_file_has_every_kind_of_event_of_its_version() {
    for golden in &GOLDEN {
        let mut found: Vec<&str> = golden.lines.lines().map(|line| read(line).kind()).collect();
        found.dedup();
        assert_eq!(found, kinds_of(golden.format));
        for line in golden.lines.lines() {
            let name = format!("{{\"{}\":", read(line).kind());
            assert!(line.starts_with(&name), "{line}");
        }
    }
}

/// The names of all members of all objects, with the words that are values of their own kind.
fn words(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                found.insert(name.clone());
                words(value, found);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| words(item, found)),
        serde_json::Value::String(word) => drop(found.insert(word.clone())),
        _ => {}
    }
}

fn words_of(golden: &Golden) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in golden.lines.lines() {
        let value = serde_json::from_str(line).expect("a line is JSON");
        words(&value, &mut found);
    }
    found
}

#[test]
fn the_tenth_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[9]);
    let words = ["files", "reads_only", "skills"];
    assert!(words.iter().all(|word| found.contains(*word)));
}

#[test]
fn the_ninth_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[8]);
    let words = "images images_withheld type width height image/png image/jpeg image/gif image/webp none area pixels most tiles base \
         tile patches percent squares same";
    for word in words.split_whitespace() {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn the_seventh_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[6]);
    assert!(
        GOLDEN[6].lines.contains(r#""context":[730,26,90,812]"#),
        "what a request is estimated at"
    );
    let words = "claude window_source asked output_usual context_summary summary context_summarised until overflow window sent \
         beside_the_report held";
    for word in words.split_whitespace() {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn the_eighth_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[7]);
    let words = "overall conversation goal_given person_spoke limits targets policy sums_up";
    for word in words.split_whitespace() {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn the_sixth_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[5]);
    let text = GOLDEN[5].lines;
    assert!(
        text.contains("resource"),
        "it stands in the text of the catalogue"
    );
    for word in ["edition", "builtin", "program", "shown_bytes", "FROM_TEXT"] {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn the_fifth_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[4]);
    let fields = "accepts temperature_max top_p top_k temperature_with_top_p penalty output_limit thinking efforts thinks_unasked \
         tool_choice_required system_role alternates user_after_tool thought_return signed_thoughts calls_need_tools call_ids \
         stream_usage parallel_tool_calls prompt_cache_key service_tier refused_custom \
         key_header custom lesson leave_out leave_out_custom route price_listed above tokens";
    let values = "xhigh max adaptive budget level routed switch none repeat_penalty max_completion_tokens developer \
         content details bound left_out alternate no_user_after_tool calls_need_tools nine short caching";
    for word in fields.split_whitespace().chain(values.split_whitespace()) {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn the_fourth_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[3]);
    let fields = "looping rule_id segments prompt_hash parser_version strict allowed_tags mode scope workspace_id \
         allowed_note_kinds cross_workspace_writes max_notes_per_loop max_edits_per_loop strict_scope loop_delay_ms \
         idle_delay_ms paging_bytes keeps_text memory memory_file withheld code set removed";
    let values = "yolo reviewed out_of_scope denied";
    for word in fields.split_whitespace().chain(values.split_whitespace()) {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn the_third_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[2]);
    let fields = "family own_tools batch progress output_kept_bytes_max rescues kept ledger snapshots policy rules \
         permission untrusted trusted after_untrusted begins_marked nonce above sandbox level required network env \
         cpu_s memory_bytes processes file_bytes refused member why verdict by reason marked";
    let values = "ask deny allow read-only workspace-write full empty_batch invalid_batch not_in_batch denied \
         approved untrusted";
    for word in fields.split_whitespace().chain(values.split_whitespace()) {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn the_second_golden_file_has_every_field_that_came_with_it() {
    let found = words_of(&GOLDEN[1]);
    let fields = "agent nonce encoding report schema parent origin path repairs keeps_originals dialect sampling top_p top_k \
         repeat_penalty reasoning tool_choice caching window buffer vocabulary secrets_in counted context \
         calls signed cost stop_reason provider written original_tool tag format unclosed original steps \
         result blocked still_over spent agents config_files file projected limit tokens dropped stub_tokens";
    let values = "native xml-final xml no_call malformed cut_off not_offered context_budget tool_preflight \
         turn_preflight messages responses gemini off minimal low medium high auto required cl100k o200k";
    for word in fields.split_whitespace().chain(values.split_whitespace()) {
        assert!(found.contains(word), "{word}");
    }
}

#[test]
fn a_report_in_the_log_is_read_as_one() {
    let reports = GOLDEN[1].lines.lines().filter_map(|line| match read(line) {
        Event::RunEnded(ended) => ended.report.filter(|report| report.blob().is_none()),
        _ => None,
    });
    let reports: Vec<Report> = reports
        .map(|report| serde_json::from_str(&report).expect("a report"))
        .collect();
    assert_eq!(reports.len(), 1);
    let content = reports[0].content.as_ref().map(ToString::to_string);
    assert_eq!(content.as_deref(), Some("# Tidy"));
}

#[test]
fn what_this_build_writes_has_the_format_of_the_last_golden_file() {
    let last = GOLDEN.last().map(|golden| golden.format);
    assert_eq!(
        last,
        Some(FORMAT),
        "a new format needs a golden file of its own"
    );
}

fn first_header(format: u16) -> Header {
    Header {
        format,
        run: RunId::new("run-1").expect("a usable id"),
        goal: GoalId::of("tidy the shed"),
        seq: 1,
        at: Millis(1_700_000_000_000),
        turn: 0,
        prev: Hash::ZERO,
    }
}

#[test]
fn the_hash_of_a_known_entry_is_what_it_always_was() {
    for golden in &GOLDEN {
        let line = golden
            .lines
            .lines()
            .next()
            .expect("a golden file has lines");
        let hash: Hash = golden.first_hash.parse().expect("64 hexadecimal digits");
        let body: std::sync::Arc<[u8]> = line.as_bytes().into();
        let opened = Entry::open(first_header(golden.format), None, body, |_| None);
        assert_eq!(opened.map(|entry| entry.hash), Ok(hash));
    }
}
