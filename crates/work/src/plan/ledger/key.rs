//! The key that receipts are signed with: Ed25519, made at first use, kept in one file that only its owner reads.
//!
//! The key proves that a receipt was made beside this store, to whoever has its public half. It is plain PKCS#8
//! and SPKI in PEM, so that stock tools can verify what it signed. A file that others may read is refused:
//! whoever has read it can sign receipts. The program never replaces it by itself, since receipts of the old
//! one could not be told from forged ones then.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use rustix::fs::{FlockOperation, flock};

use crate::files::{make_directory_of, remove_durably, sync_directory};
use bonded_host::regular;

const PUBLIC_BYTES: usize = 32;
/// What stands before the 32 bytes of every Ed25519 key in the form of RFC 8410.
const PUBLIC_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// As RFC 7468 has it for PKCS#8.
const PRIVATE_LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";
/// More than a key takes, with remarks around it.
pub const KEY_FILE_BYTES_MAX: u64 = 4096;

/// Signs. The secret never leaves it but into its file.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

/// Verifies what its signing key has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; PUBLIC_BYTES]);

/// Why there is no key to sign with.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Its file cannot be read or written.
    #[error("the signing key {} cannot be used: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    /// Others could have read it, and so sign with it.
    #[error(
        "the signing key {} can be read by other users (mode {mode:04o}); if none of them has read it, run `chmod 600` on it, else remove it and a new one is created",
        file.display()
    )]
    Exposed { file: PathBuf, mode: u32 },
    /// Its file holds no key, or one that lost a bit.
    #[error(
        "the signing key {} is damaged; restore it, or remove it and a new one is created, which cannot verify what the old one signed",
        file.display()
    )]
    Damaged { file: PathBuf },
    /// A new one could not be made.
    #[error("the system gave no random numbers for a signing key")]
    NoRandomness,
}

/// A text that is no public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not an Ed25519 public key in PEM form; it begins with `-----BEGIN PUBLIC KEY-----`"
)]
pub struct BadPublicKey;

impl SigningKey {
    /// Reads the key, or makes it where there is none. Of two processes that make one at the same time, both
    /// get the same.
    pub fn open_or_create(file: &Path) -> Result<Self, KeyError> {
        if let Some(key) = Self::open(file)? {
            return Ok(key);
        }
        create(file)?;
        let gone = || KeyError::Io {
            file: file.to_owned(),
            source: io::ErrorKind::NotFound.into(),
        };
        Self::open(file)?.ok_or_else(gone)
    }

    /// Reads the key; nothing where there is no file.
    pub fn open(file: &Path) -> Result<Option<Self>, KeyError> {
        let text = match read_private(file)? {
            Some(text) => text,
            None => return Ok(None),
        };
        let damaged = || KeyError::Damaged {
            file: file.to_owned(),
        };
        let document = from_pem(PRIVATE_LABEL, &text).ok_or_else(damaged)?;
        // The document holds the public key too, so that a secret that lost a bit is seen.
        let pair = Ed25519KeyPair::from_pkcs8(&document).map_err(|_| damaged())?;
        let public = pair.public_key().as_ref();
        let public = PublicKey(public.try_into().map_err(|_| damaged())?);
        Ok(Some(Self { pair, public }))
    }

    /// An Ed25519 signature over the bytes.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.pair.sign(bytes).as_ref().to_vec()
    }

    /// The half that anybody may have.
    pub fn public(&self) -> PublicKey {
        self.public
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public.id())
    }
}

impl PublicKey {
    /// Whether this key's secret half has signed these bytes.
    pub fn verify(&self, bytes: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        key.verify(bytes, signature).is_ok()
    }

    /// The SHA-256 of the key as `openssl pkey -pubin -outform DER` writes it, in hexadecimal digits.
    pub fn id(&self) -> String {
        let digest = digest(&SHA256, &self.document());
        let digits = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
        digits.collect()
    }

    /// The form that stock verifiers read.
    pub fn to_pem(&self) -> String {
        to_pem(PUBLIC_LABEL, &self.document())
    }

    /// Reads the form that [`to_pem`](Self::to_pem) writes.
    pub fn from_pem(text: &str) -> Result<Self, BadPublicKey> {
        let document = from_pem(PUBLIC_LABEL, text).ok_or(BadPublicKey)?;
        let key = document.strip_prefix(&PUBLIC_PREFIX).ok_or(BadPublicKey)?;
        Ok(Self(key.try_into().map_err(|_| BadPublicKey)?))
    }

    /// The key as RFC 8032 has it.
    pub fn as_bytes(&self) -> &[u8; PUBLIC_BYTES] {
        &self.0
    }

    /// The key with its algorithm, in DER.
    fn document(&self) -> Vec<u8> {
        [PUBLIC_PREFIX.as_slice(), &self.0].concat()
    }
}

/// The mode is asked of the file that is open, not of the path, so that nobody can exchange one for the other
/// in between.
fn read_private(file: &Path) -> Result<Option<String>, KeyError> {
    let failed = |source| KeyError::Io {
        file: file.to_owned(),
        source,
    };
    let opened = match regular::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let mode = opened.metadata().map_err(failed)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        let file = file.to_owned();
        return Err(KeyError::Exposed { file, mode });
    }
    let mut bytes = vec![];
    let mut opened = opened.take(KEY_FILE_BYTES_MAX);
    opened.read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| KeyError::Damaged {
        file: file.to_owned(),
    })?;
    Ok(Some(text))
}

/// Does nothing where another process was faster.
fn create(file: &Path) -> Result<(), KeyError> {
    let random = SystemRandom::new();
    let document = Ed25519KeyPair::generate_pkcs8(&random).map_err(|_| KeyError::NoRandomness)?;
    let text = to_pem(PRIVATE_LABEL, document.as_ref());
    write_private(file, &text).map_err(|source| KeyError::Io {
        file: file.to_owned(),
        source,
    })
}

/// One process at a time makes a key, so that the first of two wins and both read what it wrote, and what one leaves
/// that dies is the next one's to replace: no second copy of a secret lies about.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let directory = make_directory_of(file)?;
    let lock = File::open(directory)?;
    flock(&lock, FlockOperation::LockExclusive)?;
    if file.exists() {
        return Ok(());
    }
    let new = file.with_extension("key.new");
    remove_durably(&new)?;
    let mut options = File::options();
    let mut opened = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    opened.write_all(text.as_bytes())?;
    opened.sync_all()?;
    fs::rename(&new, file)?;
    sync_directory(directory)
}

/// Two lines are enough for both kinds of keys.
fn to_pem(label: &str, document: &[u8]) -> String {
    // A line of the form holds 64 characters; no document of ours is longer than two of them.
    let body = BASE64_STANDARD.encode(document);
    let (first, rest) = body.split_at(body.len().min(64));
    let rest = match rest {
        "" => String::new(),
        rest => format!("{rest}\n"),
    };
    format!("-----BEGIN {label}-----\n{first}\n{rest}-----END {label}-----\n")
}

/// What stands around the two marks is passed over, and so is white space between them.
fn from_pem(label: &str, text: &str) -> Option<Vec<u8>> {
    let (_, body) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = body.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    BASE64_STANDARD.decode(body).ok()
}
