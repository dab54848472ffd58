//! Patches of notes: the same as a plain walk over the characters, within the bound.

#![no_main]

use bonded_workspace_rules::{BadPatch, PatchOp, patched};
use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;

const BYTES_MAX: usize = 64;

#[derive(Debug)]
struct Edit<'a> {
    base: &'a str,
    ops: Vec<PatchOp>,
}

impl<'a> Arbitrary<'a> for Edit<'a> {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let mut ops = vec![];
        for _ in 0..bytes.int_in_range(0..=12)? {
            ops.push(match bytes.int_in_range(0..=3)? {
                0 => PatchOp::Retain(u64::from(bytes.arbitrary::<u8>()?)),
                1 => PatchOp::Delete(u64::from(bytes.arbitrary::<u8>()? >> 4)),
                2 => PatchOp::Delete(bytes.arbitrary()?),
                _ => PatchOp::Insert(bytes.arbitrary()?),
            });
        }
        let base = bytes.arbitrary()?;
        Ok(Self { base, ops })
    }
}

/// The same, slowly and plainly. A patch fails at its first operation that does.
fn patched_plainly(base: &str, ops: &[PatchOp]) -> std::result::Result<String, BadPatch> {
    let length = base.chars().count() as u64;
    let too_long = BadPatch::TooLong {
        bytes_max: BYTES_MAX,
    };
    let mut rest: Vec<char> = base.chars().collect();
    let mut text = String::new();
    for (index, op) in ops.iter().enumerate() {
        match op {
            PatchOp::Insert(inserted) => text.push_str(inserted),
            PatchOp::Retain(count) | PatchOp::Delete(count) if *count > rest.len() as u64 => {
                return Err(BadPatch::BeyondEnd { index, length });
            }
            PatchOp::Retain(count) => text.extend(rest.drain(..*count as usize)),
            PatchOp::Delete(count) => drop(rest.drain(..*count as usize)),
        }
        if text.len() > BYTES_MAX {
            return Err(too_long);
        }
    }
    text.extend(rest);
    if text.len() > BYTES_MAX {
        Err(too_long)
    } else {
        Ok(text)
    }
}

fuzz_target!(|edit: Edit<'_>| {
    let expected = patched_plainly(edit.base, &edit.ops);
    assert_eq!(patched(edit.base, &edit.ops, BYTES_MAX), expected);
    let wire = serde_json::to_string(&edit.ops).expect("operations are JSON");
    let read: Vec<PatchOp> = serde_json::from_str(&wire).expect("as they were written");
    assert_eq!(read, edit.ops);
});
