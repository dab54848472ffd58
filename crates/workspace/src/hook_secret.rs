//! What a rule signs with, and how: as [Standard Webhooks](https://www.standardwebhooks.com) has it, so that libraries of
//! others can check what is sent from here and sign what is sent to here.
//!
//! The signature covers the id of the message, its time and its body, so that none of them can be another.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};

/// What stands before a secret.
const PREFIX: &str = "whsec_";
/// As long as the hash.
const SECRET_BYTES: usize = 32;
/// A header may have several signatures; more are not looked at.
const SIGNATURES_MAX: usize = 8;

/// A message's time may be so far from the receiver's.
pub const REPLAY_WINDOW_SECONDS: u64 = 5 * 60;

/// Names a message; the same name is the same message.
pub const ID_HEADER: &str = "webhook-id";
/// When it was sent, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// Signatures, with blanks between them.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// The key of signatures. It is never shown.
pub struct HookSecret(hmac::Key);

impl std::fmt::Debug for HookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookSecret")
    }
}

impl HookSecret {
    /// A new secret as text; `None` where the system gives no random numbers.
    pub fn draw() -> Option<String> {
        let mut bytes = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(format!("{PREFIX}{}", BASE64.encode(bytes)))
    }

    /// `None` for a text that is no secret.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text.strip_prefix(PREFIX)?).ok()?;
        Some(Self(hmac::Key::new(HMAC_SHA256, &bytes)))
    }

    /// A key that nobody has, for messages to rules that are not there: the answer takes as long as another.
    pub fn of_nobody() -> Self {
        Self(hmac::Key::new(HMAC_SHA256, &[0; SECRET_BYTES]))
    }

    /// The value of the header.
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let signature = hmac::sign(&self.0, &signed(id, timestamp, body));
        format!("v1,{}", BASE64.encode(signature))
    }

    /// Whether one of the signatures is that of the message. The comparison takes the same time whatever differs.
    pub fn verify(&self, id: &str, timestamp: u64, body: &[u8], header: &str) -> bool {
        let message = signed(id, timestamp, body);
        let signatures = header.split(' ').take(SIGNATURES_MAX);
        let mut decoded = signatures
            .filter_map(|signature| signature.strip_prefix("v1,"))
            .filter_map(|signature| BASE64.decode(signature).ok());
        decoded.any(|signature| hmac::verify(&self.0, &message, &signature).is_ok())
    }
}

fn signed(id: &str, timestamp: u64, body: &[u8]) -> Vec<u8> {
    let mut message = format!("{id}.{timestamp}.").into_bytes();
    message.extend_from_slice(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_that_of_the_standard() {
        let secret = HookSecret::read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let secret = secret.expect("it is a secret");
        let (id, timestamp) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330);
        let body = br#"{"test": 2432232314}"#;
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(secret.sign(id, timestamp, body), expected);
        assert!(secret.verify(id, timestamp, body, &format!("v1,AAAA {expected}")));
        for (id, timestamp, body, header) in [
            ("msg_other", timestamp, &body[..], expected),
            (id, timestamp + 1, body, expected),
            (id, timestamp, b"{}", expected),
            (id, timestamp, body, "v1,AAAA"),
            (
                id,
                timestamp,
                body,
                "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
            (id, timestamp, body, ""),
        ] {
            assert!(!secret.verify(id, timestamp, body, header), "{id} {header}");
        }
    }

    #[test]
    fn no_two_secrets_are_alike_and_each_is_one() {
        let (one, other) = (HookSecret::draw(), HookSecret::draw());
        assert_ne!(one, other);
        let one = one.expect("the system has random numbers");
        assert!(HookSecret::read(&one).is_some());
        assert!(HookSecret::read("whsec_§").is_none());
        assert!(HookSecret::read("secret").is_none());
    }
}
