//! What the system tells about a file without its content being read.
//!
//! Equal stamps stand for equal contents only where the clock of the file system had moved on since the last
//! change, which `Stamp::had_settled` asks. Everything that skips reading a file rests on that.

use std::os::fd::AsFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Statx, StatxAttributes, StatxFlags, statx};

/// The clock of a file system goes in ticks. Whatever happens within one may leave the same times behind.
const TICK_NS: i64 = 20_000_000;
/// File systems that keep whole seconds keep two at the worst.
const COARSE_TICK_NS: i64 = 2_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// Two that are equal belong to the same content, if the file [had settled](Stamp::had_settled).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) ino: u64,
    pub(super) bytes: u64,
    pub(super) mtime_ns: i64,
    /// It moves with every change of content, mode or name, and no program can set it.
    pub(super) ctime_ns: i64,
    /// With the type of the file.
    pub(super) mode: u32,
}

/// A stamp, and what else the same question answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileStatus {
    pub(super) stamp: Stamp,
    pub(super) is_mount: bool,
    pub(super) device: u64,
    /// The user and the group.
    pub(super) owner: (u32, u32),
    /// What a device stands for, as major and minor number.
    pub(super) stands_for: (u32, u32),
}

impl Stamp {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    pub(super) fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Whether a change made at `now_ns` or later is sure to leave another stamp behind.
    pub(super) fn had_settled(&self, now_ns: i64) -> bool {
        let tick_ns = match self.ctime_ns % SECOND_NS {
            0 => COARSE_TICK_NS,
            _ => TICK_NS,
        };
        self.ctime_ns < now_ns.saturating_sub(tick_ns)
    }
}

/// Asks about a name in a directory, without following a link.
pub(super) fn see<P: rustix::path::Arg>(dir: impl AsFd, name: P) -> rustix::io::Result<FileStatus> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(dir, name, flags, StatxFlags::BASIC_STATS).map(FileStatus::from)
}

/// Asks about what is open.
pub(super) fn see_open(fd: impl AsFd) -> rustix::io::Result<FileStatus> {
    statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).map(FileStatus::from)
}

impl From<Statx> for FileStatus {
    fn from(status: Statx) -> Self {
        let ns = |s: i64, ns: u32| s.saturating_mul(SECOND_NS).saturating_add(ns.into());
        Self {
            stamp: Stamp {
                ino: status.stx_ino,
                bytes: status.stx_size,
                mtime_ns: ns(status.stx_mtime.tv_sec, status.stx_mtime.tv_nsec),
                ctime_ns: ns(status.stx_ctime.tv_sec, status.stx_ctime.tv_nsec),
                mode: status.stx_mode.into(),
            },
            is_mount: status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
            device: (u64::from(status.stx_dev_major) << 32) | u64::from(status.stx_dev_minor),
            owner: (status.stx_uid, status.stx_gid),
            stands_for: (status.stx_rdev_major, status.stx_rdev_minor),
        }
    }
}

/// Now, as file systems count it.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.as_nanos());
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_trusted_only_when_its_tick_had_passed() {
        const NOW_NS: i64 = 1_000_000 * SECOND_NS;
        for (ctime_ns, expected) in [
            (NOW_NS - TICK_NS - 1, true),
            (NOW_NS - TICK_NS + 1, false),
            (NOW_NS + 5, false),
            (NOW_NS - SECOND_NS, false),
            (NOW_NS - 2 * SECOND_NS, false),
            (NOW_NS - 3 * SECOND_NS, true),
        ] {
            let stamp = Stamp {
                ino: 1,
                bytes: 1,
                mtime_ns: 0,
                ctime_ns,
                mode: 0,
            };
            assert_eq!(stamp.had_settled(NOW_NS), expected, "{ctime_ns}");
        }
    }
}
