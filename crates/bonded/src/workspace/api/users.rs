//! People beside the owner: each has a token of their own.

use serde::Deserialize;
use serde_json::json;

use super::auth::check_name;
use crate::workspace::answer::Answer;
use crate::workspace::ask::Ask;
use crate::workspace::ids;
use crate::workspace::password::random_token;
use crate::workspace::refusal::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    name: String,
}

/// Makes a user. The token is shown this once; only its hash is kept.
pub(in crate::workspace) async fn add(mut ask: Ask) -> Result<Answer, Refusal> {
    let new: NewUser = ask.body()?;
    if !ask.caller()?.is_owner {
        let message = "only the owner of the installation makes users";
        return Err(Refusal::new("ROLE_FORBIDDEN", message));
    }
    check_name(&new.name)?;
    let (store, now) = (&ask.site.store, ask.site.now());
    if store.user_named(new.name.clone()).await?.is_some() {
        let message = "there is a user of this name already; choose another";
        return Err(Refusal::new("CONFLICT", message));
    }
    let user = store.add_user(ids::user(), new.name, now).await?;
    let token = random_token()?;
    let label = "made with the user".to_owned();
    store.add_token(user.user_id, &token, label, now).await?;
    let shown = json!({ "user_id": user.user_id, "name": user.name, "token": token });
    Ok(Answer::created(&shown))
}
