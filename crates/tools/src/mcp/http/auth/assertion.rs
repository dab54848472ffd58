//! A signed word that we are the client we say (RFC 7523), for issuers that want no secret.
//!
//! Each word is made for one request: it names its audience, is good for a minute, and has a random number by
//! which an issuer knows a repetition. The key never leaves this process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

use super::error::OauthError;
use super::secret::random_text;

/// How long the word is good.
const LIFETIME: Duration = Duration::from_secs(60);

/// A private key for ES256.
#[derive(Debug)]
pub(super) struct Signer {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    /// Reads PKCS #8 in PEM.
    pub(super) fn new(pem: &str) -> Result<Self, OauthError> {
        let bad = |why| OauthError::BadKey { why };
        let body: String = pem
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("-----"))
            .collect();
        let der = STANDARD
            .decode(body)
            .map_err(|_| bad("it is not PEM; it must begin with -----BEGIN PRIVATE KEY-----"))?;
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random)
            .map_err(|_| bad("it must be a key of the curve P-256 in PKCS #8"))?;
        Ok(Self { key, random })
    }

    /// A JSON Web Token. A clock that is wrong by more than its lifetime makes it useless, and the issuer says
    /// so.
    pub(super) fn assertion(&self, client: &str, audience: &str) -> Result<String, OauthError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = now.unwrap_or_default().as_secs();
        let claims = json!({
            "iss": client,
            "sub": client,
            "aud": audience,
            "iat": now_s,
            "exp": now_s + LIFETIME.as_secs(),
            "jti": random_text()?,
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({ "alg": "ES256", "typ": "JWT" });
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self.key.sign(&self.random, signed.as_bytes());
        let signature = signature.map_err(|_| OauthError::NoRandomness)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_used_says_why() {
        for (pem, part) in [("?", "not PEM"), ("", "P-256"), ("AAAA", "P-256")] {
            let error = Signer::new(pem).expect_err("it is no key").to_string();
            assert!(error.contains(part), "{pem}: {error}");
        }
    }
}
