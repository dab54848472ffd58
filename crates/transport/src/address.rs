//! Addresses: an endpoint, and under it a resource.
//!
//! Everything is built with the URL parser and never by joining texts: a segment that holds a slash or a
//! question mark is escaped and cannot lead to another resource of the host. A query that stands in the
//! endpoint, such as the API version of a deployment, goes with every address that is made of it. No address
//! from here ever appears in a message, because an endpoint may carry a password.

use bonded_kernel::{Failure, FailureClass};
use url::Url;

use crate::failure::failed;

/// Whether an endpoint is on this machine.
pub fn is_local(endpoint: &str) -> bool {
    Url::parse(endpoint).is_ok_and(|url| bonded_outbound::is_loopback(&url))
}

/// Whether an address is that of one deployment at Azure.
///
/// Such an address ends with `openai/deployments/NAME` and has the deployment in the place of the model. It has
/// no list of models of its own: that of its resource lies two segments above, see `dialect::models_url`.
pub(crate) fn is_deployment(url: &Url) -> bool {
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    matches!(segments[..], [.., "openai", "deployments", name] if !name.is_empty())
}

/// The address of a resource of the messages dialect. Its own clients are given an endpoint without the version.
///
/// So `v1` is added where the endpoint does not end with a version already. Any `v` with a digit after it
/// counts as one, so that `v1beta` of a gateway stays as it was given.
pub(crate) fn versioned_url_under(endpoint: &str, path: &[&str]) -> Result<Url, Failure> {
    let mut url = url_under(endpoint, &[])?;
    let last = url.path_segments().and_then(|mut it| it.next_back());
    let is_version = |segment: &str| {
        let number = segment.strip_prefix('v').unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit())
    };
    let version = (!last.is_some_and(is_version)).then_some("v1");
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.extend(version).extend(path);
    }
    Ok(url)
}

/// The address of a resource under an endpoint; a query of the endpoint is kept.
///
/// One slash at the end of the endpoint makes no difference. An address that cannot have a path, such as
/// `mailto:`, is a failure and costs nothing, because it is found before anything is sent.
pub(crate) fn url_under(endpoint: &str, path: &[&str]) -> Result<Url, Failure> {
    let mut url = Url::parse(endpoint).map_err(|error| unusable(&error.to_string()))?;
    match url.path_segments_mut() {
        Ok(mut segments) => segments.pop_if_empty().extend(path),
        Err(()) => return Err(unusable("it is not a base for paths")),
    };
    Ok(url)
}

/// The endpoint itself stays out of the message: it may hold a password.
pub(crate) fn unusable(why: &str) -> Failure {
    let message = format!("the endpoint is not a usable http or https URL: {why}");
    failed(FailureClass::Network, message, false)
}
