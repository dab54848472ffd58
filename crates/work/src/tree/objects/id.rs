//! Which objects these are.
//!
//! A cache of stamps says that contents are kept. If somebody removes the objects and new ones are made, the
//! old cache would say so of contents that are gone; this number tells them apart.

use std::fs;
use std::io;
use std::path::Path;

use crate::tree::error::TreeError;

/// Tells these objects from others that lie in the same place later.
pub(in crate::tree) type ObjectsId = [u8; 16];

/// Made with the directory, and gone with it.
pub(super) fn of(dir: &Path) -> Result<ObjectsId, TreeError> {
    let path = dir.join("id");
    loop {
        if let Ok(Ok(id)) = fs::read(&path).map(ObjectsId::try_from) {
            return Ok(id);
        }
        let own = dir.join(format!("id.{}", uuid::Uuid::new_v4()));
        let written = fs::write(&own, uuid::Uuid::new_v4().as_bytes());
        // Of two that make one at the same time, both take the one that came first.
        let linked = written.and_then(|()| fs::hard_link(&own, &path).or_else(is_there));
        let _ = fs::remove_file(&own);
        linked.map_err(TreeError::kept(&path))?;
    }
}

fn is_there(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(error),
    }
}
