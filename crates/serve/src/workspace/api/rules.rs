//! Rules: written, checked, launched.
//!
//! A rule is checked against this server when it is written, with everything that is wrong told at once. What the rule
//! names may still be gone when it fires; then its run says so.

use bonded_kernel::{EventId, RuleId};
use bonded_workspace::store::{CommittedWrite, NewSecret, Page, RunFilter, WriteOutcome};
use bonded_workspace::{Cron, HookSecret};
use bonded_workspace_rules::{
    Change, Code, Fault, Fire, Instants as _, Permission, Rule, RuleDraft, run_of_firing,
};
use serde_json::Value;

use super::notes::workspace_asked;
use crate::json_api::answer::{CreatedJson, CreatedOrKnown, NoContent, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{
    FaultAnswer, FaultDetails, Id, LastRun, Launch, MadeSecret, NewRule, RuleAnswer, RuleEdit,
    RuleWhole, Rules, RunAnswer, Timestamp,
};
use crate::workspace::handler::{OptionalBody, RequiredBody};
use crate::workspace::ids;

/// For all members: what happens by itself in a workspace is everybody's business.
pub(in crate::workspace) async fn list(ask: WorkspaceAsk) -> Result<OkJson<Rules>, ApiRefusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let listed = ask.site.store.rules(workspace_id).await?;
    let mut rules = vec![];
    for rule in &listed {
        rules.push(whole(&ask, rule).await?);
    }
    Ok(OkJson(Rules { rules }))
}

/// For all members.
pub(in crate::workspace) async fn show(ask: WorkspaceAsk) -> Result<OkJson<RuleWhole>, ApiRefusal> {
    let rule = found(&ask, Permission::ReadNotes).await?;
    Ok(OkJson(whole(&ask, &rule).await?))
}

/// A rule as it is shown; its secret never is.
async fn whole(ask: &WorkspaceAsk, rule: &Rule) -> Result<RuleWhole, ApiRefusal> {
    let has_secret = match rule.draft.is_signed(&*ask.site.surroundings) {
        true => Some(ask.site.store.secret(rule.rule_id).await?.is_some()),
        false => None,
    };
    let last = RunFilter {
        rule: Some(rule.rule_id),
        page: Page {
            limit: 1,
            offset: 0,
        },
        ..RunFilter::default()
    };
    let last = ask.site.store.runs(last).await?;
    Ok(RuleWhole {
        rule: RuleAnswer::from(rule),
        sentence: rule.draft.sentence(&*ask.site.surroundings),
        next_firing_at: next_firing(ask, rule),
        last_run: last.first().map(LastRun::from),
        has_secret,
        secret: None,
    })
}

/// None where nothing is due ever.
fn next_firing(ask: &WorkspaceAsk, rule: &Rule) -> Option<Timestamp> {
    let schedule = rule
        .draft
        .schedule
        .as_ref()
        .filter(|_| rule.draft.enabled)?;
    let cron = Cron::parse(&schedule.cron, &schedule.timezone).ok()?;
    cron.after(ask.site.now()).map(Timestamp::from)
}

/// What a write left of a rule. A rule that needs a secret and has none gets one, which this answer shows.
async fn written_rule(
    ask: &WorkspaceAsk,
    written: &CommittedWrite,
) -> Result<RuleWhole, ApiRefusal> {
    let WriteOutcome::Rule(stored) = &written.outcome else {
        return Err(ApiRefusal::internal("the write left nothing to show"));
    };
    let mut shown = whole(ask, &stored.rule).await?;
    if shown.has_secret == Some(false) {
        shown.secret = new_secret(ask, stored.rule.rule_id, false).await?;
        shown.has_secret = Some(true);
    }
    Ok(shown)
}

/// Draws a secret and keeps it; none where there is one already that stays.
async fn new_secret(
    ask: &WorkspaceAsk,
    rule_id: RuleId,
    replaces: bool,
) -> Result<Option<String>, ApiRefusal> {
    let secret = HookSecret::draw();
    let secret =
        secret.ok_or_else(|| ApiRefusal::internal("the system gives no random numbers"))?;
    let new = NewSecret {
        rule_id,
        user_id: ask.caller()?.user_id,
        secret: secret.clone(),
        at: ask.site.now(),
        replaces,
    };
    let is_kept = ask.site.store.set_secret(ask.by()?, new).await?;
    Ok(is_kept.then_some(secret))
}

/// The former secret ends at once.
pub(in crate::workspace) async fn renew_secret(
    ask: WorkspaceAsk,
) -> Result<CreatedJson<MadeSecret>, ApiRefusal> {
    let rule = found(&ask, Permission::ManageRules).await?;
    if !rule.draft.is_signed(&*ask.site.surroundings) {
        let message = "only rules with the trigger webhook or the action webhook have a secret";
        return Err(ApiRefusal::new(Code::Conflict, message));
    }
    let secret = new_secret(&ask, rule.rule_id, true).await?;
    let secret = secret.ok_or_else(|| ApiRefusal::internal("the secret was not kept"))?;
    Ok(CreatedJson(MadeSecret {
        rule_id: Id(rule.rule_id),
        secret,
    }))
}

/// The rule of the path, if the caller may do this with it.
pub(super) async fn found(ask: &WorkspaceAsk, permission: Permission) -> Result<Rule, ApiRefusal> {
    let rule = by_id(ask, ask.id("rule_id")?).await?;
    permit(ask, rule.draft.workspace_id, permission).await?;
    Ok(rule)
}

/// Who may see it is still to be asked.
pub(super) async fn by_id(ask: &WorkspaceAsk, rule_id: RuleId) -> Result<Rule, ApiRefusal> {
    let rule = ask.site.store.rule(rule_id).await?;
    let rule = rule.filter(|rule| !rule.is_deleted).ok_or_else(|| {
        ApiRefusal::new(Code::RuleNotFound, format!("there is no rule {rule_id}"))
    })?;
    Ok(rule.rule)
}

/// Everything that is wrong with a rule, at once.
pub(super) fn invalid(faults: &[Fault]) -> ApiRefusal {
    let sentences: Vec<String> = faults.iter().map(Fault::to_string).collect();
    ApiRefusal::new(Code::RuleInvalid, sentences.join("; ")).details(FaultDetails { faults })
}

/// A rule whose prompt could not be given to an agent would fail whenever it fires.
fn check_prompt(ask: &WorkspaceAsk, draft: &RuleDraft) -> Result<(), ApiRefusal> {
    let checked = ask.site.surroundings.check_prompt_of(draft);
    checked.map_err(|error| {
        let fault = FaultAnswer {
            at: "/action_json/prompt_path",
            message: error.to_string(),
        };
        let faults = &[fault];
        ApiRefusal::new(error.code(), error.to_string()).details(FaultDetails { faults })
    })
}

/// Checked before the permission, because the workspace that it is asked in stands in the rule.
pub(in crate::workspace) async fn create(
    ask: WorkspaceAsk,
    body: RequiredBody<NewRule>,
) -> Result<CreatedJson<RuleWhole>, ApiRefusal> {
    let NewRule(written) = body.read()?;
    let draft =
        RuleDraft::check(&written, &*ask.site.surroundings).map_err(|faults| invalid(&faults))?;
    permit(&ask, draft.workspace_id, Permission::ManageRules).await?;
    check_prompt(&ask, &draft)?;
    let change = Change::CreateRule {
        rule_id: ids::rule(),
        draft: Box::new(draft),
    };
    let written = ask.write(change).await?;
    Ok(CreatedJson(written_rule(&ask, &written).await?))
}

/// Without a version the one that was just read is named, so that a change in between is a conflict and not lost.
pub(in crate::workspace) async fn update(
    ask: WorkspaceAsk,
    body: RequiredBody<RuleEdit>,
) -> Result<OkJson<RuleWhole>, ApiRefusal> {
    let RuleEdit(mut changes) = body.read()?;
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
    Ok(OkJson(written_rule(&ask, &written).await?))
}

/// The version that the changes were made for, where whoever made them says so.
fn take_base(changes: &mut Value) -> Result<Option<u64>, ApiRefusal> {
    let field = changes
        .as_object_mut()
        .and_then(|it| it.remove("base_version"));
    match field {
        None => Ok(None),
        Some(field) => field.as_u64().map(Some).ok_or_else(|| {
            ApiRefusal::bad("base_version: the version of the rule that the change was made for")
        }),
    }
}

/// Its runs stay, and those that are queued end.
pub(in crate::workspace) async fn delete(ask: WorkspaceAsk) -> Result<NoContent, ApiRefusal> {
    let rule_id = ask.id("rule_id")?;
    let base_version = ask
        .query
        .read("base_version", "the version that the change was made for")?;
    ask.write(Change::DeleteRule {
        rule_id,
        base_version,
    })
    .await?;
    Ok(NoContent)
}

/// Queues a run. For an event that the rule has run for already, that run is the answer.
pub(in crate::workspace) async fn launch(
    ask: WorkspaceAsk,
    body: OptionalBody<Launch>,
) -> Result<CreatedOrKnown<RunAnswer>, ApiRefusal> {
    let body = body.read()?;
    let rule = found(&ask, Permission::LaunchRules).await?;
    if !rule.draft.enabled {
        let message = "the rule is disabled: PATCH it with enabled true first";
        return Err(ApiRefusal::new(Code::Conflict, message));
    }
    let event = match body.triggering_event_id {
        Some(event) => event.0,
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
            request: body.request,
        }))
        .await?;
    // A repetition recalls its events; a run that another request made has none.
    let is_new = !written.events.is_empty();
    let run = (&written.outcome).try_into()?;
    Ok(match is_new {
        true => CreatedOrKnown::Created(run),
        false => CreatedOrKnown::Known(run),
    })
}
