//! What makes a directory a repository by itself.

use std::ffi::OsStr;

/// The entries of a directory that make it a repository by itself, without a `.git` around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BareLayout {
    head: bool,
    objects: bool,
    refs: bool,
    shared: bool,
}

impl BareLayout {
    /// Takes note of an entry of the directory.
    pub fn see(&mut self, name: &OsStr) {
        let is = |other: &str| {
            let name = name.as_encoded_bytes();
            name.eq_ignore_ascii_case(other.as_bytes())
        };
        self.head |= is("HEAD");
        self.objects |= is("objects");
        self.refs |= is("refs");
        self.shared |= is("commondir");
    }

    /// Whether git would take the directory for a repository.
    pub fn is_whole(self) -> bool {
        self.head && (self.shared || (self.objects && self.refs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_a_repository_by_what_git_looks_for() {
        let whole = |names: &[&str]| {
            let mut layout = BareLayout::default();
            names.iter().for_each(|name| layout.see(OsStr::new(name)));
            layout.is_whole()
        };
        assert!(whole(&["HEAD", "objects", "refs"]));
        assert!(whole(&["HEAD", "commondir"]));
        assert!(!whole(&["objects", "refs", "config"]));
        assert!(!whole(&["HEAD", "objects"]));
    }
}
