//! Addresses: an endpoint, and under it a resource.

use bonded_kernel::{Failure, FailureClass};
use reqwest::Url;

use crate::failure::failed;

/// Whether an address is that of one deployment at Azure.
pub(crate) fn is_deployment(url: &Url) -> bool {
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    matches!(segments[..], [.., "openai", "deployments", name] if !name.is_empty())
}

/// The address of a resource of the messages dialect. Its own clients are given an endpoint without the version.
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
