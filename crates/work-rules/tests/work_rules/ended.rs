//! How an item's run is held, and what is asked of it when it has ended.

use bonded_kernel::{SandboxLevel, Termination, TerminationKind};
use bonded_work_rules::{Denial, EndedRun, NotTested, WorkItem, bind, may_be_tested, touches_git};
use serde_json::json;

use crate::capsule::capsule;
use crate::common::{item, path, tree};
use crate::run::config;

fn ended(termination: &Termination) -> EndedRun<'_> {
    EndedRun {
        stopped: None,
        is_out_of_time: false,
        termination: Some(termination),
        admitted_before: None,
    }
}

fn asked(item: &WorkItem, run: EndedRun<'_>) -> Result<(), NotTested> {
    let (before, after) = (tree(&[]), tree(&[("new", "1")]));
    may_be_tested(item, run, &capsule(&["push"], &before, &after), &after)
}

#[test]
fn a_run_is_held_to_its_copy_and_to_the_shorter_of_two_times() {
    let item = item(&json!({ "constraints": { "timeout_ms": 5_000 } }));
    for (own, expected) in [(None, 5_000), (Some(7_000), 5_000), (Some(3_000), 3_000)] {
        let mut config = config();
        config.limits.elapsed_ms_max = own;
        bind(&mut config, &item).expect("there is a sandbox");
        assert_eq!(config.limits.elapsed_ms_max, Some(expected));
        assert!(config.sandbox.expect("it is set").required);
    }
}

#[test]
fn a_run_without_a_sandbox_is_not_begun() {
    let mut config = config();
    config.sandbox.get_or_insert_default().level = SandboxLevel::Full;
    let why = bind(&mut config, &item(&json!({}))).expect_err("nothing holds it");
    assert!(why.starts_with("Without a sandbox"), "{why}");
}

#[test]
fn what_git_keeps_is_nobodys_to_change() {
    assert_eq!(touches_git(vec![]), None);
    let denial = touches_git(vec![path(".git/config")]).expect("it is denied");
    assert!(denial.to_string().contains("git_untouched"), "{denial}");
}

#[test]
fn only_a_run_that_is_done_in_time_and_was_not_stopped_is_tested() {
    let item = item(&json!({}));
    for kind in TerminationKind::ALL {
        let termination = Termination::new(kind, "so it is");
        let expected = match kind {
            TerminationKind::Done => Ok(()),
            TerminationKind::TimedOut => Err(NotTested::OutOfTime),
            kind => Err(NotTested::Failed(format!("{}: so it is", kind.as_str()))),
        };
        assert_eq!(asked(&item, ended(&termination)), expected);
    }
    let done = Termination::new(TerminationKind::Done, "");
    let (found, limit) = (2, 1);
    let denial = Denial::MaxFiles { found, limit };
    let stopped = EndedRun {
        stopped: Some(denial.clone()),
        is_out_of_time: true,
        ..ended(&done)
    };
    assert_eq!(asked(&item, stopped), Err(NotTested::Denied(denial)));
    let late = EndedRun {
        is_out_of_time: true,
        ..ended(&done)
    };
    assert_eq!(asked(&item, late), Err(NotTested::OutOfTime));
    let no_end = EndedRun {
        termination: None,
        ..ended(&done)
    };
    assert_eq!(
        asked(&item, no_end),
        Err(NotTested::Failed("fatal: ".into()))
    );
}

#[test]
fn what_was_admitted_before_is_denied_and_what_is_missing_fails() {
    let done = Termination::new(TerminationKind::Done, "");
    let again = EndedRun {
        admitted_before: Some("receipt-1".into()),
        ..ended(&done)
    };
    let denied = asked(&item(&json!({})), again).expect_err("it is a repetition");
    assert!(matches!(
        denied,
        NotTested::Denied(Denial::Duplicate { .. })
    ));
    let declared = item(&json!({ "output_files": ["new", "other"] }));
    let missing = asked(&declared, ended(&done)).expect_err("other is not there");
    assert!(matches!(missing, NotTested::Failed(why) if why.contains("other")));
}
