//! Passwords: only a slow hash of each is kept.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::refusal::Refusal;

const ROUNDS: NonZeroU32 = NonZeroU32::new(600_000).expect("600,000 is not zero");
const SCHEME: &str = "pbkdf2-sha256";
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// What a hash is compared with where there is no such user, so that the time says nothing.
const NOBODY: &str =
    "pbkdf2-sha256$600000$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Random bytes, as hexadecimal digits.
pub(crate) fn random_token() -> Result<String, Refusal> {
    let mut bytes = [0; 32];
    fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn fill(bytes: &mut [u8]) -> Result<(), Refusal> {
    let filled = SystemRandom::new().fill(bytes);
    filled.map_err(|_| Refusal::internal("the system gives no random numbers"))
}

/// The hash of a new password. It takes long: not on a thread that others wait for.
pub(super) fn hash(password: &str) -> Result<String, Refusal> {
    let mut salt = [0; SALT_BYTES];
    fill(&mut salt)?;
    let mut hash = [0; HASH_BYTES];
    pbkdf2::derive(
        PBKDF2_HMAC_SHA256,
        ROUNDS,
        &salt,
        password.as_bytes(),
        &mut hash,
    );
    let (salt, hash) = (BASE64.encode(salt), BASE64.encode(hash));
    Ok(format!("{SCHEME}${ROUNDS}${salt}${hash}"))
}

/// Whether the password is the one that was hashed; `None` stands for a user that there is not.
pub(super) fn fits(password: &str, hashed: Option<&str>) -> bool {
    let is_known = hashed.is_some();
    let fits = verify(password, hashed.unwrap_or(NOBODY)).is_some();
    is_known && fits
}

fn verify(password: &str, hashed: &str) -> Option<()> {
    let mut parts = hashed.split('$');
    if parts.next() != Some(SCHEME) {
        return None;
    }
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
        assert!(fits("correct horse", Some(&first)));
        assert!(!fits("correct horse ", Some(&first)));
        assert!(!fits("correct horse", None));
        assert!(!fits("", Some("")));
        assert_ne!(hash("correct horse").expect("there is randomness"), first);
        assert!(verify("", NOBODY).is_none(), "nobody has no password");
    }
}
