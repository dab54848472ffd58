//! A second look after a pass: a tree that changed meanwhile was seen as it never was.

use rustix::io::Errno;

use super::{Found, Pass, PassFault};
use crate::work::tree::stamp::{Stamp, see};

/// Whether the directories and the files that were read are as they were when they were looked at.
pub(super) fn unchanged(pass: &Pass<'_>, found: &[Found]) -> Result<(), PassFault> {
    std::thread::scope(|scope| {
        let (first, others) = found.split_first().expect("there is one for each thread");
        let others: Vec<_> = others
            .iter()
            .map(|found| scope.spawn(|| look_again(pass, found)))
            .collect();
        let mut verdict = look_again(pass, first);
        for other in others {
            verdict = verdict.and(other.join().expect("looking does not panic"));
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
