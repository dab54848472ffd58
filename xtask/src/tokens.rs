//! How true the kernel's estimate of tokens is: the samples counted with the vocabularies themselves, which package
//! registries have, and the estimates beside them; and the tables that the estimate is made from.

mod measure;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::installation::Installation;
use crate::root;
use crate::sdk::{self, Sdks};
use crate::stage::{cargo, run, stage};

/// The programs for Node, beside the versions of what they need.
const PROGRAMS: [&str; 3] = ["vocabularies.mjs", "count.mjs", "cut.mjs"];

pub(crate) fn run_command(words: &[String]) -> Result<(), Fault> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => check(false),
        ["--write"] => check(true),
        ["--measure", texts] => measure_texts(Path::new(texts)),
        _ => Err(Fault::Usage {
            why: "tokens takes --write or --measure DIR; `cargo xtask help` lists them".into(),
        }),
    }
}

fn kernel_tokens() -> PathBuf {
    root().join("crates/kernel/src/tokens")
}

/// Counts the samples, compares what is committed, and prints the estimates beside it.
fn check(write: bool) -> Result<(), Fault> {
    let vocabularies = Vocabularies::install()?;
    let samples = kernel_tokens().join("samples");
    let file = samples.join("counts.tsv");
    stage("count the samples", || {
        let counted = vocabularies.output("count.mjs", &samples)?;
        if write {
            return fs::write(&file, counted).map_err(Fault::file(&file));
        }
        let committed = fs::read_to_string(&file).map_err(Fault::file(&file))?;
        if committed == counted {
            return Ok(());
        }
        let finding = format!(
            "{}: not what is counted now; `cargo xtask tokens --write` writes it",
            file.display()
        );
        Err(Fault::Found {
            findings: vec![finding],
        })
    })?;
    stage("estimates beside the true counts", || {
        let mut table = cargo([
            "run",
            "--quiet",
            "-p",
            "bonded-kernel",
            "--example",
            "tokens",
        ]);
        table.arg("--").arg(&samples);
        run(table)
    })
}

/// Makes the tables of the estimate anew from texts that lie in directories named by their kinds.
fn measure_texts(texts: &Path) -> Result<(), Fault> {
    let vocabularies = Vocabularies::install()?;
    stage("cut the texts and write the tables", || {
        let cuts = vocabularies.output("cut.mjs", texts)?;
        measure::write_tables(texts, &cuts, &kernel_tokens().join("measured"))
    })
}

/// The vocabularies, installed, with Node.
struct Vocabularies {
    installation: Installation,
    sdks: Sdks,
}

impl Vocabularies {
    fn install() -> Result<Self, Fault> {
        let installation = Installation::named("tokens");
        let sdks = sdk::install()?;
        stage("install the vocabularies", || {
            installation.install_js_alone(|js| run(sdks.npm_ci(js)?))?;
            for program in PROGRAMS {
                let to = installation.js().join(program);
                let from = root().join("xtask/tokens").join(program);
                fs::copy(&from, &to).map_err(Fault::file(&from))?;
            }
            Ok(())
        })?;
        Ok(Self { installation, sdks })
    }

    /// What one of the programs says of a directory.
    fn output(&self, program: &str, dir: &Path) -> Result<String, Fault> {
        let mut node = Command::new(self.sdks.node());
        node.arg(self.installation.js().join(program)).arg(dir);
        let output = node.output().map_err(|source| Fault::Missing {
            program: "node".into(),
            source,
        })?;
        if !output.status.success() {
            return Err(Fault::Failed {
                command: format!("{program}: {}", String::from_utf8_lossy(&output.stderr)),
                status: output.status.to_string(),
            });
        }
        String::from_utf8(output.stdout).map_err(Fault::unmeasured)
    }
}
