//! Spellings of a name that one file system or another takes for the same.

use std::ffi::OsStr;

/// Small letters, without what file systems pass over: characters that are not shown (ext4 with case folding, HFS+),
/// and dots and spaces at the end (FAT, NTFS).
pub(super) fn folded(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    let mut folded = match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text
            .chars()
            .filter(|c| !is_passed_over(*c))
            .flat_map(char::to_lowercase)
            // The long s is small already, and a spelling of s all the same.
            .map(|c| if c == '\u{17f}' { 's' } else { c })
            .collect(),
    };
    let end = folded.trim_end_matches(['.', ' ']).len();
    // A name of dots alone keeps them.
    if end > 0 {
        folded.truncate(end);
    }
    folded
}

/// Unicode's default ignorable code points.
fn is_passed_over(c: char) -> bool {
    matches!(u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0
        | 0xfff0..=0xfff8 | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}
