//! The actions `run` and `work`, as a server performs them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bonded_host::agent::{AgentTools, Moment, Workplace};
use bonded_host::config::Environment;
use bonded_host::config::options::Given;
use bonded_host::{Host, SystemClock};
use bonded_kernel::{FINAL_REPORT, Failure, Limits, Reply, ReplyCall, Request};
use bonded_state::MemoryStore;
use bonded_transport::Transport;
use bonded_workspace::{Actions, AgentRuns, WorkProcess};
use bonded_workspace_rules::{Change, RunEnd, RunMove, RunStatus};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::world::{World, around, at_once, soon};

/// A model that reports what it was asked, or never answers.
#[derive(Default)]
struct Echo {
    asked: Mutex<Vec<String>>,
    is_silent: bool,
}

impl Transport for Echo {
    fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let asked = format!("{:?}", request.messages);
        self.asked.lock().expect("nobody panics").push(asked);
        if self.is_silent {
            return Box::pin(std::future::pending());
        }
        let report = json!({ "status": "success", "report_format": "markdown", "report_content": "All done.", "format": "markdown", "content": "All done." });
        let call = ReplyCall {
            id: "1".into(),
            tool: FINAL_REPORT.into(),
            arguments: report.to_string(),
        };
        let reply = Reply {
            calls: vec![call],
            ..Reply::default()
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

const AGENT: &str = "---\nmodels: lmstudio/some-model\n---\nYou are tested.\n";

/// A world whose `run` actions are driven by a real host on this model.
async fn world(model: Arc<Echo>, agent_file: &str) -> (World, Arc<Host>) {
    let mut world = World::new(at_once).await;
    let dir = world.dir.path().to_owned();
    let surroundings = Arc::new(around(&dir));
    std::fs::write(dir.join("agents/tidy.ai"), AGENT).expect("a file");
    let environment: Environment = [].into_iter().collect();
    let native = Given {
        value: "native".into(),
        place: "the test".into(),
    };
    let workplace = Workplace {
        command_line: [("toolingTransport".to_owned(), native)].into(),
        ..Workplace::bare(environment.clone())
    };
    let host = Arc::new(Host {
        store: Arc::new(MemoryStore::new()),
        transport: model,
        tools: Arc::new(AgentTools::new(environment, Some(workplace.clone()))),
        clock: Arc::new(SystemClock::new()),
        children: None,
        secrets: Arc::default(),
        live: None,
        watch: None,
        interrupt: bonded_host::CancellationToken::new(),
        drain: bonded_host::CancellationToken::new(),
    });
    let runs = AgentRuns {
        host: host.clone(),
        workplace,
        surroundings,
        limits: Limits::default(),
        moment: Moment::default,
        queueing: None,
    };
    world.actions = Some(Actions {
        runs: Some(Arc::new(runs)),
        ..Actions::default()
    });
    let action = json!({ "kind": "run", "agent_file": agent_file, "goal": "Tidy up." });
    world.rule(11, &json!({ "action_json": action })).await;
    (world, host)
}

#[tokio::test]
async fn an_agent_file_is_run_with_the_goal_and_what_set_it_off() {
    let model = Arc::new(Echo::default());
    let (mut world, host) = world(model.clone(), "tidy.ai").await;
    world.start();
    world.note(1, "The title").await;
    let runs = world
        .until(|runs| runs.len() == 1 && runs[0].status.has_ended())
        .await;
    assert_eq!(
        runs[0].status,
        RunStatus::Succeeded,
        "{:?}",
        runs[0].result_json
    );
    assert_eq!(runs[0].result_json["termination"], "done");
    let asked = model.asked.lock().expect("nobody panics").join("\n");
    assert!(
        asked.contains("Tidy up.") && asked.contains("The title"),
        "{asked}"
    );
    // The run is an ordinary run, under the same name.
    let run = host.load(&runs[0].run_id).await.expect("it has a log");
    assert!(run.termination().is_some());
}

#[tokio::test]
async fn an_agent_file_that_is_not_there_fails_the_run_with_its_name() {
    let (mut world, _) = world(Arc::default(), "missing.ai").await;
    world.start();
    world.note(1, "A").await;
    let runs = world
        .until(|runs| runs.len() == 1 && runs[0].status.has_ended())
        .await;
    assert_eq!(runs[0].error_code.as_deref(), Some("RUN_NOT_STARTED"));
    let message = runs[0].result_json["message"].as_str().expect("a sentence");
    assert!(message.contains("missing.ai"), "{message}");
}

#[tokio::test]
async fn an_agent_that_is_cancelled_ends_in_its_own_log_too() {
    let model = Arc::new(Echo {
        is_silent: true,
        ..Echo::default()
    });
    let (mut world, host) = world(model, "tidy.ai").await;
    world.start();
    world.note(1, "A").await;
    let runs = world.until_runs(1, RunStatus::Running).await;
    let run_id = runs[0].run_id.clone();
    let begins = async {
        while host.load(&run_id).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    soon(begins).await.expect("it begins");
    let to = RunMove::Cancelled(RunEnd::default());
    world
        .write(Change::MoveRun {
            run_id: run_id.clone(),
            to,
        })
        .await;
    let ends = async {
        while host
            .load(&run_id)
            .await
            .is_ok_and(|run| run.termination().is_none())
        {
            tokio::task::yield_now().await;
        }
    };
    soon(ends).await.expect("it ends");
    assert_eq!(world.runs().await[0].status, RunStatus::Cancelled);
}

/// A world whose `work` actions are performed by a script.
async fn working(script: &str) -> (World, PathBuf) {
    let mut world = World::new(at_once).await;
    let dir = world.dir.path().to_owned();
    let program = dir.join("program");
    std::fs::write(
        &program,
        format!(
            "#!/bin/sh\necho \"$@\" >> {}\n{script}\n",
            dir.join("asked").display()
        ),
    )
    .expect("a file");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let work = WorkProcess {
        program,
        store: dir.join("bonded.db"),
        variables: vec![],
        surroundings: Arc::new(around(&dir)),
    };
    world.actions = Some(Actions {
        work: Some(Arc::new(work)),
        ..Actions::default()
    });
    let action = json!({ "kind": "work", "plan": "plan.yaml", "repo": "tree" });
    world.rule(11, &json!({ "action_json": action })).await;
    (world, dir)
}

#[tokio::test]
async fn a_plan_is_worked_off_by_the_program_and_its_results_are_kept() {
    let rows = [
        (
            "echo '[{\"id\":\"a\"}]'; exit 0",
            RunStatus::Succeeded,
            None,
        ),
        (
            "echo '[{\"id\":\"a\"}]'; echo 'a failed' >&2; exit 1",
            RunStatus::Failed,
            Some("WORK_FAILED"),
        ),
    ];
    for (script, status, code) in rows {
        let (mut world, dir) = working(script).await;
        world.start();
        world.note(1, "A").await;
        let runs = world
            .until(|runs| runs.len() == 1 && runs[0].status.has_ended())
            .await;
        assert_eq!(
            (runs[0].status, runs[0].error_code.as_deref()),
            (status, code)
        );
        assert_eq!(runs[0].result_json["results"], json!([{ "id": "a" }]));
        let asked = std::fs::read_to_string(dir.join("asked")).expect("it was asked");
        assert!(asked.contains("work --json"), "{asked}");
        assert!(asked.trim_end().ends_with("plan.yaml"), "{asked}");
    }
}

/// The process of a server that was killed lives on, and holds its tree.
#[tokio::test]
async fn a_run_that_is_taken_up_waits_for_the_process_that_the_server_before_it_began() {
    let script = "case $(wc -l < \"$(dirname \"$0\")/asked\") in \
        1) while :; do sleep 0.05; done;; \
        2|3) echo 'error[tree-busy]: another plan is on it' >&2; exit 3;; \
        *) echo '[{\"id\":\"a\"}]';; esac";
    let (mut world, dir) = working(script).await;
    world.start();
    world.note(1, "A").await;
    let asked = || std::fs::read_to_string(dir.join("asked")).unwrap_or_default();
    let is_asked = async {
        while asked().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    soon(is_asked).await.expect("it is asked");
    world.stop().await;
    world.start();
    let runs = world
        .until(|runs| runs.len() == 1 && runs[0].status.has_ended())
        .await;
    assert_eq!(runs[0].status, RunStatus::Succeeded, "{:?}", runs[0]);
    assert_eq!(asked().lines().count(), 4);
}

#[tokio::test]
async fn a_plan_that_was_interrupted_is_resumed_and_a_cancelled_one_is_told() {
    let (mut world, dir) = working("trap 'exit 1' TERM; while :; do sleep 0.05; done").await;
    world.start();
    world.note(1, "A").await;
    world.until_runs(1, RunStatus::Running).await;
    let asked = || std::fs::read_to_string(dir.join("asked")).unwrap_or_default();
    let asked_again = async |times: usize| {
        while asked().lines().count() < times {
            tokio::task::yield_now().await;
        }
    };
    soon(asked_again(1)).await.expect("it is asked");
    world.stop().await;
    world.start();
    soon(asked_again(2)).await.expect("it is asked again");
    let lines = asked();
    let mut lines = lines.lines();
    let first = lines.next().expect("it was asked");
    assert!(first.contains("--plan-id"), "{first}");
    assert_eq!(lines.next(), Some(first), "the same plan is asked for");
    let run_id = world.runs().await[0].run_id.clone();
    let to = RunMove::Cancelled(RunEnd::default());
    world.write(Change::MoveRun { run_id, to }).await;
    // Its place is free when the process has ended.
    world.concurrent_runs = 1;
    world.note(2, "B").await;
    world
        .until(|runs| runs.len() == 2 && runs[1].status == RunStatus::Running)
        .await;
}
