//! What the server goes by, and where each of it comes from.

use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::api::users::only_the_owner;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::dto::{SettingAnswer, SettingList};

/// For the owner alone: the list names files of the machine.
pub(in crate::workspace) async fn list(
    ask: WorkspaceAsk,
) -> Result<OkJson<SettingList>, ApiRefusal> {
    only_the_owner(&ask, "read the settings")?;
    let settings = ask.site.described.iter().map(SettingAnswer::from);
    Ok(OkJson(SettingList {
        settings: settings.collect(),
    }))
}
