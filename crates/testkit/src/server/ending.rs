//! How a conversation ends: a plain run calls `done`; an agent writes its report, as a call or, where the
//! request explains a tag for it, as that tag. That of an agent which works in loops does not end.

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
        if asked.conduct.loops {
            // Whoever remembers this asks something else next time, and so is told something else.
            let value = asked.key;
            let text = format!("<ram_add><key>heard</key><value>{value}</value></ram_add>");
            return Self::Text(text);
        }
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
    fn each_loop_that_remembers_the_last_answer_is_told_something_new() {
        let said = |memory: &str| {
            let message = format!(r#"{{"role":"user","content":"{memory}"}}"#);
            let asked = Asked::read(&format!(r#"{{"model":"loops","messages":[{message}]}}"#));
            match Ending::of(&asked.conduct.good_call(0), &asked) {
                Ending::Text(text) => text,
                Ending::Call(call) => format!("{call:?}"),
            }
        };
        let first = said("");
        assert!(first.starts_with("<ram_add><key>"), "{first}");
        assert_eq!(first, said(""), "the same question has the same answer");
        assert_ne!(first, said(&first));
    }

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
