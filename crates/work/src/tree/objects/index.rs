//! The list of a pack: what lies where. It only grows, by whole records, each with its own check.

use std::path::{Path, PathBuf};

use bonded_kernel::Hash;

/// One content of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexRecord {
    pub(super) hash: Hash,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// Hash, place and length, the numbers with their lowest byte first.
const BODY_BYTES: usize = 32 + 8 + 8;
const CHECK_BYTES: usize = 8;
const RECORD_BYTES: usize = BODY_BYTES + CHECK_BYTES;

pub(super) fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{number}.idx"))
}

/// Records are appended, so that what was written before is never touched.
pub(super) fn encode(listed: &[IndexRecord]) -> Vec<u8> {
    let mut text = Vec::with_capacity(listed.len() * RECORD_BYTES);
    for one in listed {
        let begun = text.len();
        text.extend_from_slice(one.hash.as_bytes());
        text.extend_from_slice(&one.offset.to_le_bytes());
        text.extend_from_slice(&one.bytes.to_le_bytes());
        let check = check(&text[begun..]);
        text.extend_from_slice(&check);
    }
    text
}

/// What is listed, up to the first record that was not written whole.
pub(super) fn decode(text: &[u8]) -> impl Iterator<Item = IndexRecord> {
    text.chunks_exact(RECORD_BYTES).map_while(record)
}

/// Nothing where the check fails, which ends the list: behind a torn record nothing can be relied on.
fn record(text: &[u8]) -> Option<IndexRecord> {
    let (body, written) = text.split_last_chunk::<CHECK_BYTES>()?;
    if check(body) != *written {
        return None;
    }
    let (hash, rest) = body.split_first_chunk()?;
    let (offset, rest) = rest.split_first_chunk()?;
    let (bytes, _) = rest.split_first_chunk()?;
    Some(IndexRecord {
        hash: Hash::from_bytes(*hash),
        offset: u64::from_le_bytes(*offset),
        bytes: u64::from_le_bytes(*bytes),
    })
}

/// Enough to tell a record from what a torn write leaves behind.
fn check(body: &[u8]) -> [u8; CHECK_BYTES] {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    for chunk in body.chunks_exact(8) {
        let word = u64::from_le_bytes(chunk.try_into().expect("a chunk of 8 is 8 bytes"));
        sum = (sum ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
    sum.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(number: u64) -> IndexRecord {
        IndexRecord {
            hash: Hash::of(&number.to_le_bytes()),
            offset: number * 100,
            bytes: number,
        }
    }

    #[test]
    fn a_list_is_read_up_to_the_record_that_was_torn() {
        let listed = [example(0), example(1), example(2)];
        let text = encode(&listed);
        for cut in 0..=text.len() {
            let read: Vec<IndexRecord> = decode(&text[..cut]).collect();
            assert_eq!(read, listed[..cut / RECORD_BYTES], "cut at {cut}");
        }
        for at in 0..text.len() {
            let mut text = text.clone();
            text[at] ^= 4;
            let read: Vec<IndexRecord> = decode(&text).collect();
            assert_eq!(read, listed[..at / RECORD_BYTES], "changed at {at}");
        }
        assert_eq!(decode(&[0; 3 * RECORD_BYTES]).count(), 0, "zeros");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(text: Vec<u8>) {
            assert!(decode(&text).count() <= text.len() / RECORD_BYTES);
        }
    }
}
