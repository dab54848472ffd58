//! Skills: what the model is told of them, what it reads, and what it never gets. The requests are those that a real
//! listener hears.

use std::fs::{File, remove_dir_all};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use bonded_testkit::provider::{self, Asked, Provider, Reply};
use serde_json::{Value, json};

use crate::done::{Done, kill, text};
use crate::place::{FOREVER_MS, Place, call, done, finish, report, start, with};
use crate::watch::{of_kind, write};

const CANARY: &str = "canary-of-the-person";

/// Writes a skill and gives its folder.
fn skill(place: &Place, folder: &str, description: &str, body: &str) -> PathBuf {
    let name = folder.rsplit('/').next().unwrap_or_default();
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n");
    place.write(&format!("{folder}/SKILL.md"), text);
    place.path(folder)
}

/// A project with the skill `pdf`, which has another file and a link to what the person keeps elsewhere.
fn project() -> Place {
    let place = Place::new();
    let folder = skill(
        &place,
        "work/.agents/skills/pdf",
        "Fills in forms",
        "Read references/forms.md.",
    );
    place.write(
        "work/.agents/skills/pdf/references/forms.md",
        "Press very hard.\n",
    );
    place.write("secret.txt", CANARY);
    symlink("../../../../secret.txt", folder.join("out.txt")).expect("a link can be made");
    place
}

fn trust(place: &Place) -> Done {
    let trusted = place.bonded(&["trust", "--yes", "."]);
    trusted.succeeds();
    trusted
}

fn reads(name: &str, more: Value) -> Reply {
    let mut arguments = more;
    arguments["name"] = json!(name);
    provider::call("skill", arguments)
}

fn ends() -> Reply {
    provider::call("done", json!({ "reason": "ok" }))
}

/// Runs a goal with a model that replies so: how it ended, and what was sent.
fn run(
    place: &Place,
    flags: &[&str],
    replies: impl IntoIterator<Item = Reply>,
) -> (Done, Vec<Asked>) {
    let provider = Provider::start();
    provider.say(replies);
    let url = provider.base_url();
    let words = ["run", "--model", "m", "--base-url", &url];
    let id = match flags.contains(&"--id") {
        true => &[][..],
        false => &["--id", "run"],
    };
    let ended = place.bonded(&[&words[..], id, flags, &["the goal"]].concat());
    (ended, provider.asked())
}

fn system(asked: &[Asked]) -> String {
    let first = asked.first().expect("the model was asked");
    first.texts()[0].clone()
}

#[test]
fn a_trusted_skill_is_offered_by_its_name_and_read_when_it_is_needed() {
    let place = project();
    trust(&place).says("instruct the model, as the skill pdf: Fills in forms (");
    let replies = [
        reads("pdf", json!({})),
        reads("pdf", json!({ "file": "references/forms.md" })),
        ends(),
    ];
    let (ended, asked) = run(&place, &[], replies);
    ended.succeeds();
    ended.says(" · 1 skill\n");
    assert!(
        asked[0].tools().contains(&"skill"),
        "{:?}",
        asked[0].tools()
    );
    let system = system(&asked);
    assert!(system.contains("- pdf: Fills in forms"), "{system}");
    assert!(!asked[0].whole().contains("Read references"), "{system}");
    assert!(
        asked[1].last().contains("Read references/forms.md."),
        "{:?}",
        asked[1]
    );
    assert!(
        asked[1]
            .last()
            .contains(r#""files":["references/forms.md"]"#),
        "{:?}",
        asked[1]
    );
    assert!(!asked[1].whole().contains("very hard"), "{:?}", asked[1]);
    assert!(
        asked[2].last().contains("Press very hard."),
        "{:?}",
        asked[2]
    );
    place.passes_the_audit("run");
}

#[test]
fn a_skill_that_is_not_trusted_is_not_offered_and_one_that_was_changed_is_trusted_no_more() {
    let place = project();
    let (ended, asked) = run(&place, &[], [ends()]);
    ended.succeeds();
    ended.says("are not offered until you trust them: pdf; to see what they say and trust it: bonded trust /");
    assert!(!asked[0].whole().contains("Fills in forms"), "{asked:?}");
    assert!(!asked[0].tools().contains(&"skill"), "{asked:?}");
    trust(&place);
    place.write("work/.agents/skills/pdf/references/forms.md", CANARY);
    for (flags, is_offered) in [
        (&["--id", "a"][..], false),
        (&["--id", "b", "--trust"], true),
        (&["--id", "c", "--no-trust"], false),
    ] {
        let provider = Provider::answering(|_| ends());
        let url = provider.base_url();
        let words = ["run", "--model", "m", "--base-url", &url];
        place
            .bonded(&[&words[..], flags, &["x"]].concat())
            .succeeds();
        let offered = provider.asked()[0].whole().contains("Fills in forms");
        assert_eq!(offered, is_offered, "{flags:?}");
    }
    let (refused, asked) = run(&place, &["--skills", "pdf"], []);
    refused.fails_with(4, "unknown-skill");
    refused.says("bonded trust");
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn a_skill_of_ten_megabytes_is_left_out_by_name_and_the_run_goes_on_with_the_others() {
    let place = project();
    let large = skill(&place, "work/.agents/skills/large", "Is large", "x");
    let file = File::options().write(true).open(large.join("SKILL.md"));
    let grown = file.and_then(|file| file.set_len(10 << 20));
    grown.expect("a file can have holes");
    let heavy = skill(&place, "work/.agents/skills/heavy", "Is heavy", "x");
    let asset = File::create(heavy.join("asset.bin")).and_then(|file| file.set_len(10 << 20));
    asset.expect("a file can have holes");
    trust(&place).says("large cannot be offered");
    let (ended, asked) = run(&place, &[], [ends()]);
    ended.succeeds();
    ended.says("skills/large is left out: its SKILL.md has more than 65536 bytes; keep what");
    ended.says("skills/heavy is left out: its files have more than 8388608 bytes together; move");
    assert!(
        system(&asked).ends_with("- pdf: Fills in forms"),
        "{asked:?}"
    );
    let (refused, _) = run(&place, &["--id", "named", "--skills", "large"], []);
    refused.fails_with(4, "unknown-skill");
    refused.says("65536");
}

#[test]
fn no_link_leads_out_of_a_skill_or_to_one_outside_of_the_project() {
    let place = project();
    skill(&place, "elsewhere/other", CANARY, CANARY);
    let link = place.work().join(".agents/skills/other");
    symlink("../../../elsewhere/other", link).expect("a link can be made");
    trust(&place);
    let mut files = vec!["out.txt", "../../../../secret.txt"];
    let outside = place.path("secret.txt").display().to_string();
    files.push(&outside);
    let asking = files
        .iter()
        .map(|file| reads("pdf", json!({ "file": file })));
    let (ended, asked) = run(&place, &[], asking.chain([ends()]));
    ended.succeeds();
    ended.says("the skill pdf is offered without out.txt");
    ended.says("other, which is a link that leads elsewhere");
    let heard: String = asked.iter().map(Asked::whole).collect();
    assert!(!heard.contains(CANARY), "{heard}");
    for asked in &asked[1..] {
        let last = asked.last();
        assert!(
            last.contains("(tool failed: unknown_skill_file: "),
            "{last}"
        );
    }
    // A link that was put there since is not followed either.
    let forms = place.work().join(".agents/skills/pdf/references/forms.md");
    let provider = Provider::answering(move |asked| match asked.outputs() {
        0 => {
            std::fs::remove_file(&forms).expect("it is there");
            symlink(&outside, &forms).expect("a link can be made");
            reads("pdf", json!({ "file": "references/forms.md" }))
        }
        _ => ends(),
    });
    let url = provider.base_url();
    let words = [
        "run",
        "--id",
        "later",
        "--model",
        "m",
        "--base-url",
        &url,
        "x",
    ];
    place.bonded(&words).succeeds();
    let last = provider.asked()[1].last();
    assert!(
        last.contains("skill_changed") && !last.contains(CANARY),
        "{last}"
    );
}

#[test]
fn a_skill_that_changes_while_the_run_works_is_not_shown() {
    let place = project();
    trust(&place);
    let file = place.work().join(".agents/skills/pdf/SKILL.md");
    let provider = Provider::answering(move |asked| match asked.outputs() {
        0 => {
            write(
                &file,
                format!("---\nname: pdf\ndescription: x\n---\n{CANARY}"),
            );
            reads("pdf", json!({}))
        }
        _ => ends(),
    });
    let url = provider.base_url();
    let words = [
        "run",
        "--id",
        "run",
        "--model",
        "m",
        "--base-url",
        &url,
        "x",
    ];
    place.bonded(&words).succeeds();
    let last = provider.asked()[1].last();
    assert!(
        last.contains("(tool failed: skill_changed: \"SKILL.md\" of the skill pdf has changed"),
        "{last}"
    );
    assert!(!provider.asked()[1].whole().contains(CANARY), "{last}");
    place.passes_the_audit("run");
}

#[test]
fn a_run_that_is_killed_continues_with_the_skills_that_it_began_with_and_replays_without_them() {
    let place = project();
    trust(&place);
    let replies = [
        call("skill", json!({ "name": "pdf" })),
        call(
            "skill",
            json!({ "name": "pdf", "file": "references/forms.md" }),
        ),
        with(done("ok"), "expect", json!(["Press very hard."])),
    ];
    let mut hanging = replies.clone();
    hanging[1] = with(hanging[1].take(), "delay_ms", FOREVER_MS);
    let script = place.script(&hanging);
    let child = start(&mut place.command(&["run", "--id", "run", "--model", &script, "goal"]));
    place.wait_for_entry("run", 2, "attempt_started");
    kill(child);
    place.script(&replies);
    // One that was found since is not offered to a run that began without it.
    skill(&place, "work/.agents/skills/new", "Is new", "x");
    let resumed = finish(start(
        place
            .command(&["resume", "run"])
            .current_dir(place.path("")),
    ));
    resumed.succeeds();
    let entries = place.entries("run");
    let outputs = of_kind(&entries, "tool_finished");
    assert!(
        text(&outputs[1]["output"]).contains("Press very hard."),
        "{outputs:?}"
    );
    remove_dir_all(place.work().join(".agents")).expect("it is there");
    place.passes_the_audit("run");
}

#[test]
fn the_persons_own_skills_need_no_trust_and_a_nearer_one_of_the_name_counts() {
    let place = project();
    skill(&place, ".agents/skills/pdf", "Is mine", "mine");
    skill(
        &place,
        ".agents/skills/notes",
        "Keeps notes: short ones",
        "mine",
    );
    let replies = || [reads("notes", json!({})), reads("note", json!({})), ends()];
    let (ended, asked) = run(&place, &[], replies());
    ended.succeeds();
    let before = system(&asked);
    assert!(
        before.contains("- notes: Keeps notes: short ones\n- pdf: Is mine"),
        "{before}"
    );
    assert!(asked[1].last().contains("mine"), "{:?}", asked[1]);
    let last = asked[2].last();
    assert!(
        last.contains("unknown_skill") && last.contains("did you mean notes?"),
        "{last}"
    );
    trust(&place);
    let (_, asked) = run(&place, &["--id", "trusted"], [ends()]);
    let after = system(&asked);
    assert!(
        after.contains("- pdf: Fills in forms") && !after.contains("Is mine"),
        "{after}"
    );
}

#[test]
fn which_skills_are_offered_is_an_option_and_without_tools_there_are_none() {
    let place = Place::new();
    skill(&place, ".agents/skills/one", "Is one", "1");
    skill(&place, ".agents/skills/two", "Is two", "2");
    for (id, flags, expected) in [
        ("a", &[][..], (true, true)),
        ("b", &["--skills", "none"], (false, false)),
        ("c", &["--skills", "two"], (false, true)),
        ("d", &["--tools", ""], (false, false)),
        ("e", &["--tools", "", "--skills", "all"], (true, true)),
    ] {
        let flags = [&["--id", id][..], flags].concat();
        let (ended, asked) = run(&place, &flags, [ends()]);
        ended.succeeds();
        let system = system(&asked);
        let found = (system.contains("- one: "), system.contains("- two: "));
        assert_eq!(found, expected, "{flags:?}: {system}");
    }
    let (refused, _) = run(&place, &["--skills", "tow"], []);
    refused.fails_with(4, "unknown-skill");
    refused.says("did you mean two?");
}

#[test]
fn a_long_skill_is_read_in_parts() {
    let place = Place::new();
    let lines: String = (0..3000).map(|n| format!("line {n} of it\n")).collect();
    skill(&place, ".agents/skills/long", "Is long", &lines);
    let provider = Provider::answering(|asked| {
        let last = asked.last();
        let next = last.split("\"next_line\":").nth(1);
        let next = next.and_then(|rest| rest.split(['}', ',']).next()?.parse::<u64>().ok());
        match (asked.outputs(), next) {
            (0, _) => reads("long", json!({})),
            (_, Some(next)) => reads("long", json!({ "offset": next })),
            _ => ends(),
        }
    });
    let url = provider.base_url();
    place
        .bonded(&[
            "run",
            "--id",
            "run",
            "--model",
            "m",
            "--base-url",
            &url,
            "x",
        ])
        .succeeds();
    let heard: String = provider.asked().iter().map(Asked::last).collect();
    for n in [0, 1500, 2999] {
        assert_eq!(heard.matches(&format!("line {n} of it")).count(), 1, "{n}");
    }
}

#[test]
fn nothing_that_a_skill_says_allows_a_tool() {
    let place = Place::new();
    place.write(
        ".agents/skills/bold/SKILL.md",
        "---\nname: bold\ndescription: Is bold\nallowed-tools: run, Bash(*)\n---\nRun it.\n",
    );
    let script = [
        call("skill", json!({ "name": "bold" })),
        call("run", json!({ "command": "touch made" })),
        done("ok"),
    ];
    let model = place.script(&script);
    place
        .bonded(&[
            "run", "--id", "run", "--deny", "run", "--model", &model, "x",
        ])
        .succeeds();
    assert!(!place.work().join("made").exists());
    let without = [
        "run", "--id", "b", "--tools", "read", "--model", &model, "x",
    ];
    place.bonded(&without);
    assert!(!place.work().join("made").exists());
}

#[test]
fn an_agent_has_the_skills_that_it_names_and_the_agents_that_it_calls_have_their_own() {
    let place = Place::new();
    skill(&place, ".agents/skills/one", "Is one", "the first");
    skill(&place, ".agents/skills/two", "Is two", "the second");
    let child = [
        call("skill", json!({ "name": "one" })),
        with(report("done"), "expect", json!(["the skills are two"])),
    ];
    place.agent("child", &child, "description: Helps\nskills: two");
    let parent = [
        call("skill", json!({ "name": "one" })),
        with(
            call(
                "agent__child",
                json!({ "prompt": "p", "reason": "r", "format": "sub-agent" }),
            ),
            "expect",
            json!(["the first"]),
        ),
        report("done"),
    ];
    let agent = place.agent("parent", &parent, "skills: [one]\nagents: child.ai");
    let agent = agent.display().to_string();
    let ended = place.bonded(&["run", "--id", "run", "--agent", &agent, "--json", "x"]);
    ended.succeeds();
    let none = place.agent("none", &[report("done")], "description: Has none");
    let none = none.display().to_string();
    place.bonded(&["run", "--id", "none", "--agent", &none, "x"]);
    let begun = place.entries("none");
    assert!(!text(&of_kind(&begun, "run_started")[0]["system"]).contains("- one: "));
    let wrong = place
        .agent("wrong", &[report("x")], "skills: [three]")
        .display()
        .to_string();
    let refused = place.bonded(&["run", "--agent", &wrong, "x"]);
    refused.fails_with(4, "unknown-skill");
    place
        .bonded(&["config", "check", "--agent", &wrong])
        .says("\"three\" cannot be offered");
}
