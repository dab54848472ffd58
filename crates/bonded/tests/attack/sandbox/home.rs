//! The person's home: keys in it, wherever they were put, and a home of the command's own instead.

use super::{output_of, run_with, shown};
use crate::person::{Person, call, done, sh};
use crate::witness::{absent, holds_no};
use serde_json::json;

/// Where people and programs keep keys.
const PLACES: [&str; 30] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".azure/accessTokens.json",
    ".bash_history",
    ".cache/huggingface/token",
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/chromium/Default/Cookies",
    ".config/containers/auth.json",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/op/config",
    ".docker/config.json",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg/private-keys-v1.d/k.key",
    ".kube/config",
    ".local/share/keyrings/login.keyring",
    ".m2/settings.xml",
    ".mozilla/firefox/x.default/key4.db",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".password-store/a.gpg",
    ".pgpass",
    ".pypirc",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
];

const SECRET: &str = "canary-of-a-key";

fn person_with_keys() -> Person {
    let person = Person::new();
    for place in PLACES {
        person.write(person.home().join(place), SECRET);
    }
    person.write(person.home().join("other-project/.env"), SECRET);
    person
}

fn read_all(person: &Person) -> String {
    let places = PLACES.map(|place| person.home().join(place).display().to_string());
    format!(
        "cat {} {}/other-project/.env; cp -r {} stolen; grep -r canary {}; echo tried",
        places.join(" "),
        person.home().display(),
        person.home().join(".ssh").display(),
        person.home().display()
    )
}

#[track_caller]
fn sees_nothing(person: &Person, flags: &[&str]) {
    let said = output_of(person, flags, &read_all(person));
    assert!(said.contains("tried"), "{said}");
    holds_no(SECRET, &[&said]);
    absent(person.work().join("stolen/id_ed25519"));
}

#[test]
fn none_of_thirty_usual_places_of_keys_is_readable() {
    sees_nothing(&person_with_keys(), &[]);
}

#[test]
fn none_of_them_is_readable_with_the_network_or_read_only() {
    sees_nothing(&person_with_keys(), &["--sandbox-network"]);
    sees_nothing(&person_with_keys(), &["--sandbox", "read-only"]);
}

#[test]
fn keys_that_variables_moved_elsewhere_are_not_readable() {
    let person = Person::new();
    let moved = [
        (
            "XDG_CONFIG_HOME",
            "moved/config",
            "moved/config/gh/hosts.yml",
        ),
        ("XDG_DATA_HOME", "moved/data", "moved/data/keyrings/x"),
        (
            "XDG_CACHE_HOME",
            "moved/cache",
            "moved/cache/huggingface/token",
        ),
        ("AWS_SHARED_CREDENTIALS_FILE", "moved/aws", "moved/aws"),
        ("KUBECONFIG", "moved/kube", "moved/kube"),
        ("DOCKER_CONFIG", "moved/docker", "moved/docker/config.json"),
        ("NPM_CONFIG_USERCONFIG", "moved/npmrc", "moved/npmrc"),
        ("GNUPGHOME", "moved/gnupg", "moved/gnupg/key"),
        ("CARGO_HOME", "moved/cargo", "moved/cargo/credentials.toml"),
    ];
    for (_, _, file) in moved {
        person.write(person.path(file), SECRET);
    }
    let attempt = format!(
        "grep -r canary {}; echo tried",
        person.path("moved").display()
    );
    let ended = run_with(&person, &[], &[sh(&attempt), done()], |command| {
        for (name, value, _) in moved {
            command.env(name, person.path(value));
        }
        command.arg("--store").arg(person.path("store.db"));
    });
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let store = person.path("store.db").display().to_string();
    let said = person
        .bonded(&["--store", &store, "show", "run", "--json"])
        .stdout;
    let said = super::outputs(&said);
    assert!(said.contains("tried"), "{said}");
    holds_no(SECRET, &[&said]);
}

#[test]
fn a_home_that_no_variable_names_is_hidden_all_the_same() {
    // The user database names the home of whoever runs this. Where that is the tester's own, nothing is put there.
    let person = Person::new();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let me = rustix::process::getuid().as_raw().to_string();
    let home = users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&me.as_str())).then(|| fields[5].to_owned())
    });
    let Some(home) = home.filter(|home| std::path::Path::new(home).is_dir()) else {
        return;
    };
    let script = person.script(&[
        sh(&format!("ls -A {home} | grep -c profile; ls -A {home}")),
        done(),
    ]);
    let store = person.path("store.db").display().to_string();
    let words = [
        "--store", &store, "run", "--id", "run", "--model", &script, "goal",
    ];
    // As the tester, who has a line in the user database.
    let mut command = std::process::Command::new(crate::person::program_dir().join("bonded"));
    command.args(words).env_clear().current_dir(person.work());
    command.env("PATH", "/usr/bin:/bin");
    let ended = command.output().expect("it starts");
    assert!(ended.status.success(), "{ended:?}");
    let shown = std::process::Command::new(crate::person::program_dir().join("bonded"))
        .args(["--store", &store, "show", "run", "--json"])
        .output()
        .expect("it starts");
    let said = super::outputs(&String::from_utf8_lossy(&shown.stdout));
    assert!(said.contains("\"stdout\":\"0\\n"), "{said}");
    holds_no(".bashrc", &[&said]);
}

#[test]
fn where_the_home_is_the_directory_its_keys_stay_hidden_and_no_start_file_is_made() {
    let person = person_with_keys();
    let script = person.script(&[
        sh("cat .ssh/id_ed25519 .netrc .config/gh/hosts.yml; grep -rs canary .ssh .aws .config; cat work/seen; \
            echo evil > .bash_login; mkdir -p .config/autostart; echo evil > .config/autostart/x; echo tried"),
        call("read", json!({ "path": "work/seen" })),
        done(),
    ]);
    person.write(person.work().join("seen"), "seen-by-all");
    let mut command = person.command(&["run", "--id", "run", "--model", &script, "goal"]);
    command.current_dir(person.home());
    let ended = crate::person::finish(crate::person::start(&mut command));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = shown(&person);
    assert!(
        said.contains("tried") && said.contains("seen-by-all"),
        "{said}"
    );
    holds_no(SECRET, &[&said]);
    absent(person.home().join(".bash_login"));
    absent(person.home().join(".config/autostart"));
}

#[test]
fn what_the_person_names_is_shown_read_only_and_nothing_beside_it() {
    let person = person_with_keys();
    person.write(person.home().join("library/text"), "shown-on-purpose");
    let attempt = format!(
        "cat ~/library/text; echo evil > ~/library/text; echo evil > ~/library/new; {}",
        read_all(&person)
    );
    let said = output_of(&person, &["--sandbox-show", "~/library"], &attempt);
    assert!(said.contains("shown-on-purpose"), "{said}");
    holds_no(SECRET, &[&said]);
    absent(person.home().join("library/new"));
    let text = std::fs::read_to_string(person.home().join("library/text"));
    assert_eq!(text.expect("it is there"), "shown-on-purpose");
}

#[test]
fn a_commands_home_is_its_own_private_and_kept_and_not_that_of_commands_that_reach_further() {
    let person = Person::new();
    output_of(
        &person,
        &[],
        "mkdir -p ~/.cache && echo kept > ~/.cache/mine && echo evil > ~/.bashrc",
    );
    absent(person.home().join(".cache/mine"));
    absent(person.home().join(".bashrc"));
    person.shell("rm -f ~/.local/share/bonded/store.db*");
    let said = output_of(&person, &[], "cat ~/.cache/mine");
    assert!(said.contains("kept"), "{said}");
    person.shell("rm -f ~/.local/share/bonded/store.db*");
    let said = output_of(
        &person,
        &["--sandbox-network"],
        "cat ~/.cache/mine ~/.bashrc; echo tried",
    );
    assert!(said.contains("tried"), "{said}");
    holds_no("evil", &[&said]);
    holds_no("kept", &[&said]);
    let modes = person.shell("find ~/.local/share/bonded/homes -type d -perm /077 | wc -l");
    let theirs = person.shell("find ~/.local/share/bonded/homes -maxdepth 3 -type d -perm /077");
    assert_eq!(theirs.stdout, "", "{modes:?}");
}

#[test]
fn a_link_that_a_command_leaves_in_its_home_leads_no_mount_elsewhere() {
    let person = Person::new();
    let victim = person.path("victim");
    person.make_dir(&victim);
    let attempt = format!(
        "cd ~ && rm -rf x; mv work elsewhere; ln -s {} .cargo; ln -s {0} .local; ls -la",
        victim.display()
    );
    let laid = output_of(&person, &[], &attempt);
    let link = format!(".cargo -> {}", victim.display());
    assert!(laid.contains(&link), "{laid}");
    person.shell("rm -f ~/.local/share/bonded/store.db*");
    let said = output_of(&person, &[], "echo again > again; cat again");
    assert!(said.contains("again"), "{said}");
    let made = std::fs::read_dir(&victim).expect("it is there").count();
    assert_eq!(made, 0);
    assert!(person.work().join("again").exists());
}
