//! Servers that demand a login: as a person meets them, from the first refusal to the logout.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::issuer::{Answer, Issuer, browse};
use crate::reply::{call, calls, report};
use crate::secrets::files_with;
use crate::world::{World, start};

fn world(issuer: &Issuer) -> World {
    let server = json!({ "url": issuer.url() });
    let world = World::new()
        .front("tools: docs")
        .config(&json!({ "mcpServers": { "docs": server } }));
    world.write();
    world
}

/// Begins a login and reads where a person is to go.
fn begin(world: &World, flags: &[&str]) -> (Child, String) {
    let arguments = [&["login", "docs"], flags].concat();
    let mut child = start(&mut world.command(&arguments));
    let stdout = child.stdout.take().expect("it is piped");
    let mut url = String::new();
    let read = BufReader::new(stdout).read_line(&mut url);
    read.expect("it prints an address");
    (child, url.trim_end().to_owned())
}

fn log_in(world: &World) {
    let (child, url) = begin(world, &[]);
    let page = browse(&url);
    assert!(page.contains("Logged in"), "{page}");
    let done = world.finish(child);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        done.stderr.contains("logged in to docs for read"),
        "{done:?}"
    );
}

fn token_files(world: &World) -> Vec<PathBuf> {
    let dir = world.path("../home/.local/share/bonded/tokens");
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let paths = files.map(|file| file.path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect()
}

#[test]
fn a_person_logs_in_once_and_runs_use_it_until_the_logout() {
    let issuer = Issuer::start();
    let world = world(&issuer).says([call("docs__token", json!({})), report("done")]);
    let refused = world.run(&[], "do it");
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("`bonded login docs`"),
        "{refused:?}"
    );
    log_in(&world);
    let [file] = &token_files(&world)[..] else {
        panic!("{:?}", token_files(&world));
    };
    let mode = file.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(outcome.tool_texts(), ["you sent [secret access_token]"]);
    let done = world.bonded(&["logout", "docs"]);
    assert!(done.stderr.contains("logged out of docs"), "{done:?}");
    assert!(token_files(&world).is_empty() && issuer.state().refresh.is_empty());
    assert_eq!(world.run(&[], "do it").code, Some(3));
}

#[test]
fn a_token_is_written_nowhere_but_into_its_file_even_if_it_is_gained_within_a_call() {
    let calls_seen = AtomicUsize::new(0);
    // The first call finds its token refused.
    let issuer = Issuer::twisted(move |_, asked| {
        let is_call = asked.body["method"] == "tools/call";
        let is_first = is_call && calls_seen.fetch_add(1, Ordering::Relaxed) == 0;
        is_first.then(|| Answer(401, String::new(), String::new()))
    });
    let token = ("docs__token", json!({}));
    let world = world(&issuer).says([calls(&[token.clone(), token]), report("done")]);
    log_in(&world);
    let outcome = world.run(&["--trace-mcp", "--verbose"], "do it").good();
    assert_eq!(issuer.grants("refresh_token"), 1);
    let masked = "you sent [secret access_token]";
    assert_eq!(outcome.tool_texts(), [masked, masked]);
    for secret in ["access-7f31-", "refresh-7f31-"] {
        assert!(!outcome.stdout.contains(secret), "{}", outcome.stdout);
        assert!(!outcome.stderr.contains(secret), "{}", outcome.stderr);
        let mut found = vec![];
        files_with(&world.path(".."), secret, &mut found);
        found.retain(|file| !token_files(&world).contains(&canonical(&world, file)));
        assert!(found.is_empty(), "{secret} is in {found:?}");
    }
}

/// The same path as `token_files` gives it.
fn canonical(world: &World, file: &str) -> PathBuf {
    let name = Path::new(file).file_name().unwrap_or_default();
    world.path("../home/.local/share/bonded/tokens").join(name)
}

#[test]
fn runs_of_two_processes_renew_a_token_once() {
    let issuer = Issuer::start();
    let world = world(&issuer).then_always(report("done"));
    log_in(&world);
    issuer.expire();
    let running: Vec<Child> = (0..4)
        .map(|_| start(&mut world.run_command(&[], "do it")))
        .collect();
    for child in running {
        world.finish(child).good();
    }
    assert_eq!(issuer.grants("refresh_token"), 1);
}

#[test]
fn a_login_that_is_refused_or_forged_gives_nothing() {
    let issuer = Issuer::start();
    let world = world(&issuer);
    let began = Instant::now();
    let (child, url) = begin(&world, &["--scope", "read write"]);
    assert!(url.contains("scope=read+write"), "{url}");
    let field = |name: &str| {
        let part = url.split(['?', '&']).find_map(|it| it.strip_prefix(name));
        part.expect("the address has it").to_owned()
    };
    let back = field("redirect_uri=")
        .replace("%3A", ":")
        .replace("%2F", "/");
    let state = field("state=");
    // A browser opens more connections than it uses.
    let host = back.trim_start_matches("http://").split('/').next();
    let _idle = TcpStream::connect(host.expect("it has a host")).expect("somebody listens");
    let forged = browse(&format!("{back}?code=the-code&state=forged"));
    assert!(forged.contains("Nothing is here"), "{forged}");
    browse(&format!("{back}?error=access_denied&state={state}"));
    let refused = world.finish(child);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("access_denied"), "{refused:?}");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "nobody waits for an idle connection"
    );
    assert!(token_files(&world).is_empty());
}

#[test]
fn a_server_that_nobody_can_log_in_to_is_named() {
    let world = World::with_tools();
    world.write();
    for name in ["test", "nowhere"] {
        let refused = world.bonded(&["login", name]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(refused.stderr.contains(&format!("{name:?}")), "{refused:?}");
        assert!(
            refused.stderr.contains("the servers are test"),
            "{refused:?}"
        );
    }
}

#[test]
fn a_tool_that_reads_the_file_of_tokens_shows_none() {
    let issuer = Issuer::start();
    let world = world(&issuer).front("tools: builtin");
    log_in(&world);
    let file = token_files(&world).pop().expect("a login is kept");
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let path = format!(".local/share/bonded/tokens/{name}");
    let read = call("read", json!({ "path": path }));
    let world = world.says([read, report("done")]);
    let home = world.path("../home").display().to_string();
    let outcome = world
        .run(&["-C", &home, "--tools", "builtin"], "do it")
        .good();
    let text = &outcome.tool_texts()[0];
    assert!(text.starts_with("(tool failed: protected: "), "{text}");
    assert!(!text.contains("7f31"), "{text}");
}
