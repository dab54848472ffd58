//! Prints so many runs that have ended, as what `psql` loads into a store: the log of each is one that this build wrote.

use std::io::{BufWriter, Write};

use bonded_kernel::Entry;
use bonded_testkit::stores::logs::Log;

/// Runs in one piece of each table.
const PIECE: u64 = 10_000;

fn main() -> std::io::Result<()> {
    let count = std::env::args().nth(1).and_then(|it| it.parse().ok());
    let count: u64 = count.ok_or_else(|| std::io::Error::other("how many?"))?;
    let mut out = BufWriter::new(std::io::stdout());
    for from in (0..count).step_by(PIECE as usize) {
        let logs: Vec<(u64, Log)> = (from..count.min(from + PIECE)).map(ended).collect();
        writeln!(out, "COPY bonded.run (run, id, goal) FROM STDIN;")?;
        for (key, log) in &logs {
            let goal = log.entries()[0].goal.to_string();
            writeln!(out, "{key}\t{}\t{goal}", log.id)?;
        }
        writeln!(out, "\\.")?;
        writeln!(
            out,
            "COPY bonded.drive (run, epoch, head, hash, state) FROM STDIN;"
        )?;
        for (key, log) in &logs {
            if let Some(last) = log.entries().last() {
                let (head, hash) = (last.seq, bytes(last.hash.as_bytes()));
                writeln!(out, "{key}\t1\t{head}\t{hash}\t3")?;
            }
        }
        writeln!(out, "\\.")?;
        writeln!(
            out,
            "COPY bonded.step (run, first, last, hash, body) FROM STDIN;"
        )?;
        for (key, log) in &logs {
            for step in &log.steps {
                row(&mut out, *key, step.entries())?;
            }
        }
        writeln!(out, "\\.")?;
    }
    out.flush()
}

/// The key is far above those that the server gives.
fn ended(number: u64) -> (u64, Log) {
    let mut log = Log::start(&format!("filled-{number}"), "say something");
    log.end();
    (1_000_000_000 + number, log)
}

/// Each entry with its format, its time, its turn and its length before it.
fn row(out: &mut impl Write, key: u64, entries: &[Entry]) -> std::io::Result<()> {
    let mut body = vec![];
    for entry in entries {
        body.extend(entry.format.to_le_bytes());
        body.extend(entry.at.0.to_le_bytes());
        body.extend(entry.turn.to_le_bytes());
        body.extend((entry.body.len() as u32).to_le_bytes());
        body.extend(&entry.body[..]);
    }
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Ok(());
    };
    let hash = bytes(last.hash.as_bytes());
    let body = bytes(&body);
    writeln!(out, "{key}\t{}\t{}\t{hash}\t{body}", first.seq, last.seq)
}

/// As `COPY` reads bytes.
fn bytes(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |at: u8| char::from(DIGITS[usize::from(at)]);
    let mut text = String::from("\\\\x");
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}
