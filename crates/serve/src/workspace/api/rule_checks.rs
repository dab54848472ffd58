//! What a rule would be and do, without anything being saved or done.

use bonded_kernel::{Millis, NoteId, RuleId, WorkspaceId};
use bonded_workspace::{Cron, FiringTime};
use bonded_workspace_rules::{
    Action, Code, FOLDER_KEY, Facts, Note, Permission, RuleDraft, StoredEvent, Trigger,
};
use serde_json::Value;

use super::notes::no_note;
use super::rules;
use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::dto::{
    CheckedRule, DryRun, DryRunAnswer, FiringAnswer, Firings, JudgedPart, NewRule, RuleFault,
    TriggerAnswer, actor,
};
use crate::workspace::handler::RequiredBody;

/// How many of the next times are shown.
const FIRINGS: usize = 5;

/// Everything that is wrong with a rule, or everything that it means. Only who could save the rule may ask, as far as it
/// says where it would be saved.
pub(in crate::workspace) async fn check(
    ask: WorkspaceAsk,
    body: RequiredBody<NewRule>,
) -> Result<OkJson<CheckedRule>, ApiRefusal> {
    let NewRule(written) = body.read()?;
    let named = written.get("workspace_id").and_then(Value::as_str);
    if let Some(workspace_id) = named.and_then(|id| id.parse::<WorkspaceId>().ok()) {
        permit(&ask, workspace_id, Permission::ManageRules).await?;
    }
    let surroundings = &*ask.site.surroundings;
    let draft = match RuleDraft::check(&written, surroundings) {
        Ok(draft) => draft,
        Err(faults) => {
            let faults = faults.iter().map(RuleFault::from).collect();
            return Ok(OkJson(CheckedRule::wrong(faults)));
        }
    };
    if let Err(error) = surroundings.check_prompt_of(&draft) {
        let fault = RuleFault::new("/action_json/prompt_path", error.to_string());
        return Ok(OkJson(CheckedRule::wrong(vec![fault])));
    }
    let firings = draft
        .schedule
        .is_some()
        .then(|| next(&draft, ask.site.now()));
    Ok(OkJson(CheckedRule {
        valid: true,
        faults: vec![],
        sentence: Some(draft.sentence(surroundings)),
        rule: serde_json::to_value(&draft).ok(),
        firings,
    }))
}

/// The next times of a rule that is saved; none where it is disabled or has no schedule.
pub(in crate::workspace) async fn firings(
    ask: WorkspaceAsk,
) -> Result<OkJson<Firings>, ApiRefusal> {
    let rule = rules::found(&ask, Permission::ReadNotes).await?;
    let firings = match rule.draft.enabled {
        true => next(&rule.draft, ask.site.now()),
        false => vec![],
    };
    Ok(OkJson(Firings { firings }))
}

/// A line that this server cannot read any more has none.
fn next(draft: &RuleDraft, now: Millis) -> Vec<FiringAnswer> {
    let Some(schedule) = &draft.schedule else {
        return vec![];
    };
    let cron = Cron::parse(&schedule.cron, &schedule.timezone);
    let times: Vec<FiringTime> = cron.map_or(vec![], |cron| cron.next_firings(now, FIRINGS));
    times
        .into_iter()
        .map(|time| FiringAnswer::of(time, &schedule.timezone))
        .collect()
}

/// What a rule is tried with.
#[derive(Default)]
struct Trial {
    event: Option<StoredEvent>,
    note: Option<Note>,
    body: Option<Value>,
}

/// Tries a rule with an event, a note or a message, and says what would come of it. Nothing is done.
pub(in crate::workspace) async fn dry_run(
    ask: WorkspaceAsk,
    body: RequiredBody<DryRun>,
) -> Result<OkJson<DryRunAnswer>, ApiRefusal> {
    let body = body.read()?;
    let (draft, rule_id) = tried_rule(&ask, &body).await?;
    permit(&ask, draft.workspace_id, Permission::ManageRules).await?;
    let trial = trial(&ask, &draft, body).await?;
    let surroundings = &*ask.site.surroundings;
    let refused = |faults: Vec<_>| rules::invalid(&faults);
    let condition = draft.condition().map_err(refused)?;
    let action = draft.action(surroundings).map_err(refused)?;
    let event_type = event_type(&draft, &trial);
    let facts = Facts {
        workspace_id: draft.workspace_id,
        event_type,
        actor_type: match &trial.event {
            Some(event) => Some(actor(&event.actor).0.as_str()),
            None => trial.note.as_ref().map(|_| "user"),
        },
        note: trial.note.as_ref(),
        body: trial.body.as_ref(),
        at: trial
            .event
            .as_ref()
            .map_or(ask.site.now(), |event| event.at),
    };
    let trigger = judged_trigger(&draft, rule_id, event_type, &trial);
    let holds = condition.holds(&facts);
    let parts = condition.judged(&draft.condition_json, &facts);
    // A launch by a person asks no condition.
    let asks_condition = draft.trigger != Trigger::Manual;
    Ok(OkJson(DryRunAnswer {
        fires: trigger.holds && (holds || !asks_condition),
        trigger,
        conditions: parts.into_iter().map(JudgedPart::from).collect(),
        would: would(&action, trial.note.as_ref()),
    }))
}

/// A rule that is saved, or one that was written for the trial.
async fn tried_rule(
    ask: &WorkspaceAsk,
    body: &DryRun,
) -> Result<(RuleDraft, Option<RuleId>), ApiRefusal> {
    match (&body.rule, body.rule_id) {
        (Some(written), None) => {
            let draft = RuleDraft::check(written, &*ask.site.surroundings);
            Ok((draft.map_err(|faults| rules::invalid(&faults))?, None))
        }
        (None, Some(rule_id)) => {
            let rule = rules::by_id(ask, rule_id.0).await?;
            Ok((rule.draft, Some(rule_id.0)))
        }
        _ => Err(ApiRefusal::bad("give either rule or rule_id")),
    }
}

/// What it is tried with must be of the rule's workspace.
async fn trial(ask: &WorkspaceAsk, draft: &RuleDraft, body: DryRun) -> Result<Trial, ApiRefusal> {
    let store = &ask.site.store;
    match (body.event_id, body.note_id, body.body) {
        (None, None, None) => Ok(Trial::default()),
        (Some(event_id), None, None) => {
            let event = store.event(event_id.0).await?;
            let event = event.filter(|event| event.workspace_id == draft.workspace_id);
            let missing = format!("there is no event {} in the rule's workspace", event_id.0);
            let event = event.ok_or_else(|| ApiRefusal::new(Code::NotFound, missing))?;
            let note = match (event.note_id, event.version) {
                (Some(note), Some(version)) => store.note_at(note, version).await?,
                _ => None,
            };
            let body = event.event.hook().map(|(_, body)| body.clone());
            Ok(Trial {
                event: Some(event),
                note,
                body,
            })
        }
        (None, Some(note_id), None) => Ok(Trial {
            note: Some(note_of(ask, draft, note_id.0).await?),
            ..Trial::default()
        }),
        (None, None, Some(body)) => Ok(Trial {
            body: Some(body),
            ..Trial::default()
        }),
        _ => Err(ApiRefusal::bad(
            "give one of event_id, note_id and body, or none of them",
        )),
    }
}

async fn note_of(
    ask: &WorkspaceAsk,
    draft: &RuleDraft,
    note_id: NoteId,
) -> Result<Note, ApiRefusal> {
    let note = ask.site.store.note(note_id).await?;
    let note = note.filter(|note| note.workspace_id == draft.workspace_id);
    note.ok_or_else(|| no_note(note_id))
}

/// A note that is tried counts as what the trigger waits for.
fn event_type<'a>(draft: &RuleDraft, trial: &'a Trial) -> Option<&'a str> {
    if let Some(event) = &trial.event {
        return Some(event.event.name());
    }
    match (&trial.note, &trial.body, draft.trigger) {
        (Some(_), _, Trigger::NoteCreated) => Some("note.created"),
        (Some(_), _, Trigger::NoteDeleted) => Some("note.deleted"),
        (Some(_), _, Trigger::NoteChanged | Trigger::Cron | Trigger::Webhook | Trigger::Manual) => {
            Some("note.updated")
        }
        (None, Some(_), _) => Some("hook.received"),
        (None, None, _) => None,
    }
}

/// Whether the rule would look at this at all, and why.
fn judged_trigger(
    draft: &RuleDraft,
    rule_id: Option<RuleId>,
    event_type: Option<&str>,
    trial: &Trial,
) -> TriggerAnswer {
    let no = |why: String| TriggerAnswer { holds: false, why };
    let word = draft.trigger.as_str();
    if !draft.enabled {
        return no("the rule is disabled".into());
    }
    let depth = trial
        .event
        .as_ref()
        .map_or(1, |event| event.chain.depth + 1);
    if depth > draft.max_chain_depth {
        let most = draft.max_chain_depth;
        return no(format!(
            "the run would be number {depth} of a chain, and the rule allows {most}"
        ));
    }
    let sent = trial.event.as_ref().and_then(|event| event.event.hook());
    let other = sent.map(|(rule, _)| rule);
    if other.is_some_and(|other| rule_id.is_some_and(|id| id != other)) {
        return no("the message was sent to another rule".into());
    }
    match (draft.trigger, event_type) {
        (Trigger::Manual, _) => TriggerAnswer {
            holds: true,
            why: "a person launches the rule, whatever its condition says".into(),
        },
        (Trigger::Cron, None) => TriggerAnswer {
            holds: true,
            why: "the schedule is taken to be due".into(),
        },
        (_, Some(name)) if draft.trigger.answers(name) => TriggerAnswer {
            holds: true,
            why: format!("{word} fires on {name}"),
        },
        (_, Some(name)) => no(format!("{word} does not fire on {name}")),
        (_, None) => no(format!("{word} needs an event: choose one, or a note")),
    }
}

/// What the action would do, or that there is nothing left for it to do.
fn would(action: &Action, note: Option<&Note>) -> String {
    let words = action.words();
    let is_so = match (action, note) {
        (Action::AddKeyword(add), Some(note)) => note.keywords.contains(&add.keyword),
        (Action::Move(to), Some(note)) => {
            let folder = note.metadata.get(FOLDER_KEY).and_then(Value::as_str);
            folder == Some(&to.folder)
        }
        (Action::AddKeyword(_) | Action::Move(_), None)
        | (
            Action::Loop(_)
            | Action::Run(_)
            | Action::Work(_)
            | Action::Notify(_)
            | Action::Webhook(_),
            _,
        ) => false,
    };
    match is_so {
        true => format!("{words}, which is so already: nothing would change"),
        false => words,
    }
}
