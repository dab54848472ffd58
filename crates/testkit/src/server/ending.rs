//! How a conversation ends: a plain run calls `done`; an agent writes its report, as a call or, where the
//! request explains a tag for it, as that tag.

use super::conduct::{Asked, CallMade, DONE};

const REPORT: &str = "agent__final_report";

/// What stands around the nonce in a request that explains the tag.
const TAG_BEGINS: &str = "<ai-agent-";
const TAG_ENDS: &str = "-FINAL tool=";

/// What the model says at a point of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Call(CallMade),
    Text(String),
}

impl Ending {
    /// What is said for a call: the call itself, unless it ends the conversation of an agent.
    pub(super) fn of(call: &CallMade, asked: &Asked) -> Self {
        if call.tool != DONE || !asked.conduct.report {
            return Self::Call(call.clone());
        }
        let content = "all notes are read";
        match &asked.nonce {
            Some(nonce) => Self::Text(format!(
                "<ai-agent-{nonce}-FINAL tool=\"{REPORT}\" format=\"pipe\">{content}</ai-agent-{nonce}-FINAL>"
            )),
            None => Self::Call(CallMade {
                tool: REPORT,
                arguments: format!(
                    "{{\"report_format\":\"pipe\",\"report_content\":\"{content}\"}}"
                ),
            }),
        }
    }
}

/// The nonce of the tag that a request explains. The explanation is the last thing that a request says.
pub(super) fn nonce(body: &str) -> Option<String> {
    let end = body.rfind(TAG_ENDS)?;
    let begin = body[..end].rfind(TAG_BEGINS)? + TAG_BEGINS.len();
    let nonce = &body[begin..end];
    let is_nonce = !nonce.is_empty() && nonce.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_nonce.then(|| nonce.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nonce_is_that_of_the_last_tag_that_is_explained() {
        for (body, expected) in [
            (
                r#"<ai-agent-aa11-FINAL tool=\"x\"> <ai-agent-bb22-FINAL tool=\"x\">"#,
                Some("bb22"),
            ),
            ("<ai-agent-aa11-0001 tool=", None),
            ("<ai-agent-no nonce-FINAL tool=", None),
            ("-FINAL tool=", None),
            ("", None),
        ] {
            assert_eq!(nonce(body).as_deref(), expected, "{body}");
        }
    }
}
