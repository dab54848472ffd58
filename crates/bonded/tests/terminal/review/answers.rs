//! Yes, no, no with a reason; and what is no answer.

use serde_json::json;

use super::{ASKING, KEYS, LEAP, playing};
use super::{approved, asked, command, edit, ends_well, holds, person, place, press, verdicts};
use crate::place::{Place, call, report};
use crate::terminal::{CTRL_C, ENTER, Size, Terminal};

fn leap(place: &Place) -> String {
    std::fs::read_to_string(place.work().join("leap.sh")).expect("it is there")
}

#[test]
fn a_yes_executes_the_call_and_the_run_ends_in_the_same_process() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    assert_eq!(leap(&place), LEAP, "nothing is changed before the answer");
    press(&terminal, "y", &format!("✓ approved by {}", person()));
    let screen = ends_well(terminal);
    let last = format!("? help   y\n✓ approved by {}\nthe answer", person());
    assert!(screen.trim_end().ends_with(&last), "{screen}");
    assert!(leap(&place).contains("% 400"));
    assert_eq!(verdicts(&place), [approved(&person())]);
    holds(&place);
}

#[test]
fn a_no_passes_the_call_over_and_the_run_goes_on() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    press(&terminal, "n", &format!("✗ denied by {}", person()));
    ends_well(terminal);
    assert_eq!(leap(&place), LEAP);
    let denied = json!({ "denied": { "reason": "" } });
    assert_eq!(verdicts(&place), [(denied, person())]);
    holds(&place);
}

#[test]
fn a_reason_is_typed_and_the_model_reads_it() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    press(&terminal, "e", "no, because: ");
    terminal.type_keys("not that fils");
    terminal.wait_for("because: not that fils");
    terminal.type_keys("\u{7f}");
    terminal.wait_until("the letter is gone", |screen| !screen.contains("fils"));
    terminal.type_keys("e");
    terminal.wait_for("because: not that file");
    terminal.type_keys(ENTER);
    ends_well(terminal);
    let denied = json!({ "denied": { "reason": "not that file" } });
    assert_eq!(verdicts(&place), [(denied, person())]);
    holds(&place);
}

#[test]
fn a_reason_that_is_taken_back_leaves_the_question() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    press(&terminal, "e", "no, because: ");
    terminal.type_keys("never mind");
    terminal.wait_for("never mind");
    terminal.type_keys("\u{1b}");
    terminal.wait_until("the question again", |screen| {
        screen.matches(KEYS).count() == 2
    });
    press(&terminal, "y", "✓ approved by");
    ends_well(terminal);
}

#[test]
fn keys_that_were_typed_before_the_question_was_read_are_no_answer() {
    let place = place();
    let playing = playing(&place, &[edit()], ASKING);
    let terminal = Terminal::start(&playing, Size::USUAL);
    terminal.type_keys("yyyy");
    terminal.wait_for(KEYS);
    // From here on somebody leans on the key.
    let leant = super::press_until(&terminal, "y", "an answer", |screen| {
        terminal.type_keys("y");
        screen.contains("✓ approved by")
    });
    assert_eq!(leant.matches("✓").count(), 1, "{leant}");
    ends_well(terminal);
    let at = |kind: &str| {
        let entries = place.entries("run");
        let entry = entries.iter().find(|entry| entry["kind"] == kind);
        entry.expect("it is there")["at"].as_u64().expect("a time")
    };
    assert!(at("call_reviewed") - at("review_asked") >= 300);
}

#[test]
fn what_is_pasted_and_what_means_nothing_is_no_answer() {
    let place = place();
    let terminal = asked(&place, &[edit()]);
    for keys in ["yes please", "y\r", "\u{4}", "\r", "\u{1b}[A", "x"] {
        super::press_until(&terminal, "?", "help", |_| true);
        terminal.type_keys(keys);
    }
    press(&terminal, "n", "✗ denied by");
    ends_well(terminal);
    assert_eq!(leap(&place), LEAP);
}

#[test]
fn calls_of_one_reply_are_asked_about_one_after_the_other() {
    let place = place();
    let two = json!({ "calls": [
        { "tool": "write", "arguments": { "path": "one", "content": "1\n" } },
        { "tool": "write", "arguments": { "path": "two", "content": "2\n" } },
    ] });
    let terminal = asked(&place, &[two]);
    press(&terminal, "n", "? write two");
    press(&terminal, "y", "✓ approved by");
    ends_well(terminal);
    assert!(!place.work().join("one").exists());
    assert!(place.work().join("two").exists());
    holds(&place);
}

#[test]
fn a_terminal_that_cannot_redraw_is_answered_by_words() {
    let place = place();
    let mut playing = playing(&place, &[edit()], ASKING);
    playing.env("TERM", "dumb");
    let terminal = Terminal::start(&playing, Size::USUAL);
    terminal.wait_for("and press Enter:");
    press(&terminal, "because\n", "no, because:");
    press(&terminal, "too early\n", "denied by");
    let screen = ends_well(terminal);
    assert!(!screen.contains('\u{1b}'), "{screen}");
    assert!(verdicts(&place)[0].0.to_string().contains("too early"));
}

#[test]
fn with_no_prompt_a_terminal_is_left_as_before() {
    let place = place();
    let flags = [ASKING, &["--no-prompt"]].concat();
    let terminal = Terminal::start(&playing(&place, &[edit()], &flags), Size::USUAL);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(6), "{screen}");
    assert!(screen.contains("bonded approve run"), "{screen}");
}

#[test]
fn approve_and_resume_ask_the_same_question() {
    let place = place();
    for words in [["approve", "run"], ["resume", "run"]] {
        let mut playing = playing(&place, &[edit(), command("true")], ASKING);
        playing.arg("--no-prompt");
        if words[0] == "approve" {
            let (code, _) = Terminal::start(&playing, Size::USUAL).end();
            assert_eq!(code, Some(6));
        }
        let terminal = Terminal::start(&place.command(&words), Size::USUAL);
        terminal.wait_for(KEYS);
        press(&terminal, "n", "✗ denied by");
        if words[0] == "approve" {
            terminal.wait_for("? run");
            press(&terminal, CTRL_C, "Resume: bonded resume run");
            assert_eq!(terminal.end().0, Some(130));
        } else {
            ends_well(terminal);
        }
    }
    assert_eq!(verdicts(&place).len(), 2);
    holds(&place);
}

#[test]
fn time_at_the_question_is_not_counted() {
    let place = place();
    let terminal = asked(
        &place,
        &[call("write", json!({ "path": "a", "content": "x" }))],
    );
    press(&terminal, "y", "✓ approved by");
    ends_well(terminal);
    let entries = place.entries("run");
    let at = |entry: &serde_json::Value| entry["at"].as_u64().expect("a time");
    let of = |kind: &str| {
        at(entries
            .iter()
            .find(|it| it["kind"] == kind)
            .expect("it is there"))
    };
    let passed = at(&entries[entries.len() - 1]) - at(&entries[0]);
    let looked = of("call_reviewed") - of("review_asked");
    assert!(looked >= 300, "somebody looked: {looked}");
    let script = place.path("script.jsonl").display().to_string();
    let model = format!("script:{script}");
    let again = place.bonded(&["run", "--id", "run", "--json", "--model", &model, "go"]);
    let elapsed = again.json()["elapsedMs"].as_u64().expect("a time");
    assert!(
        elapsed + looked <= passed,
        "{elapsed} of {passed}, {looked} of it at the question"
    );
}

#[test]
fn agents_that_were_called_at_the_same_time_are_asked_about_one_after_the_other() {
    let place = Place::new();
    let child = |name: &str| {
        let write = call("write", json!({ "path": name, "content": "x\n" }));
        let front = "description: Writes.\ntools: builtin";
        place.agent(name, &[write, report("written")], front);
    };
    child("first");
    child("second");
    let asked = json!({ "prompt": "write", "reason": "a title", "format": "sub-agent" });
    let both = json!({ "calls": [
        { "tool": "agent__first", "arguments": asked },
        { "tool": "agent__second", "arguments": asked },
    ] });
    let front = "agents: [first.ai, second.ai]\ntools: builtin\napprovals: {ask: [write]}";
    let caller = place.agent("caller", &[both, report("the answer")], front);
    let caller = caller.display().to_string();
    let run = [
        "run", "--trust", "--id", "run", "--quiet", "--agent", &caller, "go",
    ];
    let terminal = Terminal::start(&place.command(&run), Size::USUAL);
    terminal.wait_for(KEYS);
    assert!(
        terminal.screen().contains("agent first ·"),
        "{}",
        terminal.screen()
    );
    press(&terminal, "y", "? write second");
    press(&terminal, "n", "✗ denied by");
    ends_well(terminal);
    assert!(place.work().join("first").exists());
    assert!(!place.work().join("second").exists());
    holds(&place);
}
