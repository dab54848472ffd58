//! A receipt and who signed it.
//!
//! That a signature is good says only that the key in the receipt made it. Whether anybody vouches for that key
//! is another question, which `KnownKeys` answers; the two are kept apart, so that a forged receipt with a key
//! of its own is seen as what it is.

use std::cell::Cell;

use bonded_work_rules::{EnvelopeFault, Receipt, open_signed_receipt};

use super::key::{KEY_FILE_BYTES_MAX, PublicKey};
use crate::plan::workshop::Workshop;
use bonded_host::regular;
use bonded_host::witness::Signer;

/// Opens a receipt that is whole, does not contradict itself, and has the signature of the key that it names.
pub fn open_receipt(text: &str) -> Result<(Receipt, PublicKey), EnvelopeFault> {
    let signer = Cell::new(None);
    let is_good = |pem: &str, id: &str, bytes: &[u8], signature: &[u8]| {
        let Ok(key) = PublicKey::from_pem(pem) else {
            return false;
        };
        // A key that is written otherwise, or named otherwise than it is, is a changed byte.
        let is_written_so = key.to_pem() == pem && key.id() == id;
        let is_good = is_written_so && key.verify(bytes, signature);
        if is_good {
            signer.set(Some(key));
        }
        is_good
    };
    let receipt = open_signed_receipt(text, is_good)?;
    let signer = signer.get().ok_or(EnvelopeFault::NotSigned)?;
    Ok((receipt, signer))
}

/// The keys that somebody vouches for.
#[derive(Clone, Debug, Default)]
pub struct KnownKeys(Vec<PublicKey>);

impl KnownKeys {
    /// The key that receipts beside this store are signed with, if there is one.
    pub fn of(workshop: &Workshop) -> Self {
        let pem = regular::read_text(&workshop.public_key_file(), KEY_FILE_BYTES_MAX);
        let own = pem.ok().and_then(|pem| PublicKey::from_pem(&pem).ok());
        Self(own.into_iter().collect())
    }

    /// These, and one more where there is one.
    #[must_use]
    pub fn and(mut self, key: Option<PublicKey>) -> Self {
        self.0.extend(key);
        self
    }

    /// Whether somebody vouches for the key.
    pub fn has(&self, key: &PublicKey) -> bool {
        self.0.contains(key)
    }

    /// The key as a witness names it.
    pub fn signer(&self, key: &PublicKey) -> Signer {
        Signer {
            key_id: key.id(),
            is_known: self.has(key),
        }
    }
}
