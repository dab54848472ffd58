//! What a command sees of the files, as a list of what is put where, each before what lies in it.
//!
//! It is worked out without touching the file system, and both ways of mounting follow it. Where one path is
//! wanted in several ways, the stronger one counts, and the variants of `Put` stand in that order: what is
//! shown beats what hides it, and the command's own home beats both. A map sorted by paths gives each directory
//! before what lies in it, which mounting needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::order::Order;
use super::scratch::tmp;

/// What is put at a place. Where several are wanted at one, the last counts.
///
/// The order of the variants decides which one that is: a new one goes where it is meant to win.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Put {
    /// The place itself, so that it can be neither renamed nor removed.
    Pin,
    /// Nothing: an empty directory, or a file that cannot be read.
    Nothing,
    /// An empty directory in which the places below it are made.
    Hollow,
    /// The place itself, read-only.
    ReadOnly,
    /// The place itself, as it is.
    Itself,
    /// Another directory, as it is.
    Other(PathBuf),
}

/// All of it, in the order of the paths. A home that is covered shows the command's own, and in it what is shown.
///
/// A cover over something that is seen must be hollow, so that places can be made in it. Nothing is protected
/// where nothing can be written.
pub(super) fn places(order: &Order) -> Vec<(PathBuf, Put)> {
    let mut places = BTreeMap::new();
    let mut put = |path: &Path, what: Put| {
        let now = places
            .entry(path.to_owned())
            .or_insert_with(|| what.clone());
        if *now < what {
            *now = what;
        }
    };
    let writable = order.writable();
    let mut insets: Vec<&Path> = writable.iter().map(PathBuf::as_path).collect();
    insets.extend(order.shown.iter().map(PathBuf::as_path));
    // Where it is read-only, it is seen all the same.
    insets.push(&order.workdir);
    insets.push(&order.home.seen);
    let tmp = tmp(&order.scratch);
    insets.push(&tmp);
    for hidden in &order.hidden {
        let is_hollow = insets.iter().any(|it| it.starts_with(hidden));
        put(hidden, if is_hollow { Put::Hollow } else { Put::Nothing });
    }
    for shown in &order.shown {
        put(shown, Put::ReadOnly);
    }
    put(&order.workdir, Put::ReadOnly);
    for dir in &writable {
        put(dir, Put::Itself);
    }
    put(&tmp, Put::Itself);
    put(&order.home.seen, Put::Other(order.home.kept.clone()));
    if !writable.is_empty() {
        for path in &order.protected {
            put(path, Put::ReadOnly);
            pins(path, &order.workdir).for_each(|dir| put(dir, Put::Pin));
        }
    }
    places.into_iter().collect()
}

/// The directories between a path and the working directory: whoever renames one takes what lies in it elsewhere.
fn pins<'a>(path: &'a Path, workdir: &'a Path) -> impl Iterator<Item = &'a Path> {
    let above = path.ancestors().skip(1);
    above.take_while(move |dir| *dir != workdir && dir.starts_with(workdir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_of_what_is_protected_are_pinned() {
        let pinned: Vec<_> = pins(Path::new("/w/a/b/.git"), Path::new("/w")).collect();
        assert_eq!(pinned, [Path::new("/w/a/b"), Path::new("/w/a")]);
        assert_eq!(pins(Path::new("/w/.git"), Path::new("/w")).count(), 0);
        assert_eq!(pins(Path::new("/x/.git"), Path::new("/w")).count(), 0);
    }
}
