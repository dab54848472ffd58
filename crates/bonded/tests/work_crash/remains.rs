//! What a process that was killed may have left, and nobody should find.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The kernel takes a moment to end what dies with its parent.
const PATIENCE: Duration = Duration::from_secs(20);

/// Files with the names of those that are yet to be renamed. A plan of which nothing is written down never was.
pub(crate) fn unfinished_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut left = vec![dir.join("store.db.work")];
    while let Some(path) = left.pop() {
        let Ok(entries) = fs::read_dir(&path) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else if path.ends_with("plan.json.new") {
                continue;
            } else if path
                .extension()
                .is_some_and(|it| it == "new" || it == "tmp")
            {
                found.push(path);
            }
        }
    }
    found
}

/// Mounts in the directory that others can see.
pub(crate) fn mounts(dir: &Path) -> Vec<String> {
    let all = fs::read_to_string("/proc/self/mountinfo").expect("it can be read");
    let dir = dir.to_string_lossy();
    let found = all.lines().filter(|line| line.contains(&*dir));
    found.map(str::to_owned).collect()
}

/// The processes that work in the directory or were started for it, once they had time to end.
pub(crate) fn processes(dir: &Path) -> Vec<String> {
    let began = Instant::now();
    loop {
        let found = processes_now(dir);
        if found.is_empty() || began.elapsed() > PATIENCE {
            return found;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn processes_now(dir: &Path) -> Vec<String> {
    let name = dir.as_os_str().as_bytes();
    let name = name.strip_suffix(b"/").unwrap_or(name);
    let speaks_of = |bytes: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    let own = std::process::id().to_string();
    let mut found = vec![];
    for entry in fs::read_dir("/proc").expect("it can be read").flatten() {
        let id = entry.file_name().to_string_lossy().into_owned();
        if id == own || !id.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let process = entry.path();
        let texts = ["cmdline", "environ"].map(|file| fs::read(process.join(file)));
        let is_named = texts.iter().flatten().any(|text| speaks_of(text));
        let here = fs::read_link(process.join("cwd"));
        if is_named || here.is_ok_and(|here| here.starts_with(dir)) {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            found.push(format!("{id} {}", String::from_utf8_lossy(&line)));
        }
    }
    found
}
