//! The folder of a note: a path of names, kept in its metadata.
//!
//! A folder is no thing of its own: it is there as long as a note names it. The path has one form, so that two notes of
//! one folder say the same.

/// The key of the metadata that says in which folder a note is.
pub const FOLDER_KEY: &str = "folder";

/// The longest path, in bytes.
pub const FOLDER_BYTES_MAX: usize = 1000;
/// How deep folders nest.
const DEPTH_MAX: usize = 16;
/// How long one name is.
const NAME_CHARS_MAX: usize = 100;

/// The path in its one form: names without blanks around them, one `/` between two of them, none around all.
pub fn checked_folder(written: &str) -> Result<String, String> {
    let names: Vec<&str> = written
        .split('/')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    let is_name = |name: &&str| {
        !name.contains(char::is_control)
            && name.chars().count() <= NAME_CHARS_MAX
            && !["..", "."].contains(name)
    };
    let is_path = (1..=DEPTH_MAX).contains(&names.len()) && names.iter().all(is_name);
    match is_path && written.len() <= FOLDER_BYTES_MAX {
        true => Ok(names.join("/")),
        false => Err(format!(
            "must be 1 to {DEPTH_MAX} names of at most {NAME_CHARS_MAX} characters with / between them, such as \
             Projects/2026"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_form_and_leads_nowhere_else() {
        let rows = [
            ("Projects/2026", Some("Projects/2026")),
            (" /Projects//2026/ ", Some("Projects/2026")),
            ("Räume / Süd", Some("Räume/Süd")),
            ("/", None),
            ("", None),
            ("a/../b", None),
            (".", None),
            ("a\nb", None),
        ];
        for (written, expected) in rows {
            assert_eq!(
                checked_folder(written).ok().as_deref(),
                expected,
                "{written:?}"
            );
        }
        assert!(checked_folder(&"a/".repeat(17)).is_err());
        assert!(checked_folder(&"a".repeat(101)).is_err());
    }
}
