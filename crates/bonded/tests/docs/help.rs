//! The examples of every `--help`, run as they are printed, each in a world in which it means something.
//!
//! Two tables hold all that a test has to know: what stands in an example for something that differs on every machine
//! (`scene.rs`), and which examples end in another way than with success (`HOWS`).

mod read;
mod scene;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use bonded_testkit::issuer::browse;
use bonded_testkit::place::{Place, finish, start};
use bonded_testkit::process::Process;
use bonded_testkit::terminal::{Size, Terminal};
use rustix::process::Signal;

use read::{Example, commands};
use scene::Scene;

/// How an example comes to its end.
enum How {
    Ends(i32),
    /// It serves until it is told to stop.
    Serves,
    /// It works until it is told to stop.
    Works,
    /// A person opens the address that it prints.
    LogsIn,
    /// A person at a terminal is asked so, and types this.
    Asks(&'static str, &'static str),
}

/// How the examples begin that do not end with success, or not by themselves.
const HOWS: &[(&str, How)] = &[
    ("bonded serve", How::Serves),
    ("bonded ui", How::Serves),
    ("bonded workers", How::Ends(0)),
    ("bonded worker --label", How::Ends(0)),
    ("bonded worker", How::Works),
    ("bonded login", How::LogsIn),
    ("bonded trust  ", How::Asks("[y/N]", "y\r")),
    // Nothing was kept elsewhere that the log could be compared with.
    ("bonded verify 3f2a", How::Ends(7)),
    ("bonded verify --all --json", How::Ends(7)),
    // Ctrl-D leaves, whatever was said before.
    ("bonded chat", How::Asks("Ctrl-D quit", "\u{4}")),
    ("bonded approve 3f2a  ", How::Asks("? help", "y")),
];

/// Keys that are typed before a question can have been read do not count.
const READING: Duration = Duration::from_millis(600);

fn how(line: &str) -> &'static How {
    // Two spaces after an example stand for its end.
    let ended = format!("{line}  ");
    let row = HOWS.iter().find(|(start, _)| ended.starts_with(start));
    row.map_or(&How::Ends(0), |(_, how)| how)
}

#[test]
fn every_example_of_every_help_runs_as_printed() {
    let mut unused: BTreeSet<&str> = HOWS.iter().map(|(start, _)| *start).collect();
    let mut faults: Vec<String> = vec![];
    for (path, examples) in commands(&Place::new()) {
        let mut scene = Scene::of(&path);
        for example in &examples {
            if scene::is_fresh_each_time(&path) {
                scene = Scene::of(&path);
            }
            let ended = format!("{}  ", example.line);
            unused.retain(|start| !ended.starts_with(start));
            faults.extend(check(&mut scene, &path, example).err());
        }
        let servers = scene.servers.iter();
        faults.extend(servers.filter_map(|(server, _)| stopped(server, &path).err()));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(unused.is_empty(), "no example begins so: {unused:?}");
}

#[test]
fn every_command_has_an_example_of_its_own() {
    for (path, examples) in commands(&Place::new()) {
        let own = format!("bonded {path}");
        let is_own = |example: &Example| example.line.contains(own.trim_end());
        assert!(
            examples.iter().any(is_own),
            "`bonded {path} --help`: {examples:?}"
        );
    }
}

/// What is wrong with an example, if something is.
fn check(scene: &mut Scene, path: &str, example: &Example) -> Result<(), String> {
    scene.before(&example.line);
    let line = scene.filled(path, &example.line);
    let (code, expected, printed) = match how(&example.line) {
        How::Ends(expected) => {
            let done = finish(start(&mut scene.command(&line)));
            (
                done.code,
                *expected,
                format!("{}{}", done.stdout, done.stderr),
            )
        }
        How::Serves => return serve(scene, &line),
        How::Works => return work(scene, &line),
        How::LogsIn => logged_in(scene, &line),
        How::Asks(question, keys) => answered(scene, &line, question, keys),
    };
    // curl is content with any answer.
    let is_answer = !line.starts_with("curl ") || printed.contains("\"choices\"");
    let is_good =
        is_answer && code == Some(expected) && (expected != 0 || !printed.contains("error["));
    match is_good {
        true => Ok(()),
        false => Err(format!(
            "`bonded {path} --help`: {line}\nends with {code:?}: {printed}"
        )),
    }
}

/// It stays for the examples that ask it something.
fn serve(scene: &mut Scene, line: &str) -> Result<(), String> {
    let server = Process::begin(&mut scene.command(&format!("exec {line}")));
    let address = server.address();
    let address = address.map_err(|told| format!("{line}\ndoes not serve: {told:?}"))?;
    scene.servers.push((server, address));
    Ok(())
}

fn work(scene: &mut Scene, line: &str) -> Result<(), String> {
    if line != "true" {
        let worker = Process::begin(&mut scene.command(&format!("exec {line}")));
        worker.wait_until_told("worker of");
        scene.servers.push((worker, String::new()));
    }
    Ok(())
}

fn stopped(server: &Process, line: &str) -> Result<(), String> {
    let done = server.end(Signal::TERM);
    let is_good = done.code == Some(0);
    is_good.then_some(()).ok_or(format!("{line}\n{done:?}"))
}

fn logged_in(scene: &Scene, line: &str) -> (Option<i32>, i32, String) {
    let mut child = start(&mut scene.command(&format!("exec {line}")));
    let mut url = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    let read = BufReader::new(stdout).read_line(&mut url);
    read.expect("it prints an address");
    let page = browse(url.trim_end());
    assert!(page.contains("Logged in"), "{page}");
    let done = finish(child);
    (done.code, 0, done.stderr)
}

fn answered(scene: &Scene, line: &str, question: &str, keys: &str) -> (Option<i32>, i32, String) {
    let command = scene.command(&format!("exec {line}"));
    let terminal = Terminal::start(&command, Size(100, 40));
    terminal.wait_for(question);
    std::thread::sleep(READING);
    terminal.type_keys(keys);
    let (code, screen) = terminal.end();
    (code, 0, screen)
}
