//! Passwords: only a slow hash of each is kept.
//!
//! New ones are hashed with Argon2id, as RFC 9106 and OWASP advise for logins: 19 MiB and two passes, which takes a core a
//! few hundredths of a second. Hashes of before (PBKDF2) are still checked, and made anew at the next login.

use std::num::NonZeroU32;

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::json_api::refusal::ApiRefusal;

/// As OWASP advises.
const MEMORY_KIB: u32 = 19 * 1024;
/// As OWASP advises.
const PASSES: u32 = 2;
/// One lane, as OWASP advises.
const LANES: u32 = 1;
/// As RFC 9106 advises.
const SALT_BYTES: usize = 16;
/// How hashes of before begin.
const OLD_SCHEME: &str = "pbkdf2-sha256";
/// What a password is compared with where there is no such user, so that the time says nothing.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$\
                      AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What a password came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordCheck {
    /// It is another, or there is no such user.
    Wrong,
    /// It is the one that was hashed.
    Right,
    /// It is right, and its hash is one of before.
    Outdated,
}

/// Random bytes, as hexadecimal digits.
pub fn random_token() -> Result<String, ApiRefusal> {
    let mut bytes = [0; 32];
    fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// From the system; without it nothing can be made that is hard to guess.
fn fill(bytes: &mut [u8]) -> Result<(), ApiRefusal> {
    let filled = SystemRandom::new().fill(bytes);
    filled.map_err(|_| ApiRefusal::internal("the system gives no random numbers"))
}

/// With the parameters above.
fn hasher() -> Result<Argon2<'static>, ApiRefusal> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
        .map_err(|_| ApiRefusal::internal("passwords cannot be hashed"))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// The hash of a new password. It takes long: not on a thread that others wait for.
pub fn hash(password: &str) -> Result<String, ApiRefusal> {
    let mut salt = [0; SALT_BYTES];
    fill(&mut salt)?;
    let failed = |_| ApiRefusal::internal("the password could not be hashed");
    let salt = SaltString::encode_b64(&salt).map_err(failed)?;
    let hashed = hasher()?.hash_password(password.as_bytes(), &salt);
    Ok(hashed.map_err(failed)?.to_string())
}

/// Whether the password is the one that was hashed; `None` stands for a user that there is not.
pub(super) fn check(password: &str, hashed: Option<&str>) -> PasswordCheck {
    let is_known = hashed.is_some();
    let hashed = hashed.unwrap_or(NOBODY);
    let checked = match hashed.split('$').next() {
        Some(OLD_SCHEME) => old_fits(password, hashed).map(|()| PasswordCheck::Outdated),
        _ => fits(password, hashed).map(|()| PasswordCheck::Right),
    };
    checked.filter(|_| is_known).unwrap_or(PasswordCheck::Wrong)
}

/// The parameters are those that the hash itself names.
fn fits(password: &str, hashed: &str) -> Option<()> {
    let hashed = PasswordHash::new(hashed).ok()?;
    let hasher = hasher().ok()?;
    hasher.verify_password(password.as_bytes(), &hashed).ok()
}

/// None also where the hash cannot be read.
fn old_fits(password: &str, hashed: &str) -> Option<()> {
    let mut parts = hashed.split('$').skip(1);
    let rounds: NonZeroU32 = parts.next()?.parse().ok()?;
    let salt = BASE64.decode(parts.next()?).ok()?;
    let hash = BASE64.decode(parts.next()?).ok()?;
    pbkdf2::verify(
        PBKDF2_HMAC_SHA256,
        rounds,
        &salt,
        password.as_bytes(),
        &hash,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_password_fits_and_the_same_one_is_hashed_otherwise_each_time() {
        let first = hash("correct horse").expect("there is randomness");
        assert!(
            first.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{first}"
        );
        assert_eq!(check("correct horse", Some(&first)), PasswordCheck::Right);
        assert_eq!(check("correct horse ", Some(&first)), PasswordCheck::Wrong);
        assert_eq!(check("correct horse", None), PasswordCheck::Wrong);
        assert_eq!(check("", Some("")), PasswordCheck::Wrong);
        assert_ne!(hash("correct horse").expect("there is randomness"), first);
        assert!(fits("", NOBODY).is_none(), "nobody has no password");
    }

    #[test]
    fn a_hash_of_before_is_checked_and_told_to_be_one() {
        let mut hash = [0; 32];
        let rounds = NonZeroU32::new(1000).expect("it is not zero");
        pbkdf2::derive(PBKDF2_HMAC_SHA256, rounds, b"salt", b"old horse", &mut hash);
        let (salt, hash) = (BASE64.encode(b"salt"), BASE64.encode(hash));
        let kept = format!("pbkdf2-sha256$1000${salt}${hash}");
        assert_eq!(check("old horse", Some(&kept)), PasswordCheck::Outdated);
        assert_eq!(check("other horse", Some(&kept)), PasswordCheck::Wrong);
    }
}
