//! Rules: written, checked, launched.

use bonded_kernel::{EventId, RuleId};
use bonded_workspace_rules::{
    Change, Code, Fault, Fire, Permission, Rule, RuleDraft, run_of_firing,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::notes::workspace_asked;
use crate::workspace::answer::Answer;
use crate::workspace::ask::{Ask, permit};
use crate::workspace::ids;
use crate::workspace::refusal::Refusal;
use crate::workspace::shown;

pub(in crate::workspace) async fn list(ask: Ask) -> Result<Answer, Refusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let rules = ask.site.store.rules(workspace_id).await?;
    let shown: Vec<Value> = rules.iter().map(shown::rule).collect();
    Ok(Answer::ok(&json!({ "rules": shown })))
}

pub(in crate::workspace) async fn show(ask: Ask) -> Result<Answer, Refusal> {
    let rule = found(&ask, Permission::ReadNotes).await?;
    Ok(Answer::ok(&shown::rule(&rule)))
}

/// The rule of the path, if the caller may do this with it.
async fn found(ask: &Ask, permission: Permission) -> Result<Rule, Refusal> {
    let rule_id: RuleId = ask.id("rule_id")?;
    let rule = ask.site.store.rule(rule_id).await?;
    let rule = rule
        .filter(|rule| !rule.is_deleted)
        .ok_or_else(|| Refusal::new(Code::RuleNotFound, format!("there is no rule {rule_id}")))?;
    let rule = rule.rule;
    permit(ask, rule.draft.workspace_id, permission).await?;
    Ok(rule)
}

/// Everything that is wrong with a rule, at once.
fn invalid(faults: &[Fault]) -> Refusal {
    let sentences: Vec<String> = faults.iter().map(Fault::to_string).collect();
    Refusal::new(Code::RuleInvalid, sentences.join("; ")).details(json!({ "faults": faults }))
}

/// A rule whose prompt could not be given to an agent would fail whenever it fires.
fn check_prompt(ask: &Ask, draft: &RuleDraft) -> Result<(), Refusal> {
    let checked = ask.site.surroundings.check_prompt_of(draft);
    checked.map_err(|error| {
        let at = json!([{ "at": "/action_json/prompt_path", "message": error.to_string() }]);
        Refusal::new(error.code(), error.to_string()).details(json!({ "faults": at }))
    })
}

pub(in crate::workspace) async fn create(mut ask: Ask) -> Result<Answer, Refusal> {
    let written: Value = ask.body()?;
    let draft =
        RuleDraft::check(&written, &*ask.site.surroundings).map_err(|faults| invalid(&faults))?;
    permit(&ask, draft.workspace_id, Permission::ManageRules).await?;
    check_prompt(&ask, &draft)?;
    let change = Change::CreateRule {
        rule_id: ids::rule(),
        draft: Box::new(draft),
    };
    let written = ask.write(change).await?;
    Ok(Answer::created(&shown::outcome(&written.outcome)?))
}

pub(in crate::workspace) async fn update(mut ask: Ask) -> Result<Answer, Refusal> {
    let mut changes: Value = ask.body()?;
    let asked = take_base(&mut changes)?;
    let rule = found(&ask, Permission::ManageRules).await?;
    let draft = rule.draft.patched(&changes, &*ask.site.surroundings);
    let draft = draft.map_err(|faults| invalid(&faults))?;
    // What cannot be done any more can still be switched off.
    if draft.enabled {
        check_prompt(&ask, &draft)?;
    }
    // What is written is what was read with the changes: nobody else's change in between is lost.
    let change = Change::UpdateRule {
        rule_id: rule.rule_id,
        base_version: Some(asked.unwrap_or(rule.version)),
        draft: Box::new(draft),
    };
    let written = ask.write(change).await?;
    Ok(Answer::ok(&shown::outcome(&written.outcome)?))
}

/// The version that the changes were made for, where whoever made them says so.
fn take_base(changes: &mut Value) -> Result<Option<u64>, Refusal> {
    let said = changes
        .as_object_mut()
        .and_then(|it| it.remove("base_version"));
    match said {
        None => Ok(None),
        Some(said) => said.as_u64().map(Some).ok_or_else(|| {
            Refusal::bad("base_version: the version of the rule that the change was made for")
        }),
    }
}

pub(in crate::workspace) async fn delete(ask: Ask) -> Result<Answer, Refusal> {
    let rule_id = ask.id("rule_id")?;
    let base_version = ask
        .query
        .read("base_version", "the version that the change was made for")?;
    ask.write(Change::DeleteRule {
        rule_id,
        base_version,
    })
    .await?;
    Ok(Answer::nothing())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch {
    triggering_event_id: Option<EventId>,
}

/// Queues a run. For an event that the rule has run for already, that run is the answer.
pub(in crate::workspace) async fn launch(mut ask: Ask) -> Result<Answer, Refusal> {
    let body: Launch = ask.body_or_empty()?;
    let rule = found(&ask, Permission::LaunchRules).await?;
    if !rule.draft.enabled {
        let message = "the rule is disabled: PATCH it with enabled true first";
        return Err(Refusal::new(Code::Conflict, message));
    }
    let event = match body.triggering_event_id {
        Some(event) => event,
        None => {
            let (scope, key) = ask.key()?;
            EventId::derived(&[b"launch", scope.as_bytes(), key.as_bytes()])
        }
    };
    let run_id = run_of_firing(rule.rule_id, event);
    // What was launched before is told, whatever became of the prompt since.
    if ask.site.store.run(run_id.clone()).await?.is_none() {
        check_prompt(&ask, &rule.draft)?;
    }
    let written = ask
        .write(Change::Fire(Fire {
            run_id,
            rule_id: rule.rule_id,
            triggering_event_id: event,
            depth: 1,
        }))
        .await?;
    // A repetition recalls its events; a run that another request made has none.
    let is_new = !written.events.is_empty();
    let shown = shown::outcome(&written.outcome)?;
    Ok(match is_new {
        true => Answer::created(&shown),
        false => Answer::ok(&shown),
    })
}
