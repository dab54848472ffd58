//! What TLS refuses, in words that say what to do.

use std::error::Error;
use std::io;

use rustls::{CertificateError, InvalidMessage};

const UNKNOWN_SIGNER: &str = "this machine does not trust its certificate; if it is a server of your own, add its certificate to those of the system, or name a file with it in SSL_CERT_FILE";
const EXPIRED: &str = "its certificate has expired; renew it there, or check this machine's clock";
const TOO_EARLY: &str = "its certificate is not valid yet; check this machine's clock";
const OTHER_NAME: &str = "its certificate is for another name; use the name that it is for";
const REVOKED: &str = "its certificate was revoked; ask the server's operator";
const NO_TLS: &str =
    "it does not speak TLS there; use http:// if the server has no TLS, or check the port";
const NOTHING_IN_COMMON: &str = "it supports neither TLS 1.2 nor TLS 1.3";

/// What the TLS below an error refused, and what to do about it; nothing where it was something else.
pub fn tls_refusal(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Some(words(error));
        }
        // What an error of IO wraps is not the cause that it gives.
        cause = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

fn words(error: &rustls::Error) -> String {
    use rustls::Error as Tls;
    let remedy = match error {
        Tls::InvalidCertificate(certificate) => of_certificate(certificate),
        Tls::InvalidMessage(InvalidMessage::InvalidContentType) => Some(NO_TLS),
        Tls::PeerIncompatible(_) => Some(NOTHING_IN_COMMON),
        _ => None,
    };
    remedy.map_or_else(|| format!("TLS failed: {error}"), str::to_owned)
}

fn of_certificate(error: &CertificateError) -> Option<&'static str> {
    Some(match error {
        CertificateError::UnknownIssuer => UNKNOWN_SIGNER,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => EXPIRED,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => TOO_EARLY,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            OTHER_NAME
        }
        CertificateError::Revoked => REVOKED,
        // Certificates that sign themselves are met in this form.
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            UNKNOWN_SIGNER
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tls_refuses_is_said_with_what_to_do_however_deep_it_lies() {
        use rustls::Error as Tls;
        let rows = [
            (
                Tls::InvalidCertificate(CertificateError::UnknownIssuer),
                "SSL_CERT_FILE",
            ),
            (Tls::InvalidCertificate(CertificateError::Expired), "clock"),
            (
                Tls::InvalidCertificate(CertificateError::NotValidYet),
                "clock",
            ),
            (
                Tls::InvalidCertificate(CertificateError::NotValidForName),
                "another name",
            ),
            (
                Tls::InvalidMessage(InvalidMessage::InvalidContentType),
                "http://",
            ),
            (Tls::DecryptError, "TLS failed: "),
        ];
        for (error, part) in rows {
            let nested = io::Error::other(io::Error::other(error));
            let refusal = tls_refusal(&nested).unwrap_or_default();
            assert!(refusal.contains(part), "{refusal}");
        }
        assert_eq!(tls_refusal(&io::Error::other("no route")), None);
    }
}
