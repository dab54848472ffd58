//! The files of a checkout, read and parsed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::house::source::{SourceFile, TESTKIT};

pub(crate) struct Checkout {
    /// The names of all crates, those that are shipped first.
    pub(crate) crates: Vec<String>,
    /// What is not for tests alone, the crate of the testkit included.
    pub(crate) files: Vec<SourceFile>,
    /// For each crate, how many lines are in files for tests.
    pub(crate) test_lines: Vec<usize>,
    pub(crate) xtask_lines: usize,
}

impl Checkout {
    pub(crate) fn read(root: &Path) -> Result<Self, Fault> {
        let crates = crates_of(root)?;
        let (mut files, mut test_lines) = (vec![], vec![]);
        for name in &crates {
            let dir = root.join("crates").join(name);
            let (shipped, of_tests) = split(sources(name, &dir.join("src"))?);
            files.extend(shipped);
            test_lines.push(of_tests + lines_below(&dir.join("tests"))?);
        }
        let xtask_lines = lines_below(&root.join("xtask").join("src"))?;
        Ok(Self {
            crates,
            files,
            test_lines,
            xtask_lines,
        })
    }

    pub(crate) fn of<'a>(&'a self, crate_name: &'a str) -> impl Iterator<Item = &'a SourceFile> {
        let files = self.files.iter();
        files.filter(move |file| file.crate_name == crate_name)
    }

    pub(crate) fn shipped(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.is_shipped())
    }
}

fn crates_of(root: &Path) -> Result<Vec<String>, Fault> {
    let dir = root.join("crates");
    let mut names = vec![];
    for entry in fs::read_dir(&dir).map_err(Fault::file(&dir))? {
        let entry = entry.map_err(Fault::file(&dir))?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_by_key(|name| (name == TESTKIT, name.clone()));
    Ok(names)
}

fn sources(name: &str, src: &Path) -> Result<Vec<SourceFile>, Fault> {
    let mut files = vec![];
    for path in rust_files(src)? {
        let below = path.strip_prefix(src).unwrap_or(&path);
        let text = fs::read_to_string(&path).map_err(Fault::file(&path))?;
        files.push(SourceFile::parse(name, &below.to_string_lossy(), text)?);
    }
    Ok(files)
}

/// The files that are not for tests alone, and the lines of the others.
fn split(files: Vec<SourceFile>) -> (Vec<SourceFile>, usize) {
    let modules = files.iter().flat_map(|file| file.test_modules.clone());
    let modules: Vec<Vec<String>> = modules.collect();
    let is_test = |file: &SourceFile| modules.iter().any(|it| file.module.starts_with(it));
    let (of_tests, others): (Vec<_>, Vec<_>) = files.into_iter().partition(is_test);
    let lines = of_tests.iter().map(|file| file.text.lines().count()).sum();
    (others, lines)
}

fn lines_below(dir: &Path) -> Result<usize, Fault> {
    let mut lines = 0;
    for path in rust_files(dir)? {
        let text = fs::read_to_string(&path).map_err(Fault::file(&path))?;
        lines += text.lines().count();
    }
    Ok(lines)
}

/// All below a directory, which need not exist.
fn rust_files(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let (mut found, mut open) = (vec![], vec![dir.to_owned()]);
    while let Some(dir) = open.pop().filter(|dir| dir.is_dir()) {
        for entry in fs::read_dir(&dir).map_err(Fault::file(&dir))? {
            let path = entry.map_err(Fault::file(&dir))?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
