//! Disks that do not give back what they hold.

use crate::place::{Done, Place, done, finish, start};
use bonded_testkit::shim;

/// Reads of the file that `UNREADABLE` names fail from the byte `UNREADABLE_FROM` on.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
static int is_kept_back(int fd, off_t from) {
    const char *name = getenv("UNREADABLE"), *least = getenv("UNREADABLE_FROM");
    char link[64], path[4096];
    if (!name || from < (least ? atol(least) : 0)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strcmp(path, name) == 0;
}
ssize_t read(int fd, void *into, size_t length) {
    if (is_kept_back(fd, lseek(fd, 0, SEEK_CUR))) { errno = EIO; return -1; }
    return syscall(SYS_read, fd, into, length);
}
ssize_t pread(int fd, void *into, size_t length, off_t at) {
    if (is_kept_back(fd, at)) { errno = EIO; return -1; }
    return syscall(SYS_pread64, fd, into, length, at);
}
ssize_t pread64(int fd, void *into, size_t length, off64_t at) { return pread(fd, into, length, at); }
"#;

/// The program on a disk that keeps back a file from this byte on.
fn bonded_without(place: &Place, name: &str, from: u64, words: &[&str]) -> Done {
    let path = place.path(name).canonicalize().expect("the file is there");
    let mut command = place.command(words);
    command
        .env("LD_PRELOAD", shim::built(SHIM))
        .env("UNREADABLE", path)
        .env("UNREADABLE_FROM", from.to_string());
    finish(start(&mut command))
}

#[test]
fn a_store_that_the_disk_keeps_back_is_not_called_damaged() {
    let place = Place::new();
    place.play(&[done("ok")]).succeeds();
    let looks: [&[&str]; 5] = [
        &["runs"],
        &["show", "run"],
        &["replay", "run"],
        &["verify", "run"],
        &["resume", "run"],
    ];
    for from in [0, 4_096, 8_192] {
        for words in looks {
            let look = bonded_without(&place, "store.db", from, words);
            // What is not needed is not missed.
            if from > 0 && look.code == Some(0) {
                continue;
            }
            assert_eq!(
                (look.code, look.error()),
                (Some(3), "store-io"),
                "{from}: {look:?}"
            );
            for part in ["store.db", "os error 5"] {
                assert!(look.stderr.contains(part), "{part}: {look:?}");
            }
            for part in ["damaged", "backup"] {
                assert!(!look.stderr.contains(part), "{part}: {look:?}");
            }
        }
    }
    place.bonded(&["show", "run"]).succeeds();
    place.passes_the_audit("run");
}
