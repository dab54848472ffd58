//! What of a person's home is shown to nobody: what lies below a name with a dot is where programs keep keys.

use std::path::{Component, Path, PathBuf};

/// The homes of whoever runs this: what HOME says, and what the user database says, which programs ask as well.
/// Absolute, without links, each once; a home that is the root of all files is none.
pub fn homes() -> Vec<PathBuf> {
    let variable = std::env::var_os("HOME").map(PathBuf::from);
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known = home_of(&users, rustix::process::getuid().as_raw());
    let mut homes: Vec<PathBuf> = [variable, known]
        .into_iter()
        .flatten()
        .filter(|home| home.is_absolute())
        .filter_map(|home| home.canonicalize().ok())
        .filter(|home| home.parent().is_some())
        .collect();
    if homes.len() == 2 && homes[0] == homes[1] {
        homes.pop();
    }
    homes
}

fn home_of(users: &str, uid: u32) -> Option<PathBuf> {
    let mut lines = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.get(2).and_then(|id| id.parse().ok()) == Some(uid))?;
    fields.get(5).map(PathBuf::from)
}

/// Whether a place is a person's own: in a home, at or below an entry whose name begins with a dot. A working
/// directory that lies there itself was named by the person. Both are absolute and without links.
pub fn is_private(place: &Path, homes: &[PathBuf], workdir: &Path) -> bool {
    homes.iter().any(|home| {
        let first = place
            .strip_prefix(home)
            .ok()
            .and_then(|inside| inside.components().next());
        let Some(Component::Normal(first)) = first else {
            return false;
        };
        let is_dotted = first.as_encoded_bytes().starts_with(b".");
        is_dotted && !workdir.starts_with(home.join(first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_database_knows_homes_by_number() {
        let users = "root:x:0:0::/root:/bin/sh\nbroken\nme:x:1000:1000:a,b:/home/me:/bin/sh\n";
        assert_eq!(home_of(users, 1000), Some("/home/me".into()));
        assert_eq!(home_of(users, 7), None);
    }

    #[test]
    fn what_lies_below_a_dot_in_a_home_is_private_unless_it_was_named() {
        let homes = [PathBuf::from("/home/me")];
        let is =
            |place: &str, workdir: &str| is_private(Path::new(place), &homes, Path::new(workdir));
        assert!(is("/home/me/.ssh/id", "/home/me"));
        assert!(is("/home/me/.netrc", "/"));
        assert!(!is("/home/me/src/.env", "/home/me"));
        assert!(!is("/home/me", "/home/me"));
        assert!(!is("/srv/.x", "/srv"));
        assert!(!is("/home/me/.config/app/x", "/home/me/.config/app"));
    }
}
