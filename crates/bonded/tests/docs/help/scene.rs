//! Worlds for examples: a person who has a key, a model that answers, and the files and runs that the help speaks of.
//!
//! | in an example | stands for |
//! |---|---|
//! | `3f2a` | the run of this world, whose id begins so; of notes, the id of the note Shopping |
//! | `6f1c` | the id of the one rule |
//! | `5d3e7a10` | the id of a token of ada's |
//! | `8b1d02c4` | the digest of the call that waits |
//! | `http://127.0.0.1:11434/v1` | the listener that is the model |
//! | port 8130 | a free port, and then the one that is served |
//! | `postgres://…@db.example.org/agents` | a database of a server that the tests start; where they cannot, nothing is run |
//! | `RECEIPT.json`, `signer.pem`, `items/*` | what a plan left, beside which the example is run |

use std::path::PathBuf;
use std::process::Command;

use bonded_testkit::issuer::Issuer;
use bonded_testkit::place::{Done, Place, call, done, finish, start};
use bonded_testkit::postgres::{Database, PostgresServer};
use bonded_testkit::process::Process;
use bonded_testkit::provider::{Asked, Provider, Reply, call_to, text};
use serde_json::{Value, json};

use crate::examples::in_shell;

const RUN: &str = "3f2a9c1d";

pub(crate) struct Scene {
    place: Place,
    provider: Provider,
    issuer: Issuer,
    /// What serves, and where.
    pub(crate) servers: Vec<(Process, String)>,
    digest: String,
    database: Option<Database>,
}

/// What an example of these uses up, the next one needs too.
pub(crate) fn is_fresh_each_time(path: &str) -> bool {
    let first = path.split(' ').next().unwrap_or_default();
    matches!(first, "resume" | "cancel" | "approve" | "deny")
}

impl Scene {
    pub(crate) fn of(path: &str) -> Self {
        let provider = Provider::answering(answer).keeping_connections();
        provider.list(&json!({ "data": [{ "id": "gpt-5-mini" }, { "id": "gpt-5" }] }));
        let mut scene = Self {
            place: Place::new(),
            provider,
            issuer: Issuer::start(),
            servers: vec![],
            digest: String::new(),
            database: None,
        };
        scene.write_files();
        scene.set_up(path);
        scene
    }

    /// What the help speaks of as if it were there.
    fn write_files(&self) {
        let agent = "---\nmodels: openai/gpt-5-mini\n---\nYou help.\n";
        let wiki = json!({ "mcpServers": { "wiki": { "url": self.issuer.url() } } });
        let files = [
            ("work/goal.txt", "say hello\n".into()),
            ("work/error.log", "it failed\n".into()),
            ("work/reviewer.ai", agent.to_owned()),
            ("work/researcher.ai", agent.into()),
            ("work/writer.ai", agent.into()),
            ("work/replies.jsonl", format!("{}\n", done("said"))),
            ("work/goals.jsonl", "\"one\"\n\"two\"\n".into()),
            (
                "work/tokens.txt",
                format!("{}\n", "token-0123456789".repeat(3)),
            ),
            ("work/password.txt", "a long password of hers\n".into()),
            ("work/recipes.md", "Bread.\n".into()),
            (
                "work/editor.sh",
                "#!/bin/sh\necho '- tea' >> \"$1\"\n".into(),
            ),
            ("vault/note.md", "A note of a vault.\n".into()),
            (".ai-agent/ai-agent.json", wiki.to_string()),
        ];
        for (name, text) in files {
            self.place.write(name, text);
        }
    }

    fn set_up(&mut self, path: &str) {
        let (first, inner) = path.split_once(' ').unwrap_or((path, ""));
        match first {
            "" | "show" | "chat" | "fork" | "runs" | "diff" | "undo" => self.finished_run(),
            "verify" | "replay" => {
                self.finished_run();
                self.worked();
            }
            "resume" | "cancel" => self.interrupted_run(),
            "approve" | "deny" => self.waiting_run(),
            "work" => self.desk(),
            "note" | "rule" | "user" | "export" | "import" | "doctor" => {
                self.shell("bonded init data");
                self.workspace(first, inner);
            }
            "store" | "run" | "worker" | "workers" => {
                self.database = PostgresServer::shared().map(PostgresServer::database);
                let is_made =
                    first != "store" || ["queue", "agent", "copy", "plan"].contains(&inner);
                if let Some(database) = self.database.as_ref().filter(|_| is_made) {
                    let owner = database.address("owner");
                    self.shell(&format!("bonded store init --grant app --store '{owner}'"));
                }
                match (first, inner) {
                    ("run", _) => {
                        drop(self.shell(&format!("bonded run --plan --id {RUN} 'say it'")));
                    }
                    ("store", "copy") => drop(self.shell("bonded store init --store store.db")),
                    ("store", "adopt") => self.finished_run(),
                    _ => {}
                }
            }
            "trust" => {
                let tool = json!({ "mcpServers": { "t": { "command": "true" } } });
                self.place.write("work/.ai-agent.json", tool.to_string());
            }
            // The rest needs no more than files, a key and a model.
            _ => {}
        }
    }

    /// Two trees, and plans for them.
    fn desk(&self) {
        let coder = "---\nmodels: openai/gpt-5-mini\ntools: builtin\n---\nYou write.\n";
        self.place.write("work/coder.ai", coder);
        for (file, written) in [("plan", "hello.txt"), ("later", "later.txt")] {
            let plan = json!({
                "id": file, "agent_id": "agent-1", "description": format!("Write {written}."),
                "dependencies": [], "output_files": [written],
                "test_command": format!("test -f {written}"),
            });
            self.place
                .write(&format!("work/{file}.json"), plan.to_string());
        }
        self.shell("bonded new plan plan");
        self.tree("work");
        self.tree("site");
    }

    /// What is in the workspace before the example.
    fn workspace(&mut self, first: &str, inner: &str) {
        match (first, inner) {
            ("note", "list" | "show" | "edit" | "history" | "search") => {
                self.shell("bonded note add Shopping '- milk and bread'");
            }
            ("note", "delete" | "undelete") => {
                self.shell("bonded note add Shopping '- milk'");
            }
            ("rule", _) => {
                self.shell("bonded new rule rule");
                if !matches!(inner, "" | "add") {
                    self.shell("bonded rule add rule.json");
                }
            }
            ("user", "" | "add" | "list") => {}
            ("user", _) => {
                self.shell("bonded user add ada");
            }
            ("import", _) => {
                self.shell("bonded note add Shopping '- milk'");
                self.shell("bonded export backup");
            }
            _ => {}
        }
        if (first, inner) == ("note", "undelete") {
            self.shell("bonded note delete Shopping");
        }
    }

    fn finished_run(&self) {
        let read = |path: &str| call("read", json!({ "path": path }));
        let files = ["goal.txt", "error.log", "recipes.md", "goals.jsonl"];
        let lines: Vec<Value> = files.map(read).into_iter().chain([done("said")]).collect();
        let script = self.place.script(&lines);
        self.shell(&format!("bonded run --id {RUN} --model {script} 'read it'"));
    }

    fn interrupted_run(&mut self) {
        self.interrupt(&format!("bonded run --id {RUN} 'say it'"));
    }

    /// Killed while its model thinks, which answers from then on.
    fn interrupt(&mut self, line: &str) {
        self.provider = Provider::answering(answer).held();
        let mut child = start(&mut self.command(&format!("exec {line}")));
        self.provider.wait_for(1);
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        self.provider.release(1_000);
    }

    /// What must have happened before an example.
    pub(crate) fn before(&mut self, line: &str) {
        if line == "bonded work --resume" {
            self.interrupt("bonded work later.json");
        }
    }

    fn waiting_run(&mut self) {
        let line = format!("bonded run --id {RUN} --ask write --no-prompt 'Write hello.txt.'");
        let waits = finish(start(&mut self.command(&line)));
        assert_eq!(waits.code, Some(6), "{waits:?}");
        let said = waits.stderr.split_whitespace();
        let mut after = said.skip_while(|word| *word != "digest").skip(1);
        self.digest = after.next().expect("the call has a digest").to_owned();
    }

    /// A plan that was carried out, and what it left beside the examples.
    fn worked(&self) {
        self.desk();
        self.shell("bonded work plan.yaml");
        let receipt = self.receipt();
        let plan = receipt.ancestors().nth(3);
        let plan = plan.expect("a receipt lies in its item's directory in its plan's");
        let key = self.kept().join("ed25519.pub");
        let (plan, key, receipt) = (plan.display(), key.display(), receipt.display());
        self.shell(&format!(
            "cp {plan}/LEVEL-0.RECEIPT.json . && cp -r {plan}/items ."
        ));
        self.shell(&format!("cp {receipt} RECEIPT.json && cp {key} signer.pem"));
    }

    /// What plans leave beside the store.
    fn kept(&self) -> PathBuf {
        self.place.path(".local/share/bonded/store.db.work")
    }

    /// The receipt of an item.
    fn receipt(&self) -> PathBuf {
        let found = self.shell(&format!(
            "ls {}/plans/*/items/*/RECEIPT.json",
            self.kept().display()
        ));
        let first = found.stdout.lines().next();
        PathBuf::from(first.expect("there is one"))
    }

    /// A repository.
    fn tree(&self, name: &str) {
        self.place.write(&format!("{name}/kept.txt"), "kept\n");
        let git = "git init --quiet && git add . && git -c user.name=A -c user.email=a@b commit --quiet -m first";
        self.shell(&format!(
            "cd ../{name} && {git} && git config user.name A && git config user.email a@b"
        ));
    }

    /// Runs a line that must succeed.
    fn shell(&self, line: &str) -> Done {
        let done = finish(start(&mut self.command(line)));
        assert_eq!(done.code, Some(0), "{line}: {done:?}");
        done
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = in_shell(&self.place, line);
        command
            .env("OPENAI_API_KEY", "a-key-of-the-listener")
            .env("OPENAI_BASE_URL", self.provider.base_url())
            .env(
                "VISUAL",
                format!("sh {}", self.place.path("work/editor.sh").display()),
            )
            .env("USER", "ada");
        command
    }

    /// An example with what it stands for in this world.
    pub(crate) fn filled(&self, path: &str, line: &str) -> String {
        let mut line = line.replace("http://127.0.0.1:11434/v1", &self.provider.base_url());
        let first = self.servers.first().filter(|_| line.starts_with("curl "));
        line = match first {
            Some((_, address)) => line.replace("127.0.0.1:8130", address),
            None => line.replace(":8130", ":0"),
        };
        if path == "work" && line.contains("RECEIPT.json") {
            line = line.replace("RECEIPT.json", &self.receipt().display().to_string());
        }
        if line.starts_with("bonded serve") && !line.contains("--listen") {
            line.push_str(" --listen 127.0.0.1:0");
        }
        let ids = [
            ("note", "3f2a", "bonded note list --deleted", 8),
            ("rule", "6f1c", "bonded rule list", 8),
            ("user", "5d3e7a10", "bonded user tokens ada", 64),
        ];
        for (first, word, listing, letters) in ids {
            if path.starts_with(first) && line.contains(word) {
                let listed = self.shell(listing).stdout;
                let last = listed.lines().last().unwrap_or_default();
                let id = last.split_whitespace().next().unwrap_or_default();
                line = line.replace(word, &id.chars().take(letters).collect::<String>());
            }
        }
        if line.contains("db.example.org") || needs_server(&line) {
            return self.on_server(&line);
        }
        line.replace("8b1d02c4", &self.digest)
    }

    /// An example of a store on a server.
    fn on_server(&self, line: &str) -> String {
        let Some(database) = &self.database else {
            return "true".into();
        };
        let line = match line.contains("db.example.org") {
            true => line.to_owned(),
            false => format!("env BONDED_STORE='{}' {line}", database.address("app")),
        };
        let users = [("owner", "owner"), ("worker", "app")];
        let line = users.iter().fold(line, |line, (word, user)| {
            let address = format!("postgres://{word}@db.example.org/agents");
            line.replace(&address, &format!("'{}'", database.address(user)))
        });
        line.replace("--grant worker", "--grant app")
    }
}

/// What only a store on a server has.
fn needs_server(line: &str) -> bool {
    let words = [
        "bonded worker",
        "bonded store queue",
        "bonded store agent",
        "bonded store plan",
        "bonded run --detach",
    ];
    words.iter().any(|word| line.starts_with(word))
}

/// It writes the file that it is asked for, and then says that it is done.
fn answer(asked: &Asked) -> Reply {
    let (tools, said) = (asked.tools(), asked.said());
    let wanted = ["hello.txt", "later.txt"].into_iter();
    let mut wanted = wanted.filter(|name| said.contains(name));
    if let Some(path) = wanted.next()
        && tools.contains(&"write")
        && asked.outputs() == 0
    {
        let file = json!({ "path": path, "content": format!("In {path}.\n") });
        return call_to(asked, "write", &file);
    }
    // An agent delivers its report in a tag, and any other run ends by a call.
    match tools.contains(&"done") {
        true if said.contains("a plan file for `bonded work`") => {
            let plan = "- id: one\n  agent_id: agent-1\n  description: Do it.\n";
            call_to(asked, "done", &json!({ "reason": plan }))
        }
        true => call_to(asked, "done", &json!({ "reason": "said" })),
        false => {
            // In the form that it was asked for.
            let mut forms = ["markdown", "pipe"].into_iter();
            let form = forms.find(|it| said.contains(&format!("format=\"{it}\"")));
            let form = form.unwrap_or("markdown");
            let tag = "ai-agent-NONCE-FINAL";
            let head = format!("<{tag} tool=\"agent__final_report\" format=\"{form}\">");
            text(&format!("{head}said</{tag}>"))
        }
    }
}
