//! Contents are kept once, and what is relied on is there after a crash.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use bonded_kernel::Hash;
use bonded_work::tree::{Checkpoints, TreeError};

use crate::tree_world::{SETTLED, World};

fn read(checkpoints: &Checkpoints, hash: Hash) -> Result<Vec<u8>, TreeError> {
    let mut content = vec![];
    let read = checkpoints.read(hash)?.read_to_end(&mut content);
    read.expect("it is as it was put");
    Ok(content)
}

fn kept_files(world: &World, ending: &str) -> Vec<PathBuf> {
    let dir = world.checkpoints.dir().join("objects");
    let entries = fs::read_dir(dir).expect("it is there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == ending))
        .collect()
}

#[test]
fn equal_contents_are_kept_once() {
    let world = World::new();
    for name in ["a", "b", "c/d"] {
        world.write(name, "x".repeat(1000));
    }
    for round in 0..2 {
        world.write("large", vec![round; 5_000_000]);
        world.write("large-too", vec![round; 5_000_000]);
        world.freeze();
    }
    let packs = kept_files(&world, "pack");
    let bytes: u64 = packs
        .iter()
        .map(|it| it.metadata().expect("it is there").len())
        .sum();
    // Two long files that are read at the same time may be kept twice.
    assert!((10_001_000..=20_001_000).contains(&bytes), "{bytes}");
    world.freeze();
    let later = packs[0].metadata().expect("it is there").len();
    assert_eq!((packs.len(), later), (1, bytes));
}

#[test]
fn what_was_synced_is_there_for_the_next_process_and_the_rest_is_not_relied_on() {
    let world = World::new();
    let synced = world.checkpoints.put(b"synced").expect("it can be kept");
    world.checkpoints.sync().expect("it can be synced");
    let unsynced = world
        .checkpoints
        .put(b"not synced")
        .expect("it can be kept");
    let next = world.reopened();
    assert_eq!(read(&next, synced).expect("it is there"), b"synced");
    let missing = read(&next, unsynced);
    assert!(
        matches!(missing, Err(TreeError::Missing { .. })),
        "{missing:?}"
    );
    // The one that put it has it, and once it is synced the other one finds it as well.
    assert_eq!(
        read(&world.checkpoints, unsynced).expect("it is there"),
        b"not synced"
    );
    world.checkpoints.sync().expect("it can be synced");
    assert_eq!(read(&next, unsynced).expect("it is there"), b"not synced");
}

#[test]
fn a_pack_that_was_never_listed_is_removed_unless_somebody_writes_it() {
    let world = World::new();
    let torn = world.checkpoints.dir().join("objects/7.pack");
    fs::write(&torn, "half of somethi").expect("it can be written");
    world.checkpoints.put(b"under way").expect("it can be kept");
    let under_way: Vec<_> = kept_files(&world, "pack");
    assert_eq!(under_way.len(), 2);
    world.reopened();
    assert!(!torn.exists());
    assert_eq!(kept_files(&world, "pack").len(), 1);
    world.checkpoints.sync().expect("it can be synced");
    assert!(world.reopened().has(Hash::of(b"under way")));
}

#[test]
fn a_list_that_was_torn_holds_what_was_whole() {
    let world = World::new();
    let first = world.checkpoints.put(b"first").expect("it can be kept");
    let second = world.checkpoints.put(b"second").expect("it can be kept");
    world.checkpoints.sync().expect("it can be synced");
    let index = &kept_files(&world, "idx")[0];
    let text = fs::read(index).expect("it is there");
    fs::write(index, &text[..text.len() - 1]).expect("it can be written");
    let next = world.reopened();
    assert_eq!((next.has(first), next.has(second)), (true, false));
}

#[test]
fn a_content_that_was_changed_where_it_is_kept_is_not_given_out() {
    let world = World::new();
    let hash = world.checkpoints.put(b"as it was").expect("it can be kept");
    world.checkpoints.sync().expect("it can be synced");
    for bytes in [&b"as it wAs"[..], b"as it"] {
        fs::write(&kept_files(&world, "pack")[0], bytes).expect("it can be written");
        let mut content = world.reopened().read(hash).expect("it is listed");
        let read = content.read_to_end(&mut vec![]);
        let why = read.expect_err("it is damaged").to_string();
        assert!(why.contains(&hash.to_string()), "{why}");
    }
}

#[test]
fn a_file_is_read_again_when_its_content_was_lost() {
    let world = World::new();
    world.write("file", "content");
    std::thread::sleep(SETTLED);
    let files_read = |checkpoints: &Checkpoints| {
        let frozen = checkpoints.freeze(&world.root).expect("it can be frozen");
        frozen.files_read
    };
    assert_eq!(files_read(&world.checkpoints), 1);
    assert_eq!(files_read(&world.checkpoints), 0);
    // The process ends before it made sure of what it kept.
    let next = world.reopened();
    assert_eq!(files_read(&next), 1);
    next.sync().expect("it can be synced");
    assert_eq!(files_read(&world.reopened()), 0);
    // Somebody makes room.
    let objects = world.checkpoints.dir().join("objects");
    fs::remove_dir_all(objects).expect("it can be removed");
    let last = world.reopened();
    assert_eq!(files_read(&last), 1);
    assert!(last.has(Hash::of(b"content")));
}
