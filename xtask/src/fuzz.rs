//! Coverage-guided fuzzing of what reads texts of strangers: the targets in `fuzz/`, with libFuzzer.
//!
//! Nothing has to be installed for it but a C++ compiler: the compiler's own flags bring the counters, and libFuzzer comes
//! with its crate and is built from source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fault::Fault;
use crate::options::Options;
use crate::root;
use crate::stage::{cargo, run, stage};

const SECONDS_DEFAULT: u64 = 60;
/// An input that takes longer is a finding.
const INPUT_SECONDS_MAX: u64 = 10;
const MEMORY_MIB_MAX: u64 = 2048;

/// What `cargo fuzz` sets too: counters at every edge of the program's flow, and a look at what is compared.
const COUNTED: &str = "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Tests whose own inputs are good to begin with.
const TESTED: [(&str, &str); 2] = [
    ("log", "crates/kernel/tests/golden"),
    ("reply", "crates/transport/tests/wire"),
];

/// `cargo xtask fuzz [TARGET] [--seconds N]`
pub(crate) fn run_targets(words: &[String]) -> Result<(), Fault> {
    let (target, rest) = match words.split_first() {
        Some((target, rest)) if !target.starts_with("--") => (Some(target.as_str()), rest),
        _ => (None, words),
    };
    let options = Options::parse(rest, &["--seconds"])?;
    let seconds = options.number("--seconds")?.unwrap_or(SECONDS_DEFAULT);
    let targets = chosen(target, targets()?)?;
    needs_compiler()?;
    let place = Place::new()?;
    stage("build the fuzz targets", || place.build(&targets))?;
    let mut findings = vec![];
    for target in &targets {
        let title = format!("fuzz {target} for {seconds} s");
        if let Err(fault) = stage(&title, || place.fuzz(target, seconds)) {
            findings.push(format!(
                "{target}: {fault}; the input lies in {}",
                place.found().display()
            ));
        }
    }
    match findings.is_empty() {
        true => Ok(()),
        false => Err(Fault::Found { findings }),
    }
}

/// The names of the targets: each is a file.
fn targets() -> Result<Vec<String>, Fault> {
    let dir = root().join("fuzz/fuzz_targets");
    let mut names = vec![];
    for entry in fs::read_dir(&dir).map_err(Fault::file(&dir))? {
        let path = entry.map_err(Fault::file(&dir))?.path();
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        names.extend(stem);
    }
    names.sort();
    Ok(names)
}

fn chosen(wanted: Option<&str>, known: Vec<String>) -> Result<Vec<String>, Fault> {
    match wanted {
        None => Ok(known),
        Some(wanted) if known.iter().any(|name| name == wanted) => Ok(vec![wanted.to_owned()]),
        Some(wanted) => Err(Fault::Usage {
            why: format!(
                "there is no target {wanted:?}; there are {}",
                known.join(", ")
            ),
        }),
    }
}

fn needs_compiler() -> Result<(), Fault> {
    let program = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let mut command = Command::new(&program);
    command.arg("--version").stdout(Stdio::null());
    run(command).map_err(|fault| Fault::Uninstallable {
        what: "libFuzzer, which is built from C++".into(),
        why: format!("{fault}; install a C++ compiler, or name one in CXX"),
    })
}

/// Where all of it lies that is made here.
struct Place {
    dir: PathBuf,
    host: String,
}

impl Place {
    fn new() -> Result<Self, Fault> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| root().join("target"));
        Ok(Self {
            dir: root().join(target).join("fuzz"),
            host: host_tuple()?,
        })
    }

    fn build(&self, targets: &[String]) -> Result<(), Fault> {
        let mut command = cargo(["build", "--locked", "--target", &self.host, "--target-dir"]);
        command
            .arg(&self.dir)
            .args(targets.iter().flat_map(|target| ["--bin", target]))
            .current_dir(root().join("fuzz"))
            .env("RUSTFLAGS", COUNTED)
            .env("CARGO_INCREMENTAL", "0")
            .env_remove("CARGO_TARGET_DIR");
        run(command)
    }

    fn found(&self) -> PathBuf {
        self.dir.join("found")
    }

    fn fuzz(&self, target: &str, seconds: u64) -> Result<(), Fault> {
        let corpus = self.dir.join("corpus").join(target);
        for dir in [&corpus, &self.found()] {
            fs::create_dir_all(dir).map_err(Fault::file(dir))?;
        }
        let program = self.dir.join(&self.host).join("debug").join(target);
        let mut command = Command::new(program);
        command
            .arg(corpus)
            .args(seeds(target))
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
            .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
            .arg(format!(
                "-artifact_prefix={}/{target}-",
                self.found().display()
            ))
            .args(["-reload=0", "-print_final_stats=1"])
            .current_dir(root());
        let words = root().join("fuzz/words").join(target);
        if words.is_file() {
            command.arg(format!("-dict={}", words.display()));
        }
        run(command)
    }
}

/// Inputs to begin with.
fn seeds(target: &str) -> impl Iterator<Item = PathBuf> {
    let own = Path::new("fuzz/seeds").join(target);
    let tested = TESTED.iter().filter(move |(name, _)| *name == target);
    let tested: Vec<PathBuf> = tested.map(|(_, dir)| dir.into()).collect();
    let dirs = std::iter::once(own).chain(tested);
    dirs.map(|dir| root().join(dir)).filter(|dir| dir.is_dir())
}

/// The machine as the compiler names it. Where a target is named, flags are not given to build scripts and macros.
fn host_tuple() -> Result<String, Fault> {
    let program = "rustc";
    let said = Command::new(program).arg("-vV").output();
    let said = said.map_err(|source| Fault::Missing {
        program: program.into(),
        source,
    })?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Fault::Failed {
        command: format!("{program} -vV"),
        status: "it does not say which machine it is for".into(),
    })
}
