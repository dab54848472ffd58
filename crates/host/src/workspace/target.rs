//! From the provider that an action or the configuration chooses to the target that is asked.

use std::path::PathBuf;

use bonded_kernel::Target;
use bonded_kernel::workspace::ProviderChoice;

use crate::provider::{self, ProviderError, SCRIPT, TargetRequest, resolve_target};

/// The target of a choice. `script_file` finds the file of the provider that plays one.
pub(super) fn target_of(
    choice: &ProviderChoice,
    script_file: impl Fn(&str) -> PathBuf,
) -> Result<Target, ProviderError> {
    let kind = &choice.provider_kind;
    let url = choice.base_url.as_deref();
    let model = match kind.as_str() {
        // What others have a server for, this one has a file for.
        SCRIPT => format!("script:{}", script_file(url.unwrap_or_default()).display()),
        _ => format!("{kind}/{}", choice.model),
    };
    let asked = TargetRequest {
        model,
        timeout_ms: choice.timeout_ms,
        ..TargetRequest::default()
    };
    let mut target = resolve_target(&asked, |_| None)?;
    if let Some(url) = url.filter(|_| kind != SCRIPT) {
        target.endpoint = provider::checked_url(url)?;
    }
    Ok(target)
}
