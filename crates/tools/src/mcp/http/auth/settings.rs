//! What a person says about how tokens of a server are had.

use std::fmt;
use std::path::PathBuf;

use crate::rest::Reach;

/// On whose behalf access is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person has logged in, once.
    #[default]
    AuthorizationCode,
    /// The program is known to the issuer by itself.
    ClientCredentials,
    /// A company's identity provider vouches for a person who has logged in there.
    IdentityAssertion,
}

impl Grant {
    /// Whether a token is asked for by the program itself, whenever it needs one.
    pub(super) fn needs_no_login(self) -> bool {
        self != Self::AuthorizationCode
    }
}

/// Who vouches for a person, and with what the person is known there.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentityProvider {
    /// Where it is asked for an assertion.
    pub place: ProviderPlace,
    /// The client that the provider knows, for which it issued the identity token.
    pub client_id: String,
    /// Absent where the client is a public one.
    pub client_secret: Option<String>,
    /// Exchanged for the assertion.
    pub subject: Subject,
    /// What the subject is in the words of the exchange.
    pub subject_kind: SubjectKind,
}

/// Where an identity provider is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderPlace {
    /// It says itself where tokens are had.
    Issuer(String),
    /// Asked as it is, for a provider that has no document of itself.
    TokenEndpoint(String),
}

/// What the provider gave at the person's login.
#[derive(Clone, PartialEq, Eq)]
pub enum Subject {
    /// As the configuration has it.
    Token(String),
    /// Read whenever it is needed, because whoever writes it renews it.
    InFile(PathBuf),
}

/// Which kind of token shows who the person is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubjectKind {
    /// Good for minutes: whoever logs in renews it.
    #[default]
    IdToken,
    /// Good for long, where the provider takes it for the exchange.
    RefreshToken,
}

/// What a person says about how tokens of one server are had. The default is a login with a client that registers itself.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OauthSettings {
    /// Decides which of the other fields count.
    pub grant: Grant,
    /// A client that the issuer knows, or the `https:` address of a document that describes one. Without it
    /// a client is registered.
    pub client_id: Option<String>,
    /// Absent for a client without one, and where a key stands in its place.
    pub client_secret: Option<String>,
    /// A key of the curve P-256 in PKCS #8, instead of a secret.
    pub private_key_pem: Option<String>,
    /// Asked for instead of those that the server names.
    pub scopes: Vec<String>,
    /// The only issuer that is asked.
    pub issuer: Option<String>,
    /// Who vouches for the person, with [`Grant::IdentityAssertion`].
    pub identity_provider: Option<IdentityProvider>,
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
            .field("identity_provider", &self.identity_provider)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProvider")
            .field("place", &self.place)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(_) => f.write_str("Token"),
            Self::InFile(path) => f.debug_tuple("InFile").field(path).finish(),
        }
    }
}
