//! The least that it takes to put a directory of Markdown files into a SQLite file that can be searched: each file is read
//! and becomes one row under an id, and its words go into three indexes.
//!
//! ```text
//! import_floor DIR FILE
//! ```
//!
//! It has no events, no kernel, no links, no front matter and no checks; a file that changed would be there twice.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rusqlite::{Connection, params};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// As many as the program takes in with one transaction.
const AT_ONCE: usize = 5000;

const CACHE_KIB: i64 = 64 << 10;

const TABLES: &str = "
    CREATE TABLE note (key INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL) STRICT;
    CREATE INDEX note_by_title ON note (title);
    CREATE VIRTUAL TABLE words USING fts5 (title, headings, body, content = '', contentless_delete = 1,
        tokenize = 'unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE titles USING fts5 (words, content = '', contentless_delete = 1,
        tokenize = 'unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE headings USING fts5 (words, content = '', contentless_delete = 1,
        tokenize = 'unicode61 remove_diacritics 2');
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let imported = match words.as_slice() {
        [dir, file] => import(Path::new(dir), Path::new(file)),
        _ => Err("a directory and a file are needed".into()),
    };
    match imported {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "import_floor: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn import(dir: &Path, file: &Path) -> Result<(), Fault> {
    let mut connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.execute_batch(TABLES)?;
    for paths in files(dir)?.chunks(AT_ONCE) {
        let transaction = connection.transaction()?;
        for path in paths {
            insert(&transaction, path)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let (mut files, mut dirs) = (vec![], vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => dirs.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    Ok(files)
}

fn insert(connection: &Connection, path: &Path) -> Result<(), Fault> {
    let text = fs::read_to_string(path)?;
    let title = path.file_stem().unwrap_or_default().to_string_lossy();
    let (headings, body): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with('#'));
    let (headings, body) = (headings.join("\n"), body.join("\n"));
    connection
        .prepare_cached("INSERT INTO note (id, title, text) VALUES (?1, ?2, ?3)")?
        .execute(params![id_of(path), title, text])?;
    let row = connection.last_insert_rowid();
    connection
        .prepare_cached("INSERT INTO words (rowid, title, headings, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![row, title, headings, body])?;
    connection
        .prepare_cached("INSERT INTO titles (rowid, words) VALUES (?1, ?2)")?
        .execute(params![row, title])?;
    connection
        .prepare_cached("INSERT INTO headings (rowid, words) VALUES (?1, ?2)")?
        .execute(params![row, headings])?;
    Ok(())
}

/// It lies anywhere among the others, as ids do.
fn id_of(path: &Path) -> [u8; 16] {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, path).hash(&mut hasher);
        hasher.finish()
    };
    (u128::from(half(0)) << 64 | u128::from(half(1))).to_be_bytes()
}
