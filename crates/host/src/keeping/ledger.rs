//! The ledger: a file with one account a line, each once, whichever processes write it and however they end.
//!
//! What is in the file is known from the file alone. A line that a kill has cut short is left as it is and
//! the next one begins a new line, so that its account is written again, whole.
//!
//! Appending takes a lock on the file, reads what others have appended, and writes only what is
//! missing. An account is known by its run, its entry and its name; where an entry has several of one
//! name they are counted, so that none is lost and none is written twice.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Take, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::accounting::{AccountKind, Booked};
use crate::regular;
use bonded_kernel::Hash;
use serde::Deserialize;

use crate::private::HeldDir;
use crate::shapes::result::account_value;

/// Far more than an account takes; what is longer is no account.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// So much is read in a minute. Whoever has more moves it away.
const BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// One file, and what this process has read of it.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    dir: HeldDir,
    /// The store whose runs are booked: several may share a ledger.
    store: PathBuf,
    seen: Mutex<LinesRead>,
}

/// What was read of the file.
#[derive(Default, Debug)]
struct LinesRead {
    bytes: u64,
    /// How many lines an entry of a log has for one tool or model: a reply may have several refused calls.
    lines: BTreeMap<AccountKey, u32>,
}

/// Names what an account is of; a hash, as a ledger may have very many lines.
type AccountKey = [u8; 16];

/// What makes a line that of an account.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountLine {
    txn_id: String,
    seq: u64,
    command: Option<String>,
    model: Option<String>,
}

impl Ledger {
    /// Opens the ledger and makes it where it is missing: what cannot be booked shall not begin.
    pub fn open(path: &Path, store: &Path) -> io::Result<Self> {
        let ledger = Self {
            path: path.to_owned(),
            dir: HeldDir::make(path.parent().unwrap_or(path))?,
            store: store.to_owned(),
            seen: Mutex::default(),
        };
        ledger.append(&[])?;
        Ok(ledger)
    }

    /// As it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the accounts that are not there yet. All accounts of one entry of a log come together.
    pub fn append(&self, booked: &[Booked]) -> io::Result<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.file()?;
        seen.catch_up(&mut file)?;
        let mut in_log: BTreeMap<AccountKey, u32> = BTreeMap::new();
        let mut lines = String::new();
        for one in booked {
            let key = key_of(one);
            let count = in_log.entry(key).or_default();
            *count += 1;
            if *count > seen.lines.get(&key).copied().unwrap_or(0) {
                let mut line = account_value(one);
                line["store"] = self.store.to_string_lossy().into();
                lines.push_str(&line.to_string());
                lines.push('\n');
            }
        }
        file.write_all(lines.as_bytes())
    }

    /// Returns once everything that was written is safe from a loss of power.
    pub fn sync(&self) -> io::Result<()> {
        self.file()?.sync_data()
    }

    /// The file, ours alone until it is dropped. It is opened each time: somebody may have moved it away.
    fn file(&self) -> io::Result<File> {
        let name = self.path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let file = self.dir.open_to_append(name)?;
        match file.lock() {
            // Where nothing can be locked, only one process can be written by.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
            locked => locked.map(|()| file),
        }
    }
}

impl LinesRead {
    /// Reads what was appended since the last time, and ends a line that was cut short.
    fn catch_up(&mut self, file: &mut File) -> io::Result<()> {
        if file.metadata()?.len() < self.bytes {
            self.bytes = 0;
        }
        if !self.read(file)? {
            file.write_all(b"\n")?;
            self.read(file)?;
        }
        Ok(())
    }

    /// Reads whole lines; says whether the file ends with one.
    fn read(&mut self, file: &File) -> io::Result<bool> {
        let mut from = file;
        from.seek(SeekFrom::Start(self.bytes))?;
        let mut reader = reader(file)?;
        let mut line = vec![];
        loop {
            let taken = regular::take_line(&mut reader, &mut line, LINE_BYTES_MAX)?;
            if !taken.is_ended {
                return Ok(taken.bytes == 0);
            }
            self.bytes += taken.bytes;
            if let Some(key) = key_in(&line) {
                *self.lines.entry(key).or_default() += 1;
            }
        }
    }
}

/// Reads a ledger from where it stands, and refuses one that nobody has.
pub fn reader(file: &File) -> io::Result<BufReader<Take<&File>>> {
    if file.metadata()?.len() > BYTES_MAX {
        let why =
            format!("it has more than {BYTES_MAX} bytes; move it away and a new one is started");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(BufReader::new(file.take(BYTES_MAX)))
}

/// The account that a line is of; `None` for one that was cut short, or that is not ours.
fn key_in(line: &[u8]) -> Option<AccountKey> {
    let line: AccountLine = serde_json::from_slice(line).ok()?;
    let name = line.command.or(line.model)?;
    Some(key(&line.txn_id, line.seq, &name))
}

fn key_of(booked: &Booked) -> AccountKey {
    let name = match &booked.account.kind {
        AccountKind::Model(model) => &model.model,
        AccountKind::Tool(tool) => &tool.command,
    };
    key(booked.run.as_str(), booked.account.seq, name)
}

/// Half of a hash is enough to tell lines apart.
fn key(run: &str, seq: u64, name: &str) -> AccountKey {
    let hash = Hash::of(format!("{run}/{seq}/{name}").as_bytes());
    let mut key = AccountKey::default();
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}
