//! Runs that plan change nothing, whatever their model tries, and what they propose is carried out by others or written as a plan
//! file.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bonded_testkit::provider::{self, Provider};
use serde_json::{Value, json};

use crate::place::{Done, Place, call, done, finish, start};
use crate::watch::{of_kind, read};

/// Mode, times and content of everything in a directory, itself included, as a look from outside finds it.
fn seen(dir: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(path) = open.pop() {
        let meta = path.symlink_metadata().expect("it is there");
        let content = match meta.is_dir() {
            true => {
                let entries = std::fs::read_dir(&path).expect("it can be read");
                open.extend(entries.map(|entry| entry.expect("it can be read").path()));
                vec![]
            }
            false => std::fs::read(&path).expect("it can be read"),
        };
        let look = (meta.mode(), meta.mtime(), meta.mtime_nsec(), content);
        found.insert(path, look);
    }
    found
}

fn furnished() -> Place {
    let place = Place::new();
    place.write("work/kept.txt", "kept\n");
    place.write("work/sub/deep.txt", "deep\n");
    place
}

/// Plays a script that plans under the id `plan`.
fn planned(place: &Place, flags: &[&str], lines: &[Value]) -> Done {
    let script = place.script_named("planner", lines);
    let fixed = ["run", "--plan", "--id", "plan", "--model", &script];
    place.bonded(&[&fixed, flags, &["tidy up"]].concat())
}

/// The message with which a call of a turn was refused.
fn refusals(place: &Place, run: &str) -> Vec<String> {
    let entries = place.entries(run);
    let decisions = of_kind(&entries, "decision_made").into_iter();
    let calls = decisions.flat_map(|decision| decision["calls"].as_array().into_iter().flatten());
    let messages = calls.filter_map(|call| call["refused"]["message"].as_str());
    messages.map(str::to_owned).collect()
}

#[test]
fn a_run_that_plans_is_offered_what_reads_and_told_to_answer_with_a_plan() {
    let place = furnished();
    let provider =
        Provider::answering(|_| provider::call("done", json!({ "reason": "1. Sweep." })));
    let url = provider.base_url();
    let words = [
        "run",
        "--plan",
        "--model",
        "m",
        "--base-url",
        &url,
        "tidy up",
    ];
    let ran = place.bonded(&words);
    ran.succeeds();
    assert_eq!(ran.stdout, "1. Sweep.\n");
    let asked = provider.asked();
    let mut offered = asked[0].tools();
    offered.sort_unstable();
    assert_eq!(
        offered,
        ["done", "list", "read", "run", "search", "tool_output"]
    );
    assert!(asked[0].texts()[0].contains("This run plans and changes nothing."));
    // The same run without it has all.
    let words = ["run", "--model", "m", "--base-url", &url, "tidy up"];
    place.bonded(&words).succeeds();
    let tools = provider.asked()[1].tools().len();
    assert_eq!(tools, 9);
}

#[test]
fn a_model_that_writes_all_the_same_is_refused_and_nothing_is_there() {
    let place = furnished();
    let before = seen(&place.work());
    let lines = [
        call("write", json!({ "path": "new.txt", "content": "x" })),
        call(
            "edit",
            json!({ "path": "kept.txt", "old": "kept", "new": "lost" }),
        ),
        call("append", json!({ "path": "kept.txt", "content": "more" })),
        done("1. Sweep."),
    ];
    planned(&place, &["--sandbox", "full", "--no-progress", "0"], &lines).succeeds();
    assert_eq!(seen(&place.work()), before);
    let refused = refusals(&place, "plan");
    assert_eq!(refused.len(), 3, "{refused:?}");
    for message in refused {
        assert!(
            message.starts_with("this run changes nothing: "),
            "{message}"
        );
    }
    let entries = place.entries("plan");
    let invoked = of_kind(&entries, "tool_invoked");
    let invoked: Vec<&Value> = invoked.into_iter().map(|call| &call["tool"]).collect();
    assert_eq!(invoked, ["done"]);
    place.passes_the_audit("plan");
}

#[test]
fn commands_of_a_run_that_plans_leave_nothing_whatever_was_allowed_them() {
    let attempt = "echo evil > kept.txt; echo evil > new.txt; mkdir made; rm -rf sub; mv kept.txt gone; chmod 777 .; touch .; \
         echo evil > ../outside; echo evil > /tmp/evil-of-a-plan; echo evil > $HOME/left; echo evil > $TMPDIR/left; \
         cat kept.txt $HOME/left; true";
    let look = "cat kept.txt; ls $HOME $TMPDIR; true";
    for flags in [
        &[][..],
        &[
            "--sandbox",
            "full",
            "--sandbox-network",
            "--sandbox-best-effort",
        ],
        &["--override", "readOnly=false", "--override", "sandbox=full"],
    ] {
        let place = furnished();
        place.write("outside", "outside");
        let before = (seen(&place.work()), read(&place.path("outside")));
        let lines = [
            call("run", json!({ "command": attempt })),
            call("run", json!({ "command": look })),
            done("1. Sweep."),
        ];
        planned(&place, flags, &lines).succeeds();
        let after = (seen(&place.work()), read(&place.path("outside")));
        assert_eq!(after, before, "{flags:?}");
        assert!(!Path::new("/tmp/evil-of-a-plan").exists());
        let homes = place.path(".local/share/bonded/homes");
        assert!(!homes.exists(), "a home is kept: {flags:?}");
        let entries = place.entries("plan");
        let finished = of_kind(&entries, "tool_finished");
        let outputs: Vec<&str> = finished
            .iter()
            .filter_map(|it| it["output"].as_str())
            .collect();
        // While it ran, it had a home of its own to write to.
        assert!(outputs[0].contains("kept\\nevil"), "{}", outputs[0]);
        assert!(
            outputs[1].contains("kept") && !outputs[1].contains("left"),
            "{}",
            outputs[1]
        );
        let invoked = of_kind(&entries, "tool_invoked").into_iter();
        for call in invoked.filter(|call| call["tool"] == "run") {
            assert_eq!(
                (&call["effect"], &call["sandbox"]),
                (&json!("read"), &json!("read-only"))
            );
        }
    }
}

#[test]
fn a_next_goal_does_not_lift_what_the_run_began_with() {
    let place = furnished();
    let before = seen(&place.work());
    let write = call("write", json!({ "path": "new.txt", "content": "x" }));
    planned(&place, &[], &[done("1. Sweep."), write, done("tried")]).succeeds();
    place.bonded(&["run", "-c", "now do it"]).succeeds();
    assert_eq!(seen(&place.work()), before);
    assert_eq!(refusals(&place, "plan").len(), 1);
}

#[test]
fn a_plan_is_carried_out_by_another_run_in_its_directory() {
    let place = furnished();
    planned(&place, &[], &[done("1. Write new.txt.\n</plan>\n2. Rest.")]).succeeds();
    let write = call("write", json!({ "path": "new.txt", "content": "x" }));
    let script = place.script_named("worker", &[write, done("written")]);
    let elsewhere = place.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory can be made");
    let words = [
        "run",
        "--from-plan",
        "pl",
        "--id",
        "work",
        "--model",
        &script,
        "only step 1",
    ];
    let ran = finish(start(place.command(&words).current_dir(&elsewhere)));
    ran.succeeds();
    assert_eq!(read(&place.path("work/new.txt")), "x");
    let entries = place.entries("work");
    let goal = entries[0]["data"]["goal"].as_str().expect("a goal");
    for part in [
        "Run plan proposed it for this goal:\ntidy up\n",
        "only step 1",
        "1. Write new.txt.\n</plan>\n2. Rest.\n</plan-",
    ] {
        assert!(goal.contains(part), "{part:?} in {goal}");
    }
    // Given again it is the same goal, and the run that has its id answers.
    let again = finish(start(place.command(&words).current_dir(&elsewhere)));
    assert_eq!((again.code, again.stdout), (Some(0), "written\n".into()));
    // Without words nothing is waited for on stdin.
    let words = ["run", "--from-plan", "plan", "--model", &script];
    place.bonded(&words).succeeds();
}

#[test]
fn a_run_that_has_no_plan_is_refused_with_the_reason() {
    let place = furnished();
    place.play(&[done("did it")]).succeeds();
    let script = place.script_named("worker", &[done("unused")]);
    let carry_out = |run: &str| place.bonded(&["run", "--from-plan", run, "--model", &script]);
    let acted = carry_out("run");
    acted.fails_with(1, "no-plan");
    acted.says("it could change things");
    carry_out("nobody").fails_with(4, "unknown-run");
    let failed = planned(&place, &["--max-turns", "1"], &[call("list", json!({}))]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let refused = carry_out("plan");
    refused.fails_with(1, "no-plan");
    refused.says("it ended without an answer");
    assert_eq!(place.listed().len(), 2, "nothing was begun");
    for words in [
        &["-c", "--plan"][..],
        &["--plan", "--from-plan", "plan"],
        &["--work-plan", "f"],
    ] {
        let words = [&["run"][..], words, &["goal"]].concat();
        assert_eq!(place.bonded(&words).code, Some(4), "{words:?}");
    }
}

#[test]
fn a_plan_that_was_made_of_untrusted_data_marks_the_run_that_carries_it_out() {
    let place = furnished();
    let look = call("read", json!({ "path": "kept.txt" }));
    let doubting = ["--untrusted", "read", "--after-untrusted", "ask"];
    planned(&place, &doubting, &[look, done("1. Write new.txt.")]).succeeds();
    let write = call("write", json!({ "path": "new.txt", "content": "x" }));
    let script = place.script_named("worker", &[write, done("written")]);
    let fixed = [
        "run",
        "--from-plan",
        "plan",
        "--id",
        "work",
        "--model",
        &script,
    ];
    let waits = place.bonded(&[&fixed[..], &doubting].concat());
    assert_eq!(waits.code, Some(6), "{waits:?}");
    assert!(!place.path("work/new.txt").exists());
}

const GOOD: &str =
    "- id: sweep\n  agent_id: agent-1\n  description: Sweep the floor.\n  test_command: 'true'";

/// Plays a script that writes a plan file `plan.yaml`.
fn planned_file(place: &Place, lines: &[Value]) -> Done {
    planned(place, &["--work-plan", "../plan.yaml"], lines)
}

#[test]
fn a_plan_file_is_written_once_there_is_nothing_wrong_with_it() {
    let place = furnished();
    let block = format!("```yaml\n{GOOD}\n```");
    let lines = [
        done("1. Sweep."),
        done("- id: sweep\n  agent_id: nobody\n"),
        done(&block),
    ];
    let before = seen(&place.work());
    let ran = planned_file(&place, &lines);
    ran.succeeds();
    ran.says("wrote ");
    assert_eq!(read(&place.path("plan.yaml")), format!("{GOOD}\n"));
    assert_eq!(seen(&place.work()), before);
    let entries = place.entries("plan");
    let goals = of_kind(&entries, "goal_given");
    assert_eq!(goals.len(), 2);
    let told = goals[1]["goal"].as_str().unwrap_or_default();
    assert!(
        told.contains("line ") && told.contains("agent_id"),
        "{told}"
    );
    place.passes_the_audit("plan");
    let plan = place.path("plan.yaml").display().to_string();
    place.bonded(&["work", &plan, "--dry-run"]).succeeds();
    // It replaces no file, and no model is asked for one that it could not write.
    let again = planned_file(&place, &lines);
    again.fails_with(4, "usage");
    again.says("a plan replaces no file");
    planned(&place, &["--work-plan", "nowhere/plan.yaml"], &lines).fails_with(4, "usage");
    assert_eq!(place.listed().len(), 1);
}

#[test]
fn mistakes_are_given_back_three_times_and_then_nothing_is_written() {
    let place = furnished();
    let bad: Vec<Value> = (0..5)
        .map(|nth| done(&format!("- id: {nth} bad")))
        .collect();
    let ran = planned_file(&place, &bad);
    ran.fails_with(1, "no-plan");
    assert!(!place.path("plan.yaml").exists());
    assert_eq!(of_kind(&place.entries("plan"), "goal_given").len(), 3);
    assert_eq!(ran.stdout, "", "no answer is given out");
}

#[test]
fn a_plan_file_is_not_written_for_a_run_that_fails() {
    let place = furnished();
    let blocked = planned_file(&place, &[done("blocked: there is no floor")]);
    assert_eq!(blocked.code, Some(1), "{blocked:?}");
    assert!(!place.path("plan.yaml").exists());
}
