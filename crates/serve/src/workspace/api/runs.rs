//! Runs of rules: what they did, what waits for a person, and what they want looked at.

use bonded_kernel::{EventId, RunId};
use bonded_workspace::store::{IssueState, RunFilter};
use bonded_workspace_rules::{
    AutomationRun, Change, Code, EditedProposal, Operation, Permission, Review, RunEnd, RunMove,
    RunStatus,
};

use super::notes::{listing, one_more, page, workspace_asked};
use crate::json_api::answer::{NoContent, OkJson};
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::diff;
use crate::workspace::dto::{
    CloseIssue, Decision, Issues, MeantOperation, OperationAnswer, ReviewRequest, Reviewed,
    ReviewedStatus, RunAnswer, RunWhole, Runs,
};
use crate::workspace::handler::{OptionalBody, RequiredBody};

/// The most decisions in one request.
pub(in crate::workspace) const DECISIONS_MAX: usize = 1000;

/// The newest first.
pub(in crate::workspace) async fn list(ask: WorkspaceAsk) -> Result<OkJson<Runs>, ApiRefusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let page = page(&ask)?;
    let filter = RunFilter {
        workspace: Some(workspace_id),
        rule: ask.query.read("rule_id", "the id of a rule")?,
        status: status(&ask)?,
        page: one_more(page),
    };
    let listed = ask.site.store.runs(filter).await?;
    let (runs, next_offset) = listing(&listed, page);
    Ok(OkJson(Runs { runs, next_offset }))
}

/// An unknown word is told with those that there are.
fn status(ask: &WorkspaceAsk) -> Result<Option<RunStatus>, ApiRefusal> {
    let Some(name) = ask.query.text("status") else {
        return Ok(None);
    };
    let status = RunStatus::named(name);
    let known = RunStatus::ALL.map(RunStatus::as_str).join(", ");
    status
        .map(Some)
        .ok_or_else(|| ApiRefusal::bad(format!("status in the query: one of {known}")))
}

/// The run of the path, if the caller may do this with it.
pub(super) async fn found(
    ask: &WorkspaceAsk,
    permission: Permission,
) -> Result<AutomationRun, ApiRefusal> {
    let named = ask.param("run_id");
    let missing = || {
        let shown: String = named.chars().take(64).collect();
        ApiRefusal::new(Code::RunNotFound, format!("there is no run {shown}"))
    };
    let run_id = RunId::new(named).map_err(|_| missing())?;
    let run = ask.site.store.run(run_id).await?.ok_or_else(missing)?;
    permit(ask, run.workspace_id, permission).await?;
    Ok(run)
}

/// A run with its audit, and everything it proposed with what that would change.
pub(in crate::workspace) async fn show(ask: WorkspaceAsk) -> Result<OkJson<RunWhole>, ApiRefusal> {
    let run = found(&ask, Permission::ReadNotes).await?;
    let mut operations = vec![];
    for operation in ask.site.store.operations(run.run_id.clone()).await? {
        operations.push(with_diff(&ask, &operation).await?);
    }
    let run = RunAnswer::from(&run);
    Ok(OkJson(RunWhole { run, operations }))
}

/// An operation as a person judges it.
pub(super) async fn with_diff(
    ask: &WorkspaceAsk,
    operation: &Operation,
) -> Result<OperationAnswer, ApiRefusal> {
    let diff = diff::of_operation(&ask.site.store, operation).await?;
    Ok(OperationAnswer::of(operation, diff))
}

/// Ends a run before it is done. One that has ended stays as it is.
pub(in crate::workspace) async fn cancel(
    ask: WorkspaceAsk,
) -> Result<OkJson<RunAnswer>, ApiRefusal> {
    let run = found(&ask, Permission::LaunchRules).await?;
    if run.status.has_ended() {
        let message = format!("run {} is {} already", run.run_id, run.status.as_str());
        return Err(ApiRefusal::new(Code::Conflict, message));
    }
    let change = Change::MoveRun {
        run_id: run.run_id.clone(),
        to: RunMove::Cancelled(RunEnd::default()),
    };
    let written = ask.write(change).await?;
    Ok(OkJson((&written.outcome).try_into()?))
}

impl Decision {
    /// To apply something needs the digest of what was seen.
    fn review(&self) -> Result<Review, ApiRefusal> {
        let edited = self.edited.as_ref().map(EditedProposal::from);
        match (self.decision.as_str(), self.digest) {
            ("reject", _) if edited.is_some() => {
                Err(ApiRefusal::bad("edited: what is rejected is not written"))
            }
            ("apply", Some(digest)) => Ok(Review::Apply { digest, edited }),
            ("apply", None) => Err(ApiRefusal::bad(
                "digest: apply names the digest of what was looked at, as GET of the run shows it",
            )),
            ("reject", digest) => Ok(Review::Reject {
                reject_reason: self.reject_reason.clone(),
                digest,
            }),
            _ => Err(ApiRefusal::bad("decision: apply or reject")),
        }
    }
}

/// What a decision is about is what was looked at; else the refusal shows what it is about now.
async fn check_meant(
    ask: &WorkspaceAsk,
    operation: &Operation,
    review: &Review,
) -> Result<(), ApiRefusal> {
    let Err(refused) = review.check_meant(operation) else {
        return Ok(());
    };
    let mut refusal = ApiRefusal::from(refused);
    let details = MeantOperation {
        meant: refusal.details.take(),
        operation: with_diff(ask, operation).await?,
    };
    Err(refusal.details(details))
}

/// Applies and rejects what a run proposed, one after the other. All decisions are looked at before the first is acted
/// upon, and are about what their digests say; one whose note has changed meanwhile is refused, and those after it wait.
pub(in crate::workspace) async fn review(
    ask: WorkspaceAsk,
    body: RequiredBody<ReviewRequest>,
) -> Result<OkJson<Reviewed>, ApiRefusal> {
    let body = body.read()?;
    let run = found(&ask, Permission::ReviewOperations).await?;
    if body.decisions.is_empty() || body.decisions.len() > DECISIONS_MAX {
        return Err(ApiRefusal::bad(format!(
            "decisions: 1 to {DECISIONS_MAX} of them"
        )));
    }
    let proposed = ask.site.store.operations(run.run_id.clone()).await?;
    let mut reviews = vec![];
    for decision in &body.decisions {
        let operation_id = decision.operation_id.0;
        let mut known = proposed.iter();
        let Some(operation) = known.find(|known| known.operation_id == operation_id) else {
            let message = format!("run {} has no operation {operation_id}", run.run_id);
            return Err(ApiRefusal::new(Code::OperationNotFound, message));
        };
        let review = decision.review()?;
        check_meant(&ask, operation, &review).await?;
        reviews.push((operation_id, review));
    }
    for (operation_id, review) in reviews {
        let change = Change::Review {
            operation_id,
            review,
        };
        ask.write_part(change, &operation_id.to_string()).await?;
    }
    let status = ReviewedStatus::Reviewed;
    Ok(OkJson(Reviewed { status }))
}

/// What agents want a person to look at, the newest first.
pub(in crate::workspace) async fn issues(ask: WorkspaceAsk) -> Result<OkJson<Issues>, ApiRefusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let page = page(&ask)?;
    let state = match ask.query.text("state") {
        None | Some("all") => IssueState::Any,
        Some("open") => IssueState::Open,
        Some("closed") => IssueState::Closed,
        Some(_) => {
            return Err(ApiRefusal::bad("state in the query: open, closed or all"));
        }
    };
    let issues = ask
        .site
        .store
        .listed_issues(workspace_id, state, one_more(page));
    let issues = issues.await?;
    let (issues, next_offset) = listing(&issues, page);
    Ok(OkJson(Issues {
        issues,
        next_offset,
    }))
}

/// It stays in the list, with who closed it and why. To close it again changes nothing.
pub(in crate::workspace) async fn close_issue(
    ask: WorkspaceAsk,
    body: OptionalBody<CloseIssue>,
) -> Result<NoContent, ApiRefusal> {
    let reason = body.read()?.reason;
    let issue_id: EventId = ask.id("issue_id")?;
    ask.write(Change::CloseIssue { issue_id, reason }).await?;
    Ok(NoContent)
}
