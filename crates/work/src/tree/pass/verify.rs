//! A second look after a pass: a tree that changed meanwhile was seen as it never was.

use std::thread::{self, Builder};

use rustix::io::Errno;

use super::{Found, Pass, PassFault};
use crate::tree::stamp::{Stamp, see};

/// Whether the directories and the files that were read are as they were when they were looked at.
pub(super) fn unchanged(pass: &Pass<'_>, found: &[Found]) -> Result<(), PassFault> {
    thread::scope(|scope| {
        let (first, others) = found.split_first().expect("there is one for each thread");
        let look = |found| Builder::new().spawn_scoped(scope, move || look_again(pass, found));
        let others: Vec<_> = others.iter().map(|found| (found, look(found))).collect();
        let mut verdict = look_again(pass, first);
        for (found, other) in others {
            let seen = match other {
                Ok(other) => other.join().expect("looking does not panic"),
                // The system gives no more threads.
                Err(_) => look_again(pass, found),
            };
            verdict = verdict.and(seen);
        }
        verdict
    })
}

fn look_again(pass: &Pass<'_>, found: &Found) -> Result<(), PassFault> {
    for (dir, stamp) in &found.directories {
        let path = if dir.path.is_empty() {
            &b"."[..]
        } else {
            &dir.path
        };
        compare(pass, path, stamp)?;
    }
    for file in &found.files {
        compare(pass, &file.dir.child(file.name.to_bytes()), &file.stamp)?;
    }
    Ok(())
}

fn compare(pass: &Pass<'_>, path: &[u8], before: &Stamp) -> Result<(), PassFault> {
    match see(&pass.root, path) {
        Ok(now) if now.stamp == *before => Ok(()),
        Ok(_) => Err(pass.changed(path)),
        Err(Errno::NAMETOOLONG) => Err(pass.fault(path, Errno::NAMETOOLONG)),
        Err(_) => Err(pass.changed(path)),
    }
}
