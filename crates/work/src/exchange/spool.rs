//! A long content on its way in: it lies in a file without a name until it is known to be the right one.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;

use bonded_kernel::Hash;

use super::error::ExchangeError;
use crate::tree::Checkpoints;

pub(super) struct Spool {
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Spool {
    pub(super) fn new(dir: &Path) -> Result<Self, ExchangeError> {
        Ok(Self {
            file: tempfile::tempfile_in(dir)?,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn hash(&self) -> Hash {
        self.hasher.clone().into()
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> Result<(), ExchangeError> {
        self.file.write_all(piece)?;
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
        Ok(())
    }

    pub(super) fn keep(mut self, to: &Checkpoints) -> Result<(), ExchangeError> {
        self.file.rewind()?;
        to.put_long(&mut self.file, self.bytes)?;
        Ok(())
    }
}
