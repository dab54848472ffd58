//! Names of tools and keys of arguments, made of the characters that a service takes.
//!
//! A name that fits stays as it is. One that does not becomes another by rules alone and never by counting, so
//! that a tool has the same name in every process, and a tool that is added does not rename the others unless
//! two come to the same name.

use std::borrow::Cow;

use bonded_kernel::Hash;

use super::rules::Rules;

/// No service takes longer ones, but for one that takes 128.
const BYTES_MAX: usize = 64;
/// So few are enough, because what is taken already is tried again with another salt.
const HASH_CHARS: usize = 8;

/// The name of a tool as the service takes it. One that had to be changed so that it is another tool's gets a hash.
pub(super) fn fitted<'a>(
    name: &'a str,
    rules: &Rules,
    is_taken: impl Fn(&str) -> bool,
) -> Cow<'a, str> {
    if is_name(name, rules) {
        return name.into();
    }
    let usable = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let mut made = replaced(name, usable);
    if made.is_empty() || (rules.letter_first && !begins_well(&made)) {
        made.insert(0, '_');
    }
    free(name, made, is_taken).into()
}

fn is_name(name: &str, rules: &Rules) -> bool {
    let usable = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=BYTES_MAX).contains(&name.len())
        && name.bytes().all(usable)
        && (!rules.letter_first || begins_well(name))
}

fn begins_well(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The key of an argument as the service takes it; `None` where it is taken as it is.
pub(super) fn fitted_key(key: &str, is_taken: impl Fn(&str) -> bool) -> Option<String> {
    let usable = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if (1..=BYTES_MAX).contains(&key.len()) && key.chars().all(usable) {
        return None;
    }
    let mut made = replaced(key, usable);
    if made.is_empty() {
        made.push('_');
    }
    Some(free(key, made, is_taken))
}

fn replaced(text: &str, usable: impl Fn(char) -> bool) -> String {
    let replace = |c| if usable(c) { c } else { '_' };
    text.chars().map(replace).collect()
}

/// `made`, or its beginning with a hash of what it was made of, where it is too long or taken.
fn free(of: &str, made: String, is_taken: impl Fn(&str) -> bool) -> String {
    if made.len() <= BYTES_MAX && !is_taken(&made) {
        return made;
    }
    let end = made.len().min(BYTES_MAX - HASH_CHARS - 1);
    let hashed = |salt: u32| {
        let hash = Hash::of(format!("{salt} {of}").as_bytes()).to_string();
        format!("{}_{}", &made[..end], &hash[..HASH_CHARS])
    };
    (0..)
        .map(hashed)
        .find(|name| !is_taken(name))
        .expect("no catalogue holds all hashes")
}
