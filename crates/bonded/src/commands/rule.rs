//! `bonded rule`: rules on a terminal, directly on the store.
//!
//! A rule is checked as a server checks it, with all its faults at once, before it is kept. Nothing is run here: a
//! launch puts the run into the queue of the store, and the server on this directory drives it.

use std::process::ExitCode;

use bonded_host::regular;
use bonded_kernel::EventId;
use bonded_workspace::store::{Page, RunFilter, WriteOutcome};
use bonded_workspace_rules::{Change, Fault, Fire, RuleDraft, run_of_firing};
use serde_json::{Value, json};

use crate::args::{RuleArgs, RuleCommand};
use crate::error::{CliError, Code, store_error};
use crate::output;
use crate::render::table::{self, Side};
use crate::workspace::notebook::Notebook;
use bonded_host::shapes::text;
use bonded_serve::workspace::{ids, shown};

/// Far more than a rule takes.
const TEXT_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(crate) async fn rule(args: &RuleArgs) -> Result<ExitCode, CliError> {
    let book = Notebook::open(&args.place).await?;
    match &args.command {
        RuleCommand::List { json } => list(&book, *json).await?,
        RuleCommand::Show { rule } => {
            let rule = book.rule(rule).await?;
            output::stdout(&format!("{:#}", shown::rule(&rule)));
        }
        RuleCommand::Add { file } => add(&book, file).await?,
        RuleCommand::Enable { rule } => switch(&book, rule, true).await?,
        RuleCommand::Disable { rule } => switch(&book, rule, false).await?,
        RuleCommand::Launch { rule, event } => launch(&book, rule, event.as_deref()).await?,
        RuleCommand::Runs { rule, limit, json } => {
            runs(&book, rule.as_deref(), *limit, *json).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Deleted rules are not among them.
async fn list(book: &Notebook, json: bool) -> Result<(), CliError> {
    let rules = book
        .store
        .rules(book.workspace.workspace_id)
        .await
        .map_err(store_error)?;
    if json {
        for rule in &rules {
            output::stdout(&shown::rule(rule).to_string());
        }
        return Ok(());
    }
    if rules.is_empty() {
        output::stderr("no rules yet; add one with `bonded rule add FILE.json`");
        return Ok(());
    }
    let titles = [
        ("RULE", Side::Left),
        ("ENABLED", Side::Left),
        ("TRIGGER", Side::Left),
        ("ACTION", Side::Left),
        ("NAME", Side::Left),
    ];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = rules.iter().map(|rule| {
        let enabled = if rule.draft.enabled { "yes" } else { "no" };
        let trigger = rule.draft.trigger.as_str().to_owned();
        let action = word(&rule.draft.action_json["kind"]);
        let name = rule.draft.name.clone().unwrap_or_default();
        [
            rule.rule_id.to_string(),
            enabled.into(),
            trigger,
            action,
            name,
        ]
    });
    output::stdout(&table::table(titles, rows));
    Ok(())
}

/// A rule without a workspace is one of the workspace that is meant.
async fn add(book: &Notebook, file: &std::path::Path) -> Result<(), CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::new(
            Code::Usage,
            format!("cannot read {}: {error}", file.display()),
        )
    };
    let text = match file.to_str() {
        Some("-") => regular::text_of(std::io::stdin(), TEXT_BYTES_MAX),
        _ => std::fs::File::open(file).and_then(|file| regular::text_of(file, TEXT_BYTES_MAX)),
    };
    let text = text.map_err(unreadable)?;
    let mut written: Value = serde_json::from_str(&text).map_err(|error| {
        CliError::new(
            Code::Refused,
            format!("RULE_INVALID: {}: {error}", file.display()),
        )
    })?;
    let own = json!(book.workspace.workspace_id);
    if let Value::Object(fields) = &mut written {
        fields.entry("workspace_id").or_insert(own);
    }
    let draft =
        RuleDraft::check(&written, &*book.surroundings).map_err(|faults| invalid(&faults))?;
    check_prompt(book, &draft)?;
    let change = Change::CreateRule {
        rule_id: ids::rule(),
        draft: Box::new(draft),
    };
    if let WriteOutcome::Rule(rule) = book.write(change).await?.outcome {
        output::stdout(&rule.rule.rule_id.to_string());
    }
    Ok(())
}

/// A rule whose prompt cannot be made would fail each time it fires: it is refused before.
fn check_prompt(book: &Notebook, draft: &RuleDraft) -> Result<(), CliError> {
    let checked = book.surroundings.check_prompt_of(draft);
    checked.map_err(|error| CliError::new(Code::Refused, format!("{}: {error}", error.code())))
}

/// All faults at once, each with its place, so that a rule is not corrected one by one.
fn invalid(faults: &[Fault]) -> CliError {
    let error = CliError::new(Code::Refused, "RULE_INVALID: the rule is invalid");
    faults
        .iter()
        .fold(error, |error, fault| error.hint(fault.to_string()))
}

/// Switching a rule off is always possible; switching it on needs a prompt that can be made.
async fn switch(book: &Notebook, named: &str, enabled: bool) -> Result<(), CliError> {
    let mut rule = book.rule(named).await?;
    rule.draft.enabled = enabled;
    if enabled {
        check_prompt(book, &rule.draft)?;
    }
    let change = Change::UpdateRule {
        rule_id: rule.rule_id,
        base_version: Some(rule.version),
        draft: Box::new(rule.draft),
    };
    book.write(change).await?;
    Ok(())
}

/// The run's id follows from rule and event: who launches twice with the same event has one run. Without an event
/// one is drawn. A run that is there already is shown, also if the prompt is not good any more.
async fn launch(book: &Notebook, named: &str, event: Option<&str>) -> Result<(), CliError> {
    let rule = book.rule(named).await?;
    let event = match event {
        None => EventId::from_bytes(*ids::note().as_bytes()),
        Some(event) => event
            .parse()
            .map_err(|error| CliError::new(Code::Usage, format!("--event: {error}")))?,
    };
    let run_id = run_of_firing(rule.rule_id, event);
    let known = book.store.run(run_id.clone()).await.map_err(store_error)?;
    if known.is_none() {
        check_prompt(book, &rule.draft)?;
    }
    let fire = Fire {
        run_id,
        rule_id: rule.rule_id,
        triggering_event_id: event,
        depth: 1,
        request: None,
    };
    if let WriteOutcome::Run(run) = book.write(Change::Fire(fire)).await?.outcome {
        output::stderr(&format!("the run is {}", run.status.as_str()));
        output::stdout(run.run_id.as_str());
    }
    Ok(())
}

/// The newest first, within the limit; of all rules where none is named.
async fn runs(book: &Notebook, rule: Option<&str>, limit: u64, json: bool) -> Result<(), CliError> {
    let rule = match rule {
        Some(named) => Some(book.rule(named).await?.rule_id),
        None => None,
    };
    let filter = RunFilter {
        workspace: Some(book.workspace.workspace_id),
        rule,
        status: None,
        page: Page { limit, offset: 0 },
    };
    let runs = book.store.runs(filter).await.map_err(store_error)?;
    if json {
        for run in &runs {
            output::stdout(&shown::run(run).to_string());
        }
        return Ok(());
    }
    if runs.is_empty() {
        output::stderr("no runs yet");
        return Ok(());
    }
    let titles = [
        ("RUN", Side::Left),
        ("STATUS", Side::Left),
        ("QUEUED", Side::Left),
        ("RULE", Side::Left),
        ("AUDIT", Side::Left),
    ];
    let rows = runs.iter().map(|run| {
        [
            run.run_id.to_string(),
            run.status.as_str().to_owned(),
            text::local_time(run.queued_at),
            run.rule_id.to_string(),
            shown::audit_line(run),
        ]
    });
    output::stdout(&table::table(titles, rows));
    Ok(())
}
