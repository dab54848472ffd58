//! Where a request goes: an endpoint, and under it the resource that a dialect uses.

use bonded_kernel::{Dialect, Failure, FailureClass, Target};
use reqwest::Url;

use crate::failure::failed;

/// The address that a request to a target is sent to.
pub(crate) fn completion_url(target: &Target) -> Result<Url, Failure> {
    let endpoint = &target.endpoint;
    match target.dialect {
        Dialect::Chat => url_under(endpoint, &["chat", "completions"]),
        Dialect::Responses => url_under(endpoint, &["responses"]),
        Dialect::Messages => versioned_url_under(endpoint, &["messages"]),
        Dialect::Gemini => {
            let model = target.model.as_str();
            let model = model.strip_prefix("models/").unwrap_or(model);
            let verb = if target.stream {
                "streamGenerateContent"
            } else {
                "generateContent"
            };
            let mut url = url_under(endpoint, &["models", &format!("{model}:{verb}")])?;
            if target.stream {
                url.query_pairs_mut().append_pair("alt", "sse");
            }
            Ok(url)
        }
    }
}

/// The address of a resource that a dialect has under an endpoint.
pub(crate) fn resource_url(
    dialect: Dialect,
    endpoint: &str,
    path: &[&str],
) -> Result<Url, Failure> {
    match dialect {
        Dialect::Messages => versioned_url_under(endpoint, path),
        Dialect::Chat | Dialect::Responses | Dialect::Gemini => url_under(endpoint, path),
    }
}

/// The address of the list of models. That of a deployment is the list of its resource.
pub(crate) fn models_url(target: &Target) -> Result<Url, Failure> {
    let mut url = url_under(&target.endpoint, &[])?;
    if is_deployment(&url)
        && let Ok(mut segments) = url.path_segments_mut()
    {
        segments.pop().pop();
    }
    let mut url = resource_url(target.dialect, url.as_str(), &["models"])?;
    // The lists of these two come in pages, and the first would be a short one.
    match target.dialect {
        Dialect::Messages => drop(url.query_pairs_mut().append_pair("limit", "1000")),
        Dialect::Gemini => drop(url.query_pairs_mut().append_pair("pageSize", "1000")),
        Dialect::Chat | Dialect::Responses => {}
    }
    Ok(url)
}

/// Whether an address is that of one deployment at Azure.
fn is_deployment(url: &Url) -> bool {
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    matches!(segments[..], [.., "openai", "deployments", name] if !name.is_empty())
}

/// The address of a resource of the messages dialect. Its own clients are given an endpoint without the version.
fn versioned_url_under(endpoint: &str, path: &[&str]) -> Result<Url, Failure> {
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

#[cfg(test)]
mod tests {
    use Dialect::*;

    use super::*;

    #[test]
    fn each_dialect_has_its_resource_under_the_endpoint() {
        let gemini = "https://g.example/v1beta";
        let cases = [
            (
                Chat,
                "http://h/v1",
                "m",
                false,
                "http://h/v1/chat/completions",
            ),
            (
                Chat,
                "http://h/v1/?a=b",
                "m",
                true,
                "http://h/v1/chat/completions?a=b",
            ),
            (
                Chat,
                "https://x.openai.azure.com/openai/deployments/D?api-version=2025-04-01-preview",
                "m",
                false,
                "https://x.openai.azure.com/openai/deployments/D/chat/completions?api-version=2025-04-01-preview",
            ),
            (
                Responses,
                "https://x.openai.azure.com/openai/v1",
                "m",
                false,
                "https://x.openai.azure.com/openai/v1/responses",
            ),
            (
                Responses,
                "https://x.openai.azure.com/openai/v1/?api-version=preview",
                "m",
                true,
                "https://x.openai.azure.com/openai/v1/responses?api-version=preview",
            ),
            (Responses, "http://h/v1", "m", true, "http://h/v1/responses"),
            (Messages, "http://h/v1/", "m", false, "http://h/v1/messages"),
            (Messages, "http://h", "m", true, "http://h/v1/messages"),
            (
                Messages,
                "http://h/?a=b",
                "m",
                true,
                "http://h/v1/messages?a=b",
            ),
            (
                Messages,
                "http://h/gate/",
                "m",
                true,
                "http://h/gate/v1/messages",
            ),
            (
                Messages,
                "http://h/v1beta",
                "m",
                true,
                "http://h/v1beta/messages",
            ),
            (
                Gemini,
                gemini,
                "g-2",
                false,
                "https://g.example/v1beta/models/g-2:generateContent",
            ),
            (
                Gemini,
                gemini,
                "models/g-2",
                true,
                "https://g.example/v1beta/models/g-2:streamGenerateContent?alt=sse",
            ),
            (
                Gemini,
                gemini,
                "a/../b?c",
                false,
                "https://g.example/v1beta/models/a%2F..%2Fb%3Fc:generateContent",
            ),
        ];
        for (dialect, endpoint, model, stream, expected) in cases {
            let target = Target {
                dialect,
                stream,
                ..Target::new("p", endpoint, model)
            };
            assert_eq!(
                completion_url(&target).map(String::from),
                Ok(expected.into())
            );
        }
    }
}
