//! What a person says about how tokens of a server are had.

use std::fmt;

use crate::rest::Reach;

/// On whose behalf access is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person has logged in, once.
    #[default]
    AuthorizationCode,
    /// The program is known to the issuer by itself.
    ClientCredentials,
}

#[derive(Clone, Default, PartialEq, Eq)]
pub struct OauthSettings {
    pub grant: Grant,
    /// A client that the issuer knows, or the `https:` address of a document that describes one. Without it
    /// a client is registered.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// A key of the curve P-256 in PKCS #8, instead of a secret.
    pub private_key_pem: Option<String>,
    /// Asked for instead of those that the server names.
    pub scopes: Vec<String>,
    /// The only issuer that is asked.
    pub issuer: Option<String>,
    /// Where the end of a login is listened for; without it, at a port that is free.
    pub redirect_port: Option<u16>,
    /// Which addresses an issuer's name may lead to.
    pub reach: Reach,
}

/// Secrets are not shown.
impl fmt::Debug for OauthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthSettings")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
