//! What was said, and the goal that it makes.
//!
//! The last message is the user's and is the goal. What was said before stands above it as a transcript, with the calls
//! that the caller made for others and what they returned, and what the caller's system messages say stands below it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::refusal::AgentRefusal;

/// Who said something, as far as it matters for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// System or developer.
    Instruction,
    User,
    Assistant,
    /// A tool of the caller's: the text is what a call returned.
    Tool,
}

/// What one of them said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Utterance {
    /// Who it was.
    pub(crate) role: Role,
    /// The whole text; parts are joined by line breaks.
    pub(crate) text: String,
    /// What an assistant wanted to be executed.
    pub(super) calls: Vec<SaidCall>,
    /// Of a tool: the id of the call that returned this.
    pub(super) answers: Option<String>,
}

/// A call as the caller repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidCall {
    pub(super) id: String,
    pub(super) tool: String,
    /// As a text of JSON.
    pub(super) arguments: String,
}

impl Utterance {
    /// Words, and nothing besides.
    pub(crate) fn said(role: Role, text: String) -> Self {
        Self {
            role,
            text,
            calls: vec![],
            answers: None,
        }
    }

    /// What an assistant wanted to be executed, with what it said beside that.
    pub(super) fn calling(text: String, calls: Vec<SaidCall>) -> Self {
        Self {
            calls,
            ..Self::said(Role::Assistant, text)
        }
    }

    /// What a call returned.
    pub(super) fn returned(call: String, text: String) -> Self {
        Self {
            answers: Some(call),
            ..Self::said(Role::Tool, text)
        }
    }

    /// Whether there is nothing in it.
    fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty() && self.answers.is_none()
    }

    /// As it stands in the transcript; what returned from a call is named after its tool, by the call's id.
    fn transcribed(&self, tools: &BTreeMap<&str, &str>) -> String {
        let mut lines = vec![match &self.answers {
            Some(call) => {
                let tool = tools.get(call.as_str()).unwrap_or(&"a tool");
                format!("[{tool} returned]")
            }
            None if self.role == Role::User => "[user]".into(),
            None => "[assistant]".into(),
        }];
        if !self.text.trim().is_empty() {
            lines.push(self.text.clone());
        }
        let calls = self.calls.iter();
        lines.extend(calls.map(|call| format!("(called {} with {})", call.tool, call.arguments)));
        lines.join("\n")
    }
}

/// A text, or the parts of one.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "content must be a text or a list of parts")]
pub(super) enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// A part of a message; only text can be given to an agent.
#[derive(Debug, Deserialize)]
pub(super) struct ContentPart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
}

impl MessageContent {
    /// The text; what is no text cannot be given to an agent.
    pub(super) fn into_text(self, param: &'static str) -> Result<String, AgentRefusal> {
        let parts = match self {
            Self::Text(text) => return Ok(text),
            Self::Parts(parts) => parts,
        };
        let texts = parts.into_iter().map(|part| match part.kind.as_str() {
            "text" | "input_text" | "output_text" => Ok(part.text.unwrap_or_default()),
            "refusal" => Ok(part.refusal.unwrap_or_default()),
            other => {
                let message =
                    format!("a part of type {other:?} cannot be given to an agent; send text");
                Err(AgentRefusal::bad_request(
                    "unsupported_content",
                    Some(param),
                    message,
                ))
            }
        });
        Ok(texts
            .collect::<Result<Vec<String>, AgentRefusal>>()?
            .join("\n"))
    }
}

impl MessageContent {
    /// What a call returned: of what is no text the model is told that it was there.
    pub(super) fn into_result(self) -> String {
        let parts = match self {
            Self::Text(text) => return text,
            Self::Parts(parts) => parts,
        };
        let texts = parts.into_iter().map(|part| match part.text {
            Some(text) => text,
            None => format!("[a part of type {}, which is not shown]", part.kind),
        });
        texts.collect::<Vec<String>>().join("\n")
    }
}

/// The role that a name means.
pub(super) fn role(name: &str, param: &'static str) -> Result<Role, AgentRefusal> {
    match name {
        "system" | "developer" => Ok(Role::Instruction),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        "function" => Err(calls_refused(param)),
        other => {
            let message = format!(
                "there is no role {other:?}; use system, developer, user, assistant or tool"
            );
            Err(AgentRefusal::bad_request(
                "unknown_role",
                Some(param),
                message,
            ))
        }
    }
}

/// The older form of tools has no ids, so no result could be told from another.
pub(super) fn calls_refused(param: &'static str) -> AgentRefusal {
    let message =
        "functions and function calls are not supported; send tools, tool calls and tool results";
    AgentRefusal::bad_request("tools_not_supported", Some(param), message)
}

/// Without its id nobody knows which call returned.
pub(super) fn no_call_id(param: &'static str) -> AgentRefusal {
    let message = "what a call returned has no id of the call";
    AgentRefusal::bad_request("no_call_id", Some(param), message)
}

/// Makes the goal of what was said.
pub(super) fn goal(utterances: &[Utterance], param: &'static str) -> Result<String, AgentRefusal> {
    let (instructions, talk): (Vec<&Utterance>, Vec<&Utterance>) = utterances
        .iter()
        .filter(|it| !it.is_empty())
        .partition(|it| it.role == Role::Instruction);
    let Some((last, before)) = talk.split_last() else {
        return Err(no_user_message(param));
    };
    if last.role != Role::User {
        return Err(no_user_message(param));
    }
    let mut goal = String::new();
    if !before.is_empty() {
        goal.push_str("What was said before:\n\n");
        let calls = before.iter().flat_map(|it| &it.calls);
        let tools: BTreeMap<&str, &str> = calls.map(|it| (&*it.id, &*it.tool)).collect();
        for utterance in before {
            goal.push_str(&format!("{}\n\n", utterance.transcribed(&tools)));
        }
        goal.push_str("What is asked now:\n\n");
    }
    goal.push_str(&last.text);
    if !instructions.is_empty() {
        let texts: Vec<&str> = instructions
            .iter()
            .map(|utterance| utterance.text.as_str())
            .collect();
        goal.push_str("\n\nContext from the caller:\n\n");
        goal.push_str(&texts.join("\n\n"));
    }
    Ok(goal)
}

/// The agent is asked what the last message says, so there must be one.
fn no_user_message(param: &'static str) -> AgentRefusal {
    let message =
        "the last message must be the user's, and not empty: it is what the agent is asked";
    AgentRefusal::bad_request("no_user_message", Some(param), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utterances(lines: &[(Role, &str)]) -> Vec<Utterance> {
        let utterances = lines
            .iter()
            .map(|(role, text)| Utterance::said(*role, (*text).to_owned()));
        utterances.collect()
    }

    #[test]
    fn the_last_user_message_is_the_goal_with_the_talk_above_and_the_instructions_below() {
        use Role::{Assistant, Instruction, User};
        let rows: [(&[(Role, &str)], &str); 4] = [
            (&[(User, "why?")], "why?"),
            (
                &[
                    (Instruction, "be brief"),
                    (User, "why?"),
                    (Instruction, "be kind"),
                ],
                "why?\n\nContext from the caller:\n\nbe brief\n\nbe kind",
            ),
            (
                &[
                    (User, "hi"),
                    (Assistant, "hello"),
                    (Assistant, " "),
                    (User, "why?"),
                ],
                "What was said before:\n\n[user]\nhi\n\n[assistant]\nhello\n\n\
                 What is asked now:\n\nwhy?",
            ),
            (
                &[(Instruction, "be brief"), (User, "hi"), (User, "why?")],
                "What was said before:\n\n[user]\nhi\n\nWhat is asked now:\n\nwhy?\n\n\
                 Context from the caller:\n\nbe brief",
            ),
        ];
        for (lines, expected) in rows {
            assert_eq!(
                goal(&utterances(lines), "messages").as_deref(),
                Ok(expected)
            );
        }
    }

    #[test]
    fn calls_and_what_they_returned_are_part_of_what_was_said_before() {
        let call = SaidCall {
            id: "c1".into(),
            tool: "look".into(),
            arguments: "{}".into(),
        };
        let talk = [
            Utterance::said(Role::User, "tidy".into()),
            Utterance::calling(String::new(), vec![call]),
            Utterance::returned("c1".into(), "a shed".into()),
            Utterance::returned("c2".into(), String::new()),
            Utterance::said(Role::User, "and now?".into()),
        ];
        let expected = "What was said before:\n\n[user]\ntidy\n\n[assistant]\n(called look with {})\n\n\
                        [look returned]\na shed\n\n[a tool returned]\n\nWhat is asked now:\n\nand now?";
        assert_eq!(goal(&talk, "messages").as_deref(), Ok(expected));
    }

    #[test]
    fn a_talk_that_does_not_end_with_the_user_is_refused() {
        use Role::{Assistant, Instruction, User};
        let rows: [&[(Role, &str)]; 5] = [
            &[],
            &[(Instruction, "be brief")],
            &[(User, "  \n")],
            &[(Assistant, "hello")],
            &[(User, "why?"), (Assistant, "because")],
        ];
        for lines in rows {
            let refusal = goal(&utterances(lines), "messages").expect_err("nothing is asked");
            assert_eq!(refusal.code, "no_user_message", "{lines:?}");
        }
    }
}
