//! llama.cpp's server from Debian testing, unpacked with the libraries that it needs and its own loader:
//! the system may be another, or older.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::install::fetch;
use crate::fault::Fault;

const PACKAGE: &str = "llama.cpp-tools";
const MIRROR: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

const SERVER: &str = "usr/bin/llama-server";
const LOADER: &str = "usr/lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The command that starts the server, without its options.
pub(super) fn server(dir: &Path) -> Command {
    let root = dir.join("root");
    let libraries = root.join(LIBRARIES);
    let places = ["", "llama", "ggml"].map(|name| libraries.join(name).display().to_string());
    let mut command = Command::new(root.join(LOADER));
    command
        .args(["--library-path", &places.join(":")])
        .args(["--argv0", "llama-server"])
        .arg(root.join(SERVER));
    command
}

pub(super) fn install(dir: &Path) -> Result<(), Fault> {
    let root = dir.join("root");
    if root.join(SERVER).is_file() {
        return Ok(());
    }
    let apt = Apt::set_up(dir.join("apt"))?;
    let unpacked = dir.join("root.part");
    for package in apt.download()? {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("-x").arg(&package).arg(&unpacked);
        fetch(&format!("what is in {}", package.display()), dpkg)?;
    }
    link_backends(&unpacked.join(LIBRARIES))?;
    // Renamed last, so that an installation that broke off is made again.
    fs::rename(&unpacked, &root).map_err(Fault::file(&root))?;
    fs::remove_dir_all(&apt.dir).map_err(Fault::file(&apt.dir))
}

/// The server looks for the code of each processor beside the running program, and that is the loader.
fn link_backends(libraries: &Path) -> Result<(), Fault> {
    let backends = libraries.join("ggml/backends0");
    for entry in fs::read_dir(&backends).map_err(Fault::file(&backends))? {
        let path = entry.map_err(Fault::file(&backends))?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        let link = libraries.join(name);
        let target = Path::new("ggml/backends0").join(name);
        // What an installation that broke off has linked stays.
        if !link.exists() {
            symlink(target, &link).map_err(Fault::file(&link))?;
        }
    }
    Ok(())
}

/// apt with directories of its own: nothing of the system's is read but its keyring, and nothing written.
struct Apt {
    dir: PathBuf,
}

impl Apt {
    fn set_up(dir: PathBuf) -> Result<Self, Fault> {
        if !Path::new(KEYRING).is_file() {
            return Err(Fault::Uninstallable {
                what: format!("the Debian package {PACKAGE}"),
                why: format!("{KEYRING} is missing; the package debian-archive-keyring has it"),
            });
        }
        for name in ["lists/partial", "archives/partial"] {
            let path = dir.join(name);
            fs::create_dir_all(&path).map_err(Fault::file(&path))?;
        }
        let source = format!("deb [signed-by={KEYRING}] {MIRROR} testing main\n");
        for (name, text) in [("status", ""), ("sources.list", source.as_str())] {
            let path = dir.join(name);
            fs::write(&path, text).map_err(Fault::file(&path))?;
        }
        Ok(Self { dir })
    }

    /// Downloads the package with everything that it needs.
    fn download(&self) -> Result<Vec<PathBuf>, Fault> {
        let mut update = self.command();
        update.args(["update", "-qq"]);
        fetch("the list of Debian's packages", update)?;
        let mut install = self.command();
        install.args(["install", "-y", "-qq", "--download-only", PACKAGE]);
        fetch(&format!("the Debian package {PACKAGE}"), install)?;
        let archives = self.dir.join("archives");
        let mut packages = vec![];
        for entry in fs::read_dir(&archives).map_err(Fault::file(&archives))? {
            let path = entry.map_err(Fault::file(&archives))?.path();
            if path.extension().is_some_and(|ending| ending == "deb") {
                packages.push(path);
            }
        }
        Ok(packages)
    }

    fn command(&self) -> Command {
        let place =
            |option: &str, name: &str| format!("{option}={}", self.dir.join(name).display());
        let options = [
            place("Dir::Etc::sourcelist", "sources.list"),
            place("Dir::State::lists", "lists"),
            place("Dir::State::status", "status"),
            place("Dir::Cache::archives", "archives"),
            "Dir::Etc::sourceparts=/dev/null".into(),
            "Dir::Cache::pkgcache=".into(),
            "Dir::Cache::srcpkgcache=".into(),
            "Acquire::Languages=none".into(),
            "APT::Install-Recommends=false".into(),
            // Its own user for downloads may not write below the project.
            "APT::Sandbox::User=root".into(),
        ];
        let mut apt = Command::new("apt-get");
        for option in options {
            apt.args(["-o", &option]);
        }
        apt
    }
}
