//! Files at paths where a stranger may have put something else: a pipe or a device does not block, and no more is
//! read than was allowed.
//!
//! Links are followed: what is read here is judged by what it says, wherever it lies.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file to read it; anything else is refused.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        // What opening a socket, or a device that is not there, comes to.
        Err(rustix::io::Errno::NXIO | rustix::io::Errno::NODEV) => return Err(special()),
        opened => File::from(opened?),
    };
    match opened.metadata()?.is_file() {
        true => Ok(opened),
        false => Err(special()),
    }
}

/// The whole content of a regular file, refused where it is longer than `bytes_max`.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if file.metadata()?.len() > bytes_max {
        return Err(too_large(bytes_max));
    }
    // It may have grown since it was looked at, and some files say nothing of their length.
    whole(file, bytes_max)
}

/// The same as text.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read(path, bytes_max)?)
}

/// The text of whatever a person named, which may be a pipe, refused where it is longer than `bytes_max`.
pub fn text_of(reader: impl Read, bytes_max: u64) -> io::Result<String> {
    text(whole(reader, bytes_max)?)
}

/// One byte more than may be is asked for, to know whether there is more.
fn whole(reader: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    let mut limited = reader.take(bytes_max.saturating_add(1));
    limited.read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(too_large(bytes_max)),
        false => Ok(bytes),
    }
}

/// An error where the bytes are no UTF-8.
fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text = String::from_utf8(bytes);
    text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// What was taken from a reader as one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenLine {
    /// Its end included, and also where it was too long.
    pub bytes: u64,
    /// Whether it ends as lines do; else there is nothing more.
    pub is_ended: bool,
}

/// Takes one line, at most `bytes_max` of which are kept at a time. A longer one is passed over and leaves `line` empty.
/// At the end nothing is taken.
pub fn take_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    bytes_max: usize,
) -> io::Result<TakenLine> {
    line.clear();
    let (mut bytes, mut is_too_long) = (0, false);
    loop {
        let there = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            there => there?,
        };
        let end = there.iter().position(|byte| *byte == b'\n');
        let part = end.map_or(there.len(), |end| end + 1);
        is_too_long |= line.len() + part > bytes_max;
        match is_too_long {
            true => line.clear(),
            false => line.extend_from_slice(&there[..part]),
        }
        reader.consume(part);
        bytes += part as u64;
        if end.is_some() || part == 0 {
            let is_ended = end.is_some();
            return Ok(TakenLine { bytes, is_ended });
        }
    }
}

fn special() -> io::Error {
    io::Error::other("it is not a regular file")
}

fn too_large(bytes_max: u64) -> io::Error {
    let why = format!("it has more than {bytes_max} bytes");
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_or_too_long_is_refused_and_nobody_waits() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "four").expect("a file can be written");
        let made = std::process::Command::new("mkfifo")
            .arg(path("pipe"))
            .status();
        assert!(made.expect("mkfifo is here").success());
        let _socket =
            std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket can be made");
        std::os::unix::fs::symlink("/dev/zero", path("zero")).expect("a link can be made");
        assert_eq!(read_text(&path("file"), 4).expect("it is there"), "four");
        let too_large = read(&path("file"), 3).expect_err("it is longer");
        assert_eq!(too_large.kind(), io::ErrorKind::FileTooLarge);
        for name in ["pipe", "socket", "zero", "."] {
            let refused = read(&path(name), 4).expect_err("it is none");
            assert_eq!(refused.to_string(), "it is not a regular file", "{name}");
        }
        let missing = read(&path("none"), 4).expect_err("there is none");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_whole() {
        let text = b"one\ntoo long a line\n\nlast";
        for capacity in [1, 2, 3, 7, 64] {
            let mut reader = io::BufReader::with_capacity(capacity, &text[..]);
            let mut taken = vec![];
            let mut line = vec![];
            loop {
                let one = take_line(&mut reader, &mut line, 8).expect("memory can be read");
                if one.bytes == 0 {
                    break;
                }
                let kept = String::from_utf8_lossy(&line).into_owned();
                taken.push((kept, one.bytes, one.is_ended));
            }
            let expected = [
                ("one\n", 4, true),
                ("", 16, true),
                ("\n", 1, true),
                ("last", 4, false),
            ];
            let expected = expected.map(|(kept, bytes, ended)| (kept.to_owned(), bytes, ended));
            assert_eq!(taken, expected, "{capacity}");
        }
    }
}
