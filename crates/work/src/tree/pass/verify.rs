//! A second look after a pass: a tree that changed meanwhile was seen as it never was.
//!
//! It is made after everything was read and not file by file, because a file that was read early may change
//! while others are. Files that the cache knew are not looked at again; a change to one after its stamp was
//! taken is found by the next pass.

use std::thread::{self, Builder};

use rustix::io::Errno;

use super::fault::PassFault;
use super::job::Findings;
use super::root::Pass;
use crate::tree::stamp::{Stamp, see};

/// Whether the directories and the files that were read are as they were when they were looked at.
pub(super) fn unchanged(pass: &Pass<'_>, found: &[Findings]) -> Result<(), PassFault> {
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

fn look_again(pass: &Pass<'_>, found: &Findings) -> Result<(), PassFault> {
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
