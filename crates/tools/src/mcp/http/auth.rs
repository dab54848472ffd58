//! Tokens for servers that demand them (OAuth 2.1, as the protocol profiles it).
//!
//! A token is gained in one of three ways. A person logs in once ([`login`]), and the token and what renews it
//! are kept in a file; or the program is known to the issuer by itself and asks whenever it needs to; or it asks with
//! the word of an identity provider that vouches for a person. A run renews tokens; it never asks a person.
//!
//! A token goes to the server that it was gained for and nowhere else. What the server says about who grants
//! tokens is not trusted further than `web` allows.

mod assertion;
mod challenge;
mod discover;
mod document;
mod error;
mod gain;
mod identity;
mod keep;
mod login;
mod places;
mod redirect;
mod remedy;
mod secret;
mod settings;
mod token;
mod vouched;
mod web;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::HeaderValue;
use tokio::sync::Mutex;

pub use self::error::OauthError;
use self::keep::TokenFile;
pub use self::login::{LoggedIn, login, logout};
use self::places::is_same_issuer;
pub(super) use self::remedy::Remedies;
pub use self::settings::{
    Grant, IdentityProvider, OauthSettings, ProviderPlace, Subject, SubjectKind,
};
use self::token::Kept;

/// Told a secret by its name and its value, before it is used.
type Learn = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Told the address at which a person logs in.
type Visit = Arc<dyn Fn(&str) + Send + Sync>;

/// How tokens of one server are had, and the one that is in use.
pub struct Oauth {
    settings: OauthSettings,
    token_dir: Option<PathBuf>,
    learn: Option<Learn>,
    visit: Option<Visit>,
    /// Held by the one who gains another.
    kept: Mutex<Option<Kept>>,
}

impl Oauth {
    /// Keeps nothing and asks nobody, until it is told where and whom.
    pub fn new(settings: OauthSettings) -> Self {
        Self {
            settings,
            token_dir: None,
            learn: None,
            visit: None,
            kept: Mutex::default(),
        }
    }

    /// Keeps what logins give in files of this directory.
    #[must_use]
    pub fn keeping(mut self, token_dir: PathBuf) -> Self {
        self.token_dir = Some(token_dir);
        self
    }

    /// Tells every secret that is met.
    #[must_use]
    pub fn learning(mut self, learn: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        self.learn = Some(Arc::new(learn));
        self
    }

    /// Somebody is there to log in, who is told where.
    #[must_use]
    pub fn attended(mut self, visit: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.visit = Some(Arc::new(visit));
        self
    }

    /// The token that the next request carries, renewed if it is about to expire.
    pub(super) async fn token(self: &Arc<Self>, server: &Url) -> Option<String> {
        {
            let mut kept = self.kept.lock().await;
            if kept.is_none()
                && let Some(file) = self.file(server)
            {
                // A file that cannot be read is found out when the server refuses.
                *kept = self.login_in(&file).ok().flatten();
                kept.iter().for_each(|kept| self.learn_all(kept));
            }
            match &*kept {
                Some(kept) if kept.is_due() => {}
                kept => return kept.as_ref().map(|kept| kept.access_token.clone()),
            }
        }
        let (oauth, server) = (Arc::clone(self), server.clone());
        // Its own task: what an issuer has given is kept, even if the request is given up.
        let renewing = tokio::spawn(async move {
            let mut kept = oauth.kept.lock().await;
            let used = kept.as_ref().map(|kept| kept.access_token.clone());
            if kept.as_ref().is_some_and(Kept::is_due) {
                // The old token is tried then, and the server says whether it is still good.
                let _ = oauth.renew(&server, &mut kept, used.as_deref()).await;
            }
            kept.as_ref().map(|kept| kept.access_token.clone())
        });
        renewing.await.ok().flatten()
    }

    /// Where a login is kept. Programs that are known by themselves keep nothing.
    fn file(&self, server: &Url) -> Option<TokenFile> {
        let dir = self.token_dir.as_ref()?;
        let is_login = !self.settings.grant.needs_no_login();
        is_login.then(|| TokenFile::new(dir, server))
    }

    /// The login that a file holds, unless it is one with an issuer that the person does not want.
    fn login_in(&self, file: &TokenFile) -> Result<Option<Kept>, OauthError> {
        let wanted = self.settings.issuer.as_deref();
        let is_wanted =
            |kept: &Kept| wanted.is_none_or(|wanted| is_same_issuer(wanted, &kept.issuer));
        Ok(file.read()?.filter(is_wanted))
    }

    fn learn_all(&self, kept: &Kept) {
        kept.secrets()
            .for_each(|(name, value)| self.learn(name, value));
    }

    fn learn(&self, name: &str, value: &str) {
        if let Some(learn) = &self.learn {
            learn(name, value);
        }
    }
}

/// The header that carries a token.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether a server may be used with the settings of another: what is in use now does not matter.
impl PartialEq for Oauth {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings && self.token_dir == other.token_dir
    }
}

impl Eq for Oauth {}

impl fmt::Debug for Oauth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}
