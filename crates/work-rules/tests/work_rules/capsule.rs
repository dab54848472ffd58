//! Capsules: what a log and a copy of the tree say that a run did.

use bonded_kernel::{Entry, Hash, Outcome, OwnTools, Parent, ReplyCall, RunId, TerminationKind};
use bonded_work_rules::{ArtifactKind, CallStatus, Capsule, Tree, prompt_of, tool_trace};

use crate::common::{path, tree};
use crate::run::{BEGIN, LoggedRun, call, config, done, look, push};

/// The log of a run that calls these tools, one in each turn, and is done.
pub(crate) fn log(tools: &[&str]) -> Vec<Entry> {
    let mut run = LoggedRun::begin(config());
    for tool in tools {
        run.calls([match *tool {
            "look" => look("."),
            _ => push("x"),
        }]);
        run.ok("fine");
    }
    run.calls([done("made it")]);
    run.entries.clone()
}

pub(crate) fn capsule(tools: &[&str], before: &Tree, after: &Tree) -> Capsule {
    Capsule::seal(&log(tools), &[], before, after).expect("the log of a run")
}

#[test]
fn a_capsule_says_what_changed_what_was_called_and_how_it_ended() {
    let before = tree(&[("a", "1"), ("gone", "1"), ("agent.ai", "1")]);
    let after = tree(&[("a", "2"), ("new/n", "1"), ("agent.ai", "2")]);
    let capsule = capsule(&["look", "push"], &before, &after);
    assert_eq!(capsule.run.as_str(), "run-1");
    assert_eq!(capsule.started_at, BEGIN);
    assert_eq!(
        (capsule.before_hash, capsule.after_hash),
        (before.hash(), after.hash())
    );
    let kind = capsule.termination.as_ref().map(|it| it.kind);
    assert_eq!(kind, Some(TerminationKind::Done));
    let names: Vec<&str> = capsule
        .tool_trace
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["look", "push"],
        "the call that ends the run is no operation"
    );

    let artifacts: Vec<_> = capsule
        .artifacts
        .iter()
        .map(|it| (it.path.to_string(), it.kind, it.hash))
        .collect();
    let hash = |content: &str| Some(Hash::of(content.as_bytes()));
    let expected = [
        ("a".to_owned(), ArtifactKind::Modified, hash("2")),
        ("agent.ai".to_owned(), ArtifactKind::Modified, hash("2")),
        ("gone".to_owned(), ArtifactKind::Deleted, None),
        ("new/n".to_owned(), ArtifactKind::Created, hash("1")),
    ];
    assert_eq!(artifacts, expected);
    let footprint = capsule.footprint;
    assert_eq!(
        (
            footprint.files_touched,
            footprint.delta_size,
            footprint.tool_ops
        ),
        (4, 4, 2)
    );

    let deltas = &capsule.deltas;
    let laws: Vec<_> = deltas
        .delta_lambda
        .iter()
        .map(|it| it.path.clone())
        .collect();
    assert_eq!(laws, [path("agent.ai")]);
    assert_eq!(
        (
            deltas.delta_o.len(),
            deltas.delta_pi.len(),
            deltas.delta_q.len()
        ),
        (4, 0, 0)
    );
}

#[test]
fn a_sealed_capsule_has_a_hash_that_any_change_breaks() {
    let (before, after) = (tree(&[("a", "1")]), tree(&[("a", "2")]));
    let sealed = capsule(&["look"], &before, &after);
    assert!(sealed.is_whole());
    assert_eq!(sealed.capsule_hash.to_string().len(), 64);
    let mut changed = sealed.clone();
    changed.tool_trace.clear();
    assert!(!changed.is_whole());
    let mut changed = sealed.clone();
    changed.deltas.delta_o.clear();
    assert!(!changed.is_whole());
    let written = serde_json::to_string(&sealed).expect("a capsule is JSON");
    let back: Capsule = serde_json::from_str(&written).expect("its own JSON");
    assert!(back.is_whole());
    assert_eq!(back, sealed);
}

#[test]
fn a_call_has_its_times_its_status_and_the_hashes_of_what_went_in_and_out() {
    let mut run = LoggedRun::begin(config());
    let cases = [
        (Outcome::Ok, CallStatus::Success, None),
        (Outcome::Failed, CallStatus::Error, Some("no such file")),
        (Outcome::TimedOut, CallStatus::Timeout, Some("no such file")),
    ];
    for (at, (outcome, _, error)) in cases.iter().enumerate() {
        run.calls([look(&format!("{at}"))]);
        run.now = run.now.plus(5);
        run.returned(*outcome, error.unwrap_or("fine"));
        run.now = run.now.plus(1);
    }
    run.calls([look("under way")]);
    let trace = tool_trace(&run.entries);
    assert_eq!(trace.len(), 4);
    for (call, (_, status, error)) in trace.iter().zip(cases) {
        assert_eq!(call.status, status);
        assert_eq!(call.error.as_deref(), error);
        assert_eq!(call.ended_at.map(|ended| ended - call.started_at), Some(5));
        let said = error.unwrap_or("fine");
        assert_eq!(call.output_hash, Some(Hash::of(said.as_bytes())));
    }
    assert_eq!(trace[3].status, CallStatus::Pending);
    assert_eq!((trace[3].ended_at, trace[3].output_hash), (None, None));
    run.cancel("enough");
    let trace = tool_trace(&run.entries);
    assert_eq!(trace[3].status, CallStatus::Interrupted);
}

#[test]
fn composed_and_decomposed_letters_and_another_order_of_keys_are_the_same_arguments() {
    let hash_of = |arguments: &str| {
        let mut run = LoggedRun::begin(config());
        run.calls([call("look", arguments)]);
        run.ok("fine");
        tool_trace(&run.entries)[0].arguments_hash
    };
    let composed = hash_of("{\"path\":\"caf\u{e9}\"}");
    let decomposed = hash_of("{ \"path\" : \"cafe\u{301}\" }");
    assert_eq!(composed, decomposed);
    assert_ne!(composed, hash_of("{\"path\":\"cafe\"}"));
}

#[test]
fn members_of_a_batch_are_operations_and_what_holds_them_together_is_none() {
    let mut config = config();
    config.own_tools = OwnTools {
        batch: true,
        progress: true,
        output_kept_bytes_max: None,
        search: false,
    };
    let mut run = LoggedRun::begin(config);
    let member = |id: &str| {
        format!("{{\"id\":\"{id}\",\"tool\":\"look\",\"parameters\":{{\"path\":\"{id}\"}}}}")
    };
    let calls = format!("{{\"calls\":[{},{}]}}", member("1"), member("2"));
    run.calls([call("agent__batch", &calls)]);
    run.ok("fine");
    run.ok("fine");
    let names: Vec<String> = tool_trace(&run.entries)
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(names, ["look", "look"]);
}

#[test]
fn the_calls_of_agents_that_were_called_count_as_the_runs_own() {
    let (before, after) = (tree(&[]), tree(&[("a", "")]));
    let mut child = config();
    child.parent = Some(Parent {
        run: RunId::new("parent").expect("an id"),
        origin: RunId::new("root").expect("an id"),
        path: "a:b".into(),
    });
    let mut run = LoggedRun::begin(child);
    let calls: [ReplyCall; 2] = [look("a"), look("b")];
    run.calls(calls);
    run.ok("fine");
    run.ok("fine");
    let child_log = run.entries.clone();
    let whole = Capsule::seal(&log(&["push"]), &[&child_log], &before, &after);
    assert_eq!(whole.expect("the log of a run").footprint.tool_ops, 3);
    let own = Capsule::seal(&child_log, &[], &before, &after).expect("the log of a run");
    assert_eq!(own.parent, RunId::new("parent").ok());
    assert_eq!(own.termination, None);
}

#[test]
fn what_was_asked_is_one_text_and_no_log_is_no_capsule() {
    let prompt = prompt_of(&log(&[])).expect("a log has a prompt");
    assert_eq!(prompt, r#"{"goal":"tidy the shed","system":"Be brief."}"#);
    assert_eq!(prompt_of(&[]), None);
    let empty = tree(&[]);
    assert!(Capsule::seal(&[], &[], &empty, &empty).is_err());
    assert!(Capsule::seal(&log(&[])[1..], &[], &empty, &empty).is_err());
}
