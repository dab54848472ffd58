//! A call that waits for a person, as a question of the editor's.
//!
//! What the editor shows is what would happen, and the answer is for that: it is looked at again when the answer comes. The
//! rules of "always" are those of the terminal, and end with the session. Whatever is no clear yes is a no.

use bonded_host::PendingReview;
use bonded_host::letters::written_out;
use bonded_kernel::{Run, Verdict};
use bonded_mcp::RpcFault;
use serde_json::{Value, json};

use super::connection::Editor;
use super::projection::{content, tool_call};
use crate::review::{CallView, Proposal, Scope, Standing, person};
use crate::style::{Look, Stream};

const ONCE: &str = "allow";
const DENY: &str = "deny";

/// What came of a question.
pub(super) enum PermissionAnswer {
    Verdict {
        verdict: Verdict,
        by: String,
    },
    /// The person stopped the turn.
    Cancelled,
    /// It is not what was looked at any more.
    Changed,
}

/// Asks about a call, unless what was said before lets it through.
pub(super) async fn ask(
    editor: &Editor,
    session: &str,
    standing: &tokio::sync::Mutex<Standing>,
    run: &Run,
    waits: &PendingReview,
) -> PermissionAnswer {
    let is_called = waits.run.as_str() != session;
    let view = CallView::of(run, &waits.call, is_called);
    let person = person();
    if let Some(scope) = standing.lock().await.find(run, waits, &view) {
        let by = format!("{person} (said always: {})", scope.words(&view.tool));
        let verdict = Verdict::Approved;
        return PermissionAnswer::Verdict { verdict, by };
    }
    let choices = Scope::choices(&view);
    let params = json!({
        "sessionId": session,
        "toolCall": shown(run, waits, &view, is_called),
        "options": options(&choices, &view.tool),
    });
    let answered = editor.ask("session/request_permission", params).await;
    let by = format!("{person} in {}", editor.name());
    let denied = |reason: &str| PermissionAnswer::Verdict {
        verdict: Verdict::Denied {
            reason: reason.into(),
        },
        by: by.clone(),
    };
    let chosen = match chosen(answered) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return PermissionAnswer::Cancelled,
        Err(why) => return denied(&why),
    };
    let scope = match chosen.as_str() {
        ONCE => None,
        DENY => return denied(""),
        other => {
            let index = other.strip_prefix("always-").and_then(|it| it.parse().ok());
            match index.and_then(|index: usize| choices.get(index).cloned().flatten()) {
                Some(scope) => Some(scope),
                None => return denied("the editor answered with an option that it was not given"),
            }
        }
    };
    if CallView::of(run, &waits.call, is_called).subject != view.subject {
        return PermissionAnswer::Changed;
    }
    let by = match scope {
        None => by,
        Some(scope) => {
            let by = format!("{by} (always: {})", scope.words(&view.tool));
            standing.lock().await.add(waits, scope);
            by
        }
    };
    let verdict = Verdict::Approved;
    PermissionAnswer::Verdict { verdict, by }
}

/// The call with what it would do: a diff, the command with its terms, or its arguments.
fn shown(run: &Run, waits: &PendingReview, view: &CallView, is_called: bool) -> Value {
    let call = &waits.call;
    let dir = std::path::Path::new(&run.config().dir);
    let mut shown = tool_call(call.turn, call.call, &call.tool, &call.arguments, dir);
    if is_called {
        // The session has a call of this place of its own.
        let id = shown["toolCallId"].as_str().unwrap_or_default();
        shown["toolCallId"] = format!("{}:{id}", waits.run).into();
    }
    let diff = match &view.subject {
        Proposal::Change(change) => change.texts().map(|(old, new)| {
            json!([{ "type": "diff", "path": dir.join(change.path()), "oldText": old, "newText": new }])
        }),
        Proposal::Failure(..) | Proposal::Command(..) | Proposal::Arguments(_) => None,
    };
    shown["content"] = diff.unwrap_or_else(|| {
        let look = Look::of(Stream::Out);
        let rows: Vec<String> = view.whole(&look).into_iter().map(|row| row.text).collect();
        content(&fenced(&rows.join("\n")))["content"].clone()
    });
    if let Proposal::Command(command, _) = &view.subject {
        shown["title"] = written_out(&command.command).into();
    }
    shown
}

/// As code: an editor would read marks of Markdown in a command.
fn fenced(text: &str) -> String {
    format!("```\n{}\n```", text.replace("```", "'''"))
}

fn options(choices: &[Option<Scope>; 3], tool: &str) -> Value {
    let mut options = vec![json!({ "optionId": ONCE, "name": "Allow", "kind": "allow_once" })];
    for (index, scope) in choices.iter().enumerate() {
        if let Some(scope) = scope {
            options.push(json!({
                "optionId": format!("always-{index}"),
                "name": format!("Always allow in this session: {}", scope.words(tool)),
                "kind": "allow_always",
            }));
        }
    }
    options.push(json!({ "optionId": DENY, "name": "Deny", "kind": "reject_once" }));
    json!(options)
}

/// The option that was chosen; `None` where the turn was stopped; an error in words where there is no answer.
fn chosen(answered: Result<Value, RpcFault>) -> Result<Option<String>, String> {
    let outcome = match answered {
        Ok(answer) => answer["outcome"].clone(),
        Err(fault) => {
            let why = written_out(&fault.message);
            return Err(format!("the editor could not ask: {why}"));
        }
    };
    match outcome["outcome"].as_str() {
        Some("cancelled") => Ok(None),
        Some("selected") => Ok(Some(
            outcome["optionId"].as_str().unwrap_or_default().to_owned(),
        )),
        _ => Err("the editor's answer could not be read".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_is_one() {
        let selected = json!({ "outcome": { "outcome": "selected", "optionId": "allow" } });
        assert_eq!(chosen(Ok(selected)), Ok(Some("allow".into())));
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        assert_eq!(chosen(Ok(cancelled)), Ok(None));
        for answer in [
            json!(null),
            json!(true),
            json!({ "outcome": "selected" }),
            json!({ "outcome": { "outcome": "approved" } }),
            json!({ "approved": true }),
        ] {
            assert!(chosen(Ok(answer.clone())).is_err(), "{answer}");
        }
        assert!(chosen(Err(RpcFault::internal("no dialogs"))).is_err());
    }
}
