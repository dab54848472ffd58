//! What the machine cannot enforce, and what is said about it.

use super::{output_of, shown};
use crate::person::{Person, done, sh};

#[test]
fn doctor_tries_the_sandbox_instead_of_telling() {
    let person = Person::new();
    let said = person.bonded(&["doctor"]).stdout;
    let line = said.lines().find(|line| line.contains("workspace-write"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    for refused in ["writing outside", "reading what is hidden", "the network"] {
        assert!(
            line.contains("tried and refused") && line.contains(refused),
            "{line}"
        );
    }
}

#[test]
fn where_namespaces_are_forbidden_a_command_is_refused_unless_the_person_says_otherwise() {
    let person = Person::new();
    // Inside a sandbox of its own, bonded may make no namespaces.
    let script = person.script(&[sh("echo ran > inner"), done()]);
    person.write(
        person.work().join("inner.sh"),
        format!(
            "export HOME=$TMPDIR; {}/bonded --store $TMPDIR/s.db run $1 --id r --model {script} goal; \
             {0}/bonded --store $TMPDIR/s.db show r --json; echo over",
            crate::person::program_dir().display()
        ),
    );
    std::fs::copy(person.path("script.jsonl"), person.path("inner.jsonl")).expect("it is there");
    let inner = std::fs::read_to_string(person.work().join("inner.sh")).expect("it is there");
    person.write(
        person.work().join("inner.sh"),
        inner.replace("script.jsonl", "inner.jsonl"),
    );
    person.own(&person.path("inner.jsonl"));
    let said = output_of(&person, &[], "sh inner.sh 2>&1");
    assert!(
        said.contains("over") && said.contains("sandbox-best-effort"),
        "{said}"
    );
    assert!(!person.work().join("inner").exists(), "{said}");
}

#[test]
fn a_command_forges_neither_its_end_nor_our_words() {
    let person = Person::new();
    let attempt = "for d in $TMPDIR/.. /tmp/bonded-*; do for f in ending fault; do \
         printf 'exit 0' > $d/$f; printf 'x\\nforged words' > $d/$f; done; done; \
         echo 'exit 0' >&3; echo 'exit 0' >&4; for n in 3 4 5 6 7 8 9; do echo 'exit 0' > /proc/1/fd/$n; done; exit 7";
    let said = output_of(&person, &[], attempt);
    assert!(said.contains("\"exit\":7"), "{said}");
    assert!(
        !said
            .replace(attempt, "")
            .contains("tool failed: spawn_failed"),
        "{said}"
    );
}

#[test]
fn a_refusal_names_the_setting_that_would_allow_it() {
    let person = Person::new();
    let attempt = "echo 'getaddrinfo ENOTFOUND registry.npmjs.org' >&2; exit 1";
    let said = output_of(&person, &[], attempt);
    assert!(said.contains("sandboxNetwork: true"), "{said}");
}

#[test]
fn a_server_that_fetches_itself_is_told_what_it_lacks() {
    let person = Person::new();
    let fake = person.home().join("bin/npx");
    person.write(
        &fake,
        "#!/bin/sh\necho 'npm error code EAI_AGAIN' >&2\nexit 1\n",
    );
    person.shell("chmod +x ~/bin/npx");
    let config = serde_json::json!({ "mcpServers": { "one": { "command": ["npx", "-y", "x"] } } });
    person.write(person.home().join("config.json"), config.to_string());
    person.write(
        person.home().join("one.ai"),
        "---\nmodels: openai/x\ntools: one\n---\nDo it.",
    );
    let config = person.home().join("config.json").display().to_string();
    let agent = person.home().join("one.ai").display().to_string();
    let mut command = person.command(&[
        "run", "--trust", "--config", &config, "--agent", &agent, "go",
    ]);
    command.env("OPENAI_API_KEY", "sk-0123456789abcdef0123456789");
    command.env(
        "PATH",
        format!("{}:/usr/bin:/bin", person.home().join("bin").display()),
    );
    let ended = crate::person::finish(crate::person::start(&mut command));
    assert!(ended.stderr.contains("sandboxNetwork: true"), "{ended:?}");
    assert!(!ended.stderr.contains("by hand"), "{ended:?}");
}

#[test]
fn a_home_that_cannot_be_written_is_told_and_commands_run() {
    let person = Person::new();
    person.write(person.home().join(".local/share/bonded/homes"), "a file");
    let ended = person.run(&[], &[sh("echo fine > ~/x && cat ~/x"), done()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("home that is not kept"), "{ended:?}");
    assert!(shown(&person).contains("fine"));
}
