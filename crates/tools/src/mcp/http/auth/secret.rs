//! What nobody else can guess, and what is made of it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::error::OauthError;

/// 256 bits as a text that may stand in a URL.
pub(super) fn random_text() -> Result<String, OauthError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| OauthError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What is shown beforehand of a secret that is told later (PKCE, S256).
pub(super) fn code_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_rfc_and_no_two_secrets_are_the_same() {
        let challenge = code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random_text(), random_text());
        let one = one.expect("the system has random numbers");
        assert_eq!(one.len(), 43);
        assert_ne!(one, other.expect("the system has random numbers"));
    }
}
