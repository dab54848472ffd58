//! The names under which a model sees the tools of servers and of requests.

use bonded_kernel::Hash;

const NAME_BYTES_MAX: usize = 64;
const HASH_CHARS: usize = 8;

/// `SERVER__tool`, made of letters, digits, `_` and `-`. A name that is too long keeps its beginning and
/// ends in a hash of the whole, so that two long names stay two.
pub(crate) fn shown_name(server: &str, tool: &str) -> String {
    let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let whole = format!("{server}__{tool}");
    let mut name: String = whole
        .chars()
        .map(|c| if usable(c) { c } else { '_' })
        .collect();
    if name.len() > NAME_BYTES_MAX {
        let hash = Hash::of(whole.as_bytes()).to_string();
        name.truncate(NAME_BYTES_MAX - HASH_CHARS - 1);
        name.push('_');
        name.extend(hash.chars().take(HASH_CHARS));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_servers_and_the_tools_with_usable_characters() {
        for (server, tool, name) in [
            ("fs", "read", "fs__read"),
            ("a-b", "read.file/ä", "a-b__read_file__"),
            ("s", "", "s__"),
        ] {
            assert_eq!(shown_name(server, tool), name);
        }
    }

    #[test]
    fn long_names_fit_and_stay_different() {
        let long = "x".repeat(200);
        let names = ["a", "b", ".", "_"].map(|end| shown_name("server", &format!("{long}{end}")));
        for (at, name) in names.iter().enumerate() {
            assert_eq!(name.len(), 64, "{name}");
            assert!(name.starts_with("server__xxx"), "{name}");
            assert!(!names[..at].contains(name), "{name}");
        }
        assert_eq!(shown_name("s", &"x".repeat(61)).len(), 64);
        assert!(shown_name("s", &"x".repeat(61)).ends_with("xxx"));
    }
}
