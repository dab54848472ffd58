//! What freezing a tree costs, beside a bare loop that reads and hashes the same files.
//!
//! ```text
//! tree_cost make ROOT FILES BYTES    makes a tree
//! tree_cost freeze KEPT ROOT         prints the microseconds of a freeze, and the files that were read
//! tree_cost hash ROOT                prints the microseconds of the bare loop, and the bytes
//! tree_cost rollback KEPT ROOT       prints the microseconds of dropping a copy in which 10 files were touched
//! ```

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bonded_kernel::Hash;
use bonded_work::tree::{Checkpoints, Copies, Isolations, enter_namespace};

type Fault = Box<dyn std::error::Error + Send + Sync>;

const FILES_PER_DIRECTORY: usize = 20;
const DIRECTORIES_PER_DIRECTORY: usize = 50;
const TOUCHED: usize = 10;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["make", root, files, bytes] => make(root.as_ref(), files, bytes),
        ["freeze", kept, root] => freeze(kept.as_ref(), root.as_ref()),
        ["hash", root] => hash(root.as_ref()),
        ["rollback", kept, root] => rollback(kept.as_ref(), root.as_ref()),
        _ => Err("one of make, freeze, hash, rollback is needed, with its arguments".into()),
    };
    done.map_or_else(
        |fault| {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "tree_cost: {fault}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn tell(numbers: [u128; 2]) -> Result<(), Fault> {
    writeln!(std::io::stdout(), "{} {}", numbers[0], numbers[1])?;
    Ok(())
}

/// Files of different lengths, as many bytes as asked for, of words: they compress about as well as programs do.
fn make(root: &Path, files: &str, bytes: &str) -> Result<(), Fault> {
    let (files, bytes): (usize, usize) = (files.parse()?, bytes.parse()?);
    let mean = bytes / files.max(1);
    let mut seed = 7_u64;
    for number in 0..files {
        let directory = number / FILES_PER_DIRECTORY;
        let dir = root
            .join(format!("part-{}", directory / DIRECTORIES_PER_DIRECTORY))
            .join(format!("of-{}", directory % DIRECTORIES_PER_DIRECTORY));
        fs::create_dir_all(&dir)?;
        // From a tenth of the mean to nearly twice as much.
        let length = mean / 10 + (random(&mut seed) as usize % (mean.max(2) * 9 / 5));
        let mut text = Vec::with_capacity(length + 16);
        while text.len() < length {
            write!(text, "word{} ", random(&mut seed) % 5000)?;
        }
        text.truncate(length);
        fs::write(dir.join(format!("file-{number}.txt")), text)?;
    }
    Ok(())
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn freeze(kept: &Path, root: &Path) -> Result<(), Fault> {
    let begun = Instant::now();
    let checkpoints = Checkpoints::open(kept)?;
    let frozen = checkpoints.freeze(root)?;
    let took = begun.elapsed();
    checkpoints.sync()?;
    tell([took.as_micros(), frozen.files_read as u128])
}

/// What no program that hashes every file can do without: open, read, hash; on as many threads as a freeze has.
fn hash(root: &Path) -> Result<(), Fault> {
    let files = files(root)?;
    let threads = std::thread::available_parallelism()?.get().min(8);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut buffer = vec![];
        let mut bytes = 0;
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            buffer.clear();
            bytes += File::open(path)?.read_to_end(&mut buffer)?;
            std::hint::black_box(Hash::of(&buffer));
        }
        Ok(bytes)
    };
    let begun = Instant::now();
    let bytes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let done = workers
            .into_iter()
            .map(|it| it.join().expect("it does not panic"));
        done.sum::<std::io::Result<usize>>()
    })?;
    tell([begun.elapsed().as_micros(), bytes as u128])
}

fn files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut left = vec![root.to_owned()];
    let mut files = vec![];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true if entry.file_name() == ".git" => {}
                true => left.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn rollback(kept: &Path, root: &Path) -> Result<(), Fault> {
    let entered = enter_namespace();
    let checkpoints = Checkpoints::open(kept)?;
    let all = checkpoints.dir().join("copies");
    let kind = Isolations::here(&entered, root, &all).best();
    let frozen = checkpoints.freeze(root)?;
    let copies = Copies::open(&all, "cost", kind)?;
    let copy = copies.make(&checkpoints, &frozen, "item")?;
    for path in files(copy.path())?.iter().take(TOUCHED) {
        fs::write(path, "touched")?;
    }
    let changes = copy.changes()?.changes.len();
    if changes != TOUCHED {
        return Err(format!("{changes} changes were found, not {TOUCHED}").into());
    }
    let begun = Instant::now();
    copy.remove()?;
    tell([begun.elapsed().as_micros(), changes as u128])
}
