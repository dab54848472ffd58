//! What a model wrote is found nowhere afterwards, but for what the workspace was told to keep.

use std::path::{Path, PathBuf};

use bonded_testkit::provider::{Reply, raw, refusal};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::model::{breaks_off, hangs, saying, streamed, whole};
use crate::place::Place;
use crate::server::Server;

/// Whether a word is in the log of a run that keeps what its model wrote. A reply that never came whole is in none.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    WithTheText,
    Never,
}

/// Words that stand in replies and in nothing that an instruction does.
const WORDS: [(&str, Kept); 16] = [
    ("zqunreadable", Kept::WithTheText),
    ("zqthought", Kept::WithTheText),
    ("zqinunclosed", Kept::WithTheText),
    ("zqserverquote", Kept::WithTheText),
    ("zqnotjson", Kept::WithTheText),
    ("zqbrokenoff", Kept::Never),
    ("zqstreamedprose", Kept::WithTheText),
    ("zqtagname", Kept::WithTheText),
    ("zqattribute", Kept::WithTheText),
    ("zqinunknown", Kept::WithTheText),
    ("zqcomment", Kept::WithTheText),
    ("zqcallname", Kept::WithTheText),
    ("zqhanging", Kept::Never),
    ("zqlastprose", Kept::WithTheText),
    ("zqdropped", Kept::WithTheText),
    ("zqclosing", Kept::WithTheText),
];

/// Words that instructions put into the memory and into a note.
const ALLOWED: [&str; 2] = ["zqremembered", "zqwritten"];

fn replies() -> Vec<Reply> {
    let note = json!({ "title": "A note", "markdown": "zqwritten" });
    let streamed_text = format!(
        "zqstreamedprose <zqtagname>zqinunknown</zqtagname><!-- zqcomment -->\
         <ram_add kind=\"zqattribute\"><key>k</key><value>zqattribute</value></ram_add>\
         <ram_add><key>plan</key><value>zqremembered</value></ram_add>\
         <record_add><keywords>k</keywords><value>{note}</value></record_add></zqclosing>"
    );
    vec![
        whole("zqunreadable <ram_add><key>zqinunclosed", "zqthought"),
        refusal(500, "cannot parse raw='zqserverquote'"),
        raw(200, "application/json", "zqnotjson"),
        breaks_off("zqbrokenoff"),
        streamed(&streamed_text, "zqcallname"),
        hangs("zqhanging <ram_add><key>plan</key>"),
        whole(
            "zqlastprose <record_add><value>zqdropped</value></record_add>\
             <state_add><state>idle</state></state_add>",
            "zqthought",
        ),
    ]
}

/// Everything that is left of a run: what was printed and answered, and where the data lies.
struct Left {
    place: Place,
    said: String,
}

/// The number of the request in whose middle the server is killed.
const KILLED_IN: usize = 6;

fn run_with(retains: bool) -> Left {
    let model = saying(replies());
    let server = Server::asking(&[&model]);
    let rule = json!({
        "workspace_id": server.workspace(), "trigger": "manual",
        "action_json": {
            "kind": "kjxlkj_agent",
            "provider": { "provider_kind": "lmstudio", "base_url": model.base_url(), "model": "m" },
            "mode": "yolo",
            "memory": { "retain_full_conversation_logs": retains },
            "loop": { "loop_delay_ms": 1, "idle_delay_ms": 1, "max_iterations": 10 },
        },
    });
    let rule = server.owner.post("/api/automation/rules", &rule).json();
    let launch = format!("/api/automation/rules/{}/launch", text(&rule["rule_id"]));
    let run = server.owner.post(&launch, &json!({})).json();
    model.wait_until_answered(KILLED_IN);
    let (place, first) = server.end(Signal::KILL);
    let server = Server::start_in(place);
    let answered = answers(&server, text(&run["run_id"]));
    let (place, second) = server.end(Signal::TERM);
    let printed = printed(&place, text(&run["run_id"]));
    Left {
        place,
        said: [first, second, answered, printed].concat(),
    }
}

/// What the API says of the run, once it has ended, and of everything around it.
fn answers(server: &Server, run: &str) -> String {
    let workspace = server.workspace();
    let mut socket = server.owner.socket();
    socket.follow_workspace(&workspace, Some(0));
    let mut said = String::new();
    loop {
        let event = socket.next();
        said.push_str(&event.to_string());
        let is_over = ["succeeded", "failed", "cancelled"].contains(&text(&event["status"]));
        if is_over {
            assert_eq!(event["status"], "succeeded", "{event}");
            break;
        }
    }
    let paths = [
        format!("/api/automation/runs/{run}"),
        format!("/api/automation/runs?workspace_id={workspace}"),
        format!("/api/automation/rules?workspace_id={workspace}"),
        format!("/api/issues?workspace_id={workspace}"),
        format!("/api/notes?workspace_id={workspace}"),
        format!("/api/search?workspace_id={workspace}&q=note"),
    ];
    for path in paths {
        let answered = server.owner.get(&path);
        assert_eq!(answered.status, 200, "{path}: {answered:?}");
        said.push_str(&answered.body);
    }
    said
}

/// What the command line says of the run; texts that lie packed in a file are read by it too.
fn printed(place: &Place, run: &str) -> String {
    let data = place.path("data").display().to_string();
    let store = place.path("store.db").display().to_string();
    let out = place.path("exported").display().to_string();
    let rows: [&[&str]; 5] = [
        &["--store", &store, "show", run, "--json"],
        &["--store", &store, "show", run],
        &["--store", &store, "replay", run],
        &["rule", "--data", &data, "runs"],
        &["export", "--data", &data, &out],
    ];
    let mut said = String::new();
    for words in rows {
        let done = place.bonded(words);
        assert_eq!(done.code, Some(0), "{words:?}: {done:?}");
        said.push_str(&done.stdout);
        said.push_str(&done.stderr);
    }
    said
}

/// Where a word is found: in what was said, or in which files, also in those that only the file system sees.
fn places_of(word: &str, left: &Left) -> Vec<PathBuf> {
    let mut found = vec![];
    if left.said.contains(word) {
        found.push(PathBuf::from("(said)"));
    }
    let mut waiting = vec![left.place.path("")];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).expect("a directory can be read") {
            let path = entry.expect("an entry can be read").path();
            match path.is_dir() {
                true => waiting.push(path),
                false if holds(&path, word) => found.push(path),
                false => {}
            }
        }
    }
    found
}

fn holds(path: &Path, word: &str) -> bool {
    let bytes = std::fs::read(path).expect("a file can be read");
    let finder = word.as_bytes();
    bytes.windows(finder.len()).any(|window| window == finder)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn without_conversation_logs_no_word_of_a_reply_is_left_anywhere() {
    let left = run_with(false);
    let found = WORDS.map(|(word, _)| (word, places_of(word, &left)));
    let found: Vec<_> = found.iter().filter(|(_, at)| !at.is_empty()).collect();
    assert!(found.is_empty(), "{found:#?}");
    for word in ALLOWED {
        assert_ne!(places_of(word, &left), Vec::<PathBuf>::new(), "{word}");
    }
}

#[test]
fn with_conversation_logs_every_word_of_a_whole_reply_is_there() {
    let left = run_with(true);
    for (word, kept) in WORDS {
        let is_there = !places_of(word, &left).is_empty();
        assert_eq!(is_there, kept == Kept::WithTheText, "{word}");
    }
}
