//! Coding agents of others that use an agent as their model, with their own tools: `cargo xtask test` installs them and
//! says where they are. What is made is made by them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use bonded_testkit::installed::installed;
use serde_json::{Value, json};

use crate::place::{call, report, with};
use crate::served::Served;

/// Another's program, and what it calls the tool that runs a command.
struct Shell {
    program: &'static str,
    tool: &'static str,
    /// The arguments of that tool for a command.
    arguments: fn(&str) -> Value,
    /// What it is started with, and what it reads.
    prepare: fn(&Served, &mut Command),
}

/// The program does what the model calls for, twice, and shows the report at the end.
#[track_caller]
fn works(shell: &Shell) {
    let Some(clients) = installed("BONDED_CLIENTS") else {
        return;
    };
    let run = |command: &str| call(shell.tool, (shell.arguments)(command));
    let lines = vec![
        with(run("echo one > made.txt"), "text", "I make it."),
        run("cat made.txt"),
        with(report("It is made."), "expect", json!(["one"])),
    ];
    let served = Served::start(&[("agent", lines)], &["--token", "right"]);
    let work = served.place.path("project");
    let home = served.place.path("home");
    for dir in [&work, &home] {
        std::fs::create_dir_all(dir).expect("a directory can be made");
    }
    let mut command = Command::new(clients.join(shell.program));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .current_dir(&work)
        .stdin(Stdio::null());
    (shell.prepare)(&served, &mut command);
    let output = command.output().expect("the program can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("It is made."), "{said}\n{errors}");
    let made = std::fs::read_to_string(work.join("made.txt"));
    assert_eq!(made.ok().as_deref(), Some("one\n"), "{said}\n{errors}");
    // Some ask for a title beside it, whose script does not fit.
    let done = served
        .place
        .listed()
        .into_iter()
        .find(|it| it.status == "succeeded");
    let done = done.expect("a run has succeeded");
    served.place.passes_the_audit(&done.id);
    let entries = served.place.entries(&done.id);
    let calls = entries.iter().filter(|it| it["data"]["tool"] == shell.tool);
    assert_eq!(calls.filter(|it| it["kind"] == "tool_finished").count(), 2);
}

/// A file in the home of the program.
fn written(served: &Served, name: &str, text: &str) -> PathBuf {
    served.place.write(&format!("home/{name}"), text)
}

#[test]
fn codex_works_with_an_agent_as_its_model() {
    works(&Shell {
        program: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        tool: "exec_command",
        arguments: |command| json!({ "cmd": command }),
        prepare: |served, command| {
            let config = format!(
                "model = \"agent\"\nmodel_provider = \"bonded\"\n[model_providers.bonded]\nname = \"bonded\"\n\
                 base_url = \"http://{}/v1\"\nwire_api = \"responses\"\nenv_key = \"TOKEN\"\n",
                served.address
            );
            let config = written(served, "codex/config.toml", &config);
            let home = config.parent().expect("the file lies in a directory");
            let words = [
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                "make a file",
            ];
            command
                .args(words)
                .env("CODEX_HOME", home)
                .env("TOKEN", "right");
        },
    });
}

#[test]
fn opencode_works_with_an_agent_as_its_model() {
    works(&Shell {
        program: "opencode-linux-x64-baseline/bin/opencode",
        tool: "bash",
        arguments: |command| json!({ "command": command, "description": "does it" }),
        prepare: |served, command| {
            let options =
                json!({ "baseURL": format!("http://{}/v1", served.address), "apiKey": "right" });
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible",
                "name": "bonded",
                "options": options,
                "models": { "agent": { "name": "agent" } },
            });
            let config = json!({
                "provider": { "bonded": provider },
                "model": "bonded/agent",
                "autoupdate": false,
                "share": "disabled",
            });
            let config = written(served, "opencode.json", &config.to_string());
            command
                .args(["run", "make a file"])
                .env("OPENCODE_CONFIG", config)
                .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
                .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        },
    });
}

#[test]
fn goose_works_with_an_agent_as_its_model() {
    works(&Shell {
        program: "@aaif/goose-binary-linux-x64/bin/goose",
        tool: "shell",
        arguments: |command| json!({ "command": command }),
        prepare: |served, command| {
            let words = [
                "run",
                "--no-session",
                "--with-builtin",
                "developer",
                "-t",
                "make a file",
            ];
            command
                .args(words)
                .env("OPENAI_HOST", format!("http://{}", served.address))
                .env("OPENAI_API_KEY", "right")
                .env("GOOSE_PROVIDER", "openai")
                .env("GOOSE_MODEL", "agent")
                .env("GOOSE_MODE", "auto")
                .env("GOOSE_DISABLE_KEYRING", "1");
        },
    });
}
