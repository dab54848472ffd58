//! A run that waits for a person, when the person can be asked at the client.
//!
//! What is said there goes the way of `bonded approve`: it is an entry of the log, for this one call.

use std::time::Duration;

use bonded_host::PendingReview;
use bonded_kernel::{RunId, Verdict};
use serde_json::{Value, json};

use crate::agents::Runs;
use bonded_host::shapes::waiting::{self, Extent};
use bonded_mcp::RequestClient;

/// By which a client asks its person.
pub(super) const METHOD: &str = "elicitation/create";
/// How long a person may take; after that the run still waits, and can be approved at the server.
const PATIENCE: Duration = Duration::from_secs(600);
/// Nobody can judge what is not shown whole, and nobody reads more in a form.
const SHOWN_BYTES_MAX: usize = 16 * 1024;
/// What the agent is told; the rest is cut.
const REASON_CHARS_MAX: usize = 1000;

/// Asks about the call that a run waits for. Whether it is judged now, by this person or by another.
pub(super) async fn is_judged(runs: &Runs, run: &RunId, peer: &RequestClient) -> bool {
    let host = runs.host();
    let waiting = match host.load(run).await {
        Ok(run) => PendingReview::of(&*host.store, &run).await,
        Err(_) => return false,
    };
    let Ok(Some(waiting)) = waiting else {
        return false;
    };
    let Some(verdict) = ask(&waiting, peer).await else {
        return false;
    };
    let name = peer.client_name().unwrap_or_default();
    let by = format!("the person at the MCP client {name:?}");
    host.review(&waiting, verdict, &by).await.is_ok()
}

/// None where it cannot be shown whole, or nobody answers: the run waits on.
async fn ask(waiting: &PendingReview, peer: &RequestClient) -> Option<Verdict> {
    let described = waiting::described(waiting, Extent::Whole);
    if described.len() > SHOWN_BYTES_MAX {
        return None;
    }
    let answer = peer.ask(METHOD, &form(&described), PATIENCE).await;
    verdict(&answer.ok()?)
}

/// There is no default, so that a client that fills in forms by itself cannot approve.
fn form(described: &str) -> Value {
    let decision = json!({
        "type": "string",
        "title": "Decision",
        "description": "approve: the call is made once, with these arguments; deny: the agent is told so",
        "enum": ["approve", "deny"],
    });
    let reason = json!({
        "type": "string",
        "title": "Reason",
        "description": "If you deny it: what the agent is told",
    });
    json!({
        "message": format!("An agent asks whether it may make this call.\n\n{described}"),
        "requestedSchema": {
            "type": "object",
            "properties": { "decision": decision, "reason": reason },
            "required": ["decision"],
        },
    })
}

/// What a person has said; `None` if nothing was decided.
fn verdict(answer: &Value) -> Option<Verdict> {
    let field = |name: &str| answer.get("content")?.get(name)?.as_str();
    let reason = match (answer.get("action")?.as_str()?, field("decision")) {
        ("accept", Some("approve")) => return Some(Verdict::Approved),
        ("accept", Some("deny")) => field("reason").unwrap_or_default(),
        ("decline", _) => "",
        _ => return None,
    };
    let reason: String = match reason.trim() {
        "" => "no reason was given".into(),
        reason => reason.chars().take(REASON_CHARS_MAX).collect(),
    };
    Some(Verdict::Denied {
        reason: reason.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_decision_that_a_person_has_made_is_a_verdict() {
        let denied = |reason: &str| {
            let reason = reason.into();
            Some(Verdict::Denied { reason })
        };
        let silent = || denied("no reason was given");
        let accept = |content: Value| json!({ "action": "accept", "content": content });
        let rows = [
            (
                accept(json!({ "decision": "approve" })),
                Some(Verdict::Approved),
            ),
            (accept(json!({ "decision": "deny" })), silent()),
            (
                accept(json!({ "decision": "deny", "reason": " not that " })),
                denied("not that"),
            ),
            (accept(json!({ "decision": "deny", "reason": 7 })), silent()),
            (json!({ "action": "decline" }), silent()),
            (
                json!({ "action": "decline", "content": { "decision": "approve" } }),
                silent(),
            ),
            (json!({ "action": "cancel" }), None),
            (
                json!({ "action": "cancel", "content": { "decision": "approve" } }),
                None,
            ),
            (accept(json!({})), None),
            (accept(json!({ "decision": "Approve" })), None),
            (accept(json!({ "decision": true })), None),
            (accept(json!("approve")), None),
            (json!({ "action": "accept" }), None),
            (json!({ "content": { "decision": "approve" } }), None),
            (json!("accept"), None),
            (json!(null), None),
        ];
        for (answer, expected) in rows {
            assert_eq!(verdict(&answer), expected, "{answer}");
        }
        let long = accept(json!({ "decision": "deny", "reason": "é".repeat(5000) }));
        let expected = denied(&"é".repeat(REASON_CHARS_MAX));
        assert_eq!(verdict(&long), expected);
    }

    #[test]
    fn the_form_has_nothing_that_a_client_could_fill_in_by_itself() {
        let form = form("tool  run");
        let fields = &form["requestedSchema"]["properties"];
        assert_eq!(form["requestedSchema"]["required"], json!(["decision"]));
        for field in ["decision", "reason"] {
            assert!(fields[field].is_object() && fields[field].get("default").is_none());
        }
        assert!(
            form["message"]
                .as_str()
                .is_some_and(|text| text.contains("tool  run"))
        );
    }
}
