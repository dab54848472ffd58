//! Who grants access to a server, and how they are asked.
//!
//! The chain is: the server names its issuer, and the issuer names its endpoints. Each link of it is checked
//! against the one before. The server must describe itself and no other, the issuer's document must bear the
//! name that was asked for, and every endpoint is judged before it is used. Otherwise a server could have
//! tokens made for another one, or have a login sent to whomever it likes.

use reqwest::Url;

use super::challenge::Challenge;
use super::document::{IssuerMetadata, ResourceMetadata};
use super::error::OauthError;
use super::places::{covers, is_same_issuer, of_issuer, of_resource};
use super::web::{Web, shown_url};

/// What was found out.
#[derive(Debug)]
pub(super) struct Authority {
    /// What a token is to be good for.
    pub(super) resource: String,
    /// The scopes that the server knows.
    pub(super) scopes: Vec<String>,
    pub(super) issuer: IssuerMetadata,
    /// Nothing was described anywhere: the endpoints are those that were once usual.
    pub(super) is_assumed: bool,
}

/// Looks up a server and its issuer. Where a person has named the issuer, no other is asked.
///
/// A server that describes nothing is taken for its own issuer, as an older version of the protocol has it.
pub(super) async fn discover(
    web: &Web,
    challenge: &Challenge,
    issuer: Option<&str>,
) -> Result<Authority, OauthError> {
    let (place, described) = resource_metadata(web, challenge).await?;
    let mut resource = canonical(&web.server);
    if let Some(stated) = &described.resource {
        let parsed = stated.parse::<Url>().ok();
        if !parsed.is_some_and(|parsed| covers(&parsed, &web.server)) {
            let resource = stated.chars().take(200).collect();
            return Err(OauthError::OtherResource { resource });
        }
        resource.clone_from(stated);
    }
    let mut is_assumed = false;
    let named = pick(&described.authorization_servers, issuer);
    let metadata = match named {
        Some(named) => named_issuer(web, named, place.as_ref()).await?,
        None => match own_issuer(web).await? {
            Some(metadata) => metadata,
            None => {
                is_assumed = true;
                IssuerMetadata::assumed(&web.server)
            }
        },
    };
    if let Some(expected) = issuer
        && !is_same_issuer(expected, &metadata.issuer)
    {
        return Err(other_issuer(expected, &metadata.issuer));
    }
    metadata.endpoints().try_for_each(|url| web.judge(url))?;
    Ok(Authority {
        resource,
        scopes: described.scopes_supported,
        issuer: metadata,
        is_assumed,
    })
}

/// What the server says about itself, and where; nothing where it says nothing.
///
/// A place that the server itself named must hold the document; at the usual places it may be missing.
async fn resource_metadata(
    web: &Web,
    challenge: &Challenge,
) -> Result<(Option<Url>, ResourceMetadata), OauthError> {
    let named = challenge.resource_metadata.as_ref();
    let places = match named {
        None => of_resource(&web.server),
        Some(named) => vec![named.parse().map_err(|error| OauthError::BadDocument {
            url: shown_url(&web.server),
            why: format!("`resource_metadata` is not an address: {error}"),
        })?],
    };
    for place in places {
        if let Some(found) = web.document(&place).await? {
            return Ok((Some(place), found));
        }
        if named.is_some() {
            return Err(OauthError::BadDocument {
                url: shown_url(&place),
                why: "the server says that it describes itself there, and it does not".into(),
            });
        }
    }
    Ok((None, ResourceMetadata::default()))
}

/// The issuer that a person named, if the server has it; else the first.
fn pick<'a>(offered: &'a [String], wanted: Option<&str>) -> Option<&'a String> {
    let is_wanted = |it: &&String| wanted.is_some_and(|wanted| is_same_issuer(wanted, it));
    offered.iter().find(is_wanted).or(offered.first())
}

/// What an issuer says about itself, which must be the one that was named.
pub(super) async fn named_issuer(
    web: &Web,
    named: &str,
    place: Option<&Url>,
) -> Result<IssuerMetadata, OauthError> {
    let bad = |why: String| OauthError::BadDocument {
        url: place.map_or(String::new(), shown_url),
        why,
    };
    let issuer: Url = named
        .parse()
        .map_err(|error| bad(format!("the issuer is not an address: {error}")))?;
    web.judge(&issuer)?;
    for place in of_issuer(&issuer) {
        if let Some(metadata) = web.document::<IssuerMetadata>(&place).await? {
            if !is_same_issuer(named, &metadata.issuer) {
                return Err(other_issuer(named, &metadata.issuer));
            }
            return Ok(metadata);
        }
    }
    let why = format!("the issuer {} describes itself nowhere", shown_url(&issuer));
    Err(bad(why))
}

/// Servers of version 2025-03-26 are their own issuers.
async fn own_issuer(web: &Web) -> Result<Option<IssuerMetadata>, OauthError> {
    let root = super::places::at(&web.server, "/");
    for place in of_issuer(&root) {
        if let Some(metadata) = web.document::<IssuerMetadata>(&place).await? {
            let origin = metadata.issuer.parse::<Url>().map(|issuer| issuer.origin());
            if origin.is_ok_and(|origin| origin == web.server.origin()) {
                return Ok(Some(metadata));
            }
            let expected = web.server.origin().ascii_serialization();
            return Err(other_issuer(&expected, &metadata.issuer));
        }
    }
    Ok(None)
}

fn other_issuer(expected: &str, found: &str) -> OauthError {
    OauthError::OtherIssuer {
        expected: expected.into(),
        found: found.chars().take(200).collect(),
    }
}

/// The address of the server as it names a resource.
pub(super) fn canonical(server: &Url) -> String {
    let mut server = server.clone();
    server.set_query(None);
    server.set_fragment(None);
    // A password is for the server alone.
    let _ = (server.set_username(""), server.set_password(None));
    server.to_string()
}
