use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, Mode, mknodat};
use tempfile::TempDir;

use super::*;

/// A root with things in it and around it.
fn place() -> (TempDir, Root) {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let top = temp.path().join("top");
    fs::create_dir_all(top.join("a/b")).expect("it can be made");
    fs::write(temp.path().join("secret"), "secret").expect("it can be written");
    fs::write(top.join("plain"), "plain").expect("it can be written");
    fs::write(top.join("a/b/deep"), "deep").expect("it can be written");
    for (target, name) in [
        ("plain", "to_plain"),
        ("a", "to_a"),
        ("../a/b", "a/to_b"),
        ("../../plain", "a/b/up"),
        ("../secret", "out"),
        ("..", "above"),
        ("/etc", "etc"),
        ("/proc/self/root", "magic"),
        ("none", "dangling"),
        ("loop2", "loop1"),
        ("loop1", "loop2"),
    ] {
        symlink(target, top.join(name)).expect("it can be made");
    }
    mknodat(CWD, top.join("fifo"), FileType::Fifo, Mode::RWXU, 0).expect("it can be made");
    let root = Root::open(&top).expect("it can be opened");
    (temp, root)
}

/// In one word what became of it.
fn word(read: Result<Vec<u8>, OpenError>) -> String {
    match read {
        Ok(bytes) => String::from_utf8(bytes).expect("it is text"),
        Err(error) => {
            let debug = format!("{error:?}");
            let end = debug.find([' ', '(']).unwrap_or(debug.len());
            debug[..end].to_owned()
        }
    }
}

const TABLE: &[(&str, &str, &str)] = &[
    // path, links refused, links inside
    ("plain", "plain", "plain"),
    ("./a//b/deep", "deep", "deep"),
    ("a/../plain", "plain", "plain"),
    ("to_plain", "Link", "plain"),
    ("to_a/b/deep", "Link", "deep"),
    ("a/to_b/deep", "Link", "deep"),
    ("a/to_b/../b/deep", "Link", "deep"),
    ("a/b/up", "Link", "plain"),
    ("out", "Link", "Outside"),
    ("above/secret", "Link", "Outside"),
    ("etc/passwd", "Link", "Outside"),
    ("magic/etc/passwd", "Link", "Outside"),
    ("dangling", "Link", "Dangling"),
    ("loop1", "Link", "Io"),
    ("../secret", "Outside", "Outside"),
    ("a/../../secret", "Outside", "Outside"),
    ("/etc/passwd", "Outside", "Outside"),
    ("none", "Missing", "Missing"),
    ("none/none", "Missing", "Missing"),
    ("plain/x", "NotADirectory", "NotADirectory"),
    ("a", "Directory", "Directory"),
    ("", "Directory", "Directory"),
    (".", "Directory", "Directory"),
    ("fifo", "Special", "Special"),
];

#[test]
fn only_what_lies_beneath_is_opened_and_links_only_where_they_are_wanted() {
    let (_temp, root) = place();
    for &(path, refused, inside) in TABLE {
        for (links, expected) in [(Links::Refused, refused), (Links::Inside, inside)] {
            let read = root.read(Path::new(path), links, 100);
            assert_eq!(word(read), expected, "{path:?} with {links:?}");
        }
    }
    let named = root.path().join("a/b/deep");
    assert_eq!(word(root.read(&named, Links::Refused, 100)), "deep");
}

#[test]
fn a_walk_name_by_name_comes_to_the_same() {
    let (_temp, root) = place();
    for &(path, refused, inside) in TABLE {
        if path.starts_with('/') {
            continue;
        }
        for (links, expected) in [(Links::Refused, refused), (Links::Inside, inside)] {
            let read = root
                .open_walking(Path::new(path), READ, links)
                .and_then(|(fd, _)| {
                    let stat = fstat(&fd).expect("it is open");
                    error::refuse_special(&stat, Path::new(path))?;
                    let mut bytes = vec![];
                    File::from(fd)
                        .read_to_end(&mut bytes)
                        .expect("it can be read");
                    Ok(bytes)
                });
            assert_eq!(word(read), expected, "{path:?} with {links:?}");
        }
    }
}

#[test]
fn the_real_path_of_what_was_opened_is_told() {
    let (_temp, root) = place();
    for (path, real) in [
        ("plain", "plain"),
        ("./a/../a/b/deep", "a/b/deep"),
        ("to_a/to_b/deep", "a/b/deep"),
        ("a/b/up", "plain"),
    ] {
        let (_, _, opened) = root
            .regular(Path::new(path), Links::Inside)
            .expect("it is there");
        assert_eq!(*opened, *Path::new(real), "{path}");
    }
}

#[test]
fn what_is_too_long_or_no_file_is_refused_and_nothing_waits() {
    let (temp, root) = place();
    let read = |name: &str, max| word(root.read(Path::new(name), Links::Refused, max));
    assert_eq!(read("plain", 5), "plain");
    assert_eq!(read("plain", 4), "TooLarge");
    let socket = temp.path().join("top/socket");
    let _listener = UnixListener::bind(socket).expect("a socket");
    assert_eq!(read("socket", 5), "Special");
    assert_eq!(read(&"x".repeat(300), 5), "Io");
    assert_eq!(read(&"y/".repeat(4000), 5), "Io");
    let dev = Root::open(Path::new("/dev")).expect("it is there");
    assert_eq!(
        word(dev.read(Path::new("zero"), Links::Refused, 5)),
        "Special"
    );
    let proc = Root::open(Path::new("/proc/self")).expect("it is there");
    // Such files say that they are empty.
    let status = proc.read(Path::new("status"), Links::Refused, 10);
    assert_eq!(word(status), "TooLarge");
}

#[test]
fn a_directory_beneath_is_a_root_of_its_own_and_lists_what_it_holds() {
    let (_temp, root) = place();
    let inner = root
        .directory(Path::new("to_a/b"), Links::Inside)
        .expect("it is there");
    assert!(inner.path().ends_with("top/a/b"));
    let refused = root.directory(Path::new("to_a"), Links::Refused);
    assert!(matches!(refused, Err(OpenError::Link { .. })));
    let up = inner.read(Path::new("../../plain"), Links::Inside, 100);
    assert_eq!(word(up), "Outside");
    let names: Vec<_> = inner.entries(10).expect("it can be listed");
    let entry = |name: &str, kind| Entry {
        name: name.into(),
        kind,
    };
    let expected = [entry("deep", EntryKind::File), entry("up", EntryKind::Link)];
    assert_eq!(names, expected);
    let listed = inner.entries(1);
    assert!(matches!(listed, Err(OpenError::TooManyEntries { .. })));
}

#[test]
fn what_is_exchanged_meanwhile_never_leads_out() {
    use rustix::fs::{RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    let (temp, root) = place();
    fs::write(temp.path().join("top/a/secret"), "harmless").expect("it can be written");
    let (a, above) = (temp.path().join("top/a"), temp.path().join("top/above"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &a, CWD, &above, RenameFlags::EXCHANGE).expect("both exist");
            }
        });
        for round in 0..3000 {
            let links = [Links::Refused, Links::Inside][round % 2];
            let read = root.read(Path::new("a/secret"), links, 100);
            let word = word(read);
            assert_ne!(word, "secret");
        }
        stop.store(true, Ordering::Relaxed);
    });
}
