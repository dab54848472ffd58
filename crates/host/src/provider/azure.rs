//! Deployments at Azure: their addresses and keys, from the variables that OpenAI's own clients read.

use bonded_kernel::Target;

use super::known::{KeyVariable, TOKEN_HEADER, first_set};
use super::{ProviderError, TargetRequest, checked_url, target};

/// The variables that hold the token or the key of a resource at Azure, as OpenAI's own clients name and order them.
pub(super) const AZURE_KEYS: &[KeyVariable] = &[
    KeyVariable {
        name: "AZURE_OPENAI_AD_TOKEN",
        header: Some(TOKEN_HEADER),
    },
    AZURE_KEY,
];

/// The usual one, where no token is set.
const AZURE_KEY: KeyVariable = KeyVariable {
    name: "AZURE_OPENAI_API_KEY",
    header: Some(AZURE_KEY_HEADER),
};

/// The header that Azure wants a key in.
pub const AZURE_KEY_HEADER: &str = "api-key";

/// A deployment at Azure, from the variables that OpenAI's own clients read.
pub(super) fn azure_target(
    asked: &TargetRequest,
    deployment: &str,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Target, ProviderError> {
    if deployment.is_empty() {
        return Err(ProviderError::NoModel {
            model: asked.model.clone(),
            provider: "azure".into(),
        });
    }
    let key = match &asked.key_env {
        Some(_) => AZURE_KEY,
        None => azure_key(&env),
    };
    let endpoint = azure_at(None, None, deployment, env)?;
    let key_env = asked.key_env.clone().or(Some(key.name.to_owned()));
    Ok(Target {
        key_header: key.header.map(str::to_owned),
        ..target(asked, "azure", endpoint, deployment, key_env)
    })
}

/// The variable that holds the key of a resource at Azure.
pub(crate) fn azure_key(env: impl Fn(&str) -> Option<String>) -> KeyVariable {
    first_set(AZURE_KEYS, env).unwrap_or(AZURE_KEY)
}

/// Where a deployment is; what nobody says, the variables may.
pub(crate) fn azure_at(
    resource: Option<String>,
    version: Option<String>,
    deployment: &str,
    env: impl Fn(&str) -> Option<String>,
) -> Result<String, ProviderError> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let resource = resource.or_else(|| set("AZURE_OPENAI_ENDPOINT"));
    let resource = resource.ok_or(ProviderError::NoAzureEndpoint)?;
    let version = version.or_else(|| set("OPENAI_API_VERSION"));
    checked_url(&azure_endpoint(&resource, version.as_deref(), deployment))
}

/// Where a deployment is: with a version of the API as every client knows it, else under the address that needs none.
/// An address that names more than the resource is taken as it is.
pub fn azure_endpoint(url: &str, version: Option<&str>, deployment: &str) -> String {
    let bare = url.trim_end_matches('/');
    match version {
        _ if bare.contains("/openai/") => bare.to_owned(),
        Some(version) => {
            let bare = bare.trim_end_matches("/openai");
            let (deployment, version) = (escaped(deployment), escaped(version));
            format!("{bare}/openai/deployments/{deployment}?api-version={version}")
        }
        None => format!("{}/openai/v1", bare.trim_end_matches("/openai")),
    }
}

/// A name that is no more than a name in an address, whoever wrote it.
fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    let is_dots = name.bytes().all(|byte| byte == b'.');
    name.bytes().fold(String::new(), |mut all, byte| {
        match plain(byte) || byte == b'.' && !is_dots {
            true => all.push(char::from(byte)),
            false => all.push_str(&format!("%{byte:02X}")),
        }
        all
    })
}
