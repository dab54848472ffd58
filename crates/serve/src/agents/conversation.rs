//! What was said, and the goal that it makes.
//!
//! The last message is the user's and is the goal. What was said before stands above it as a transcript, with the calls
//! that the caller made for others and what they returned, and what the caller's system messages say stands below it.

use std::collections::BTreeMap;

use bonded_kernel::Image;
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
    /// In their order.
    pub(crate) images: Vec<Image>,
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
            images: vec![],
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
        let says_nothing = self.text.trim().is_empty() && self.images.is_empty();
        says_nothing && self.calls.is_empty() && self.answers.is_none()
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

/// A part of a message; text and images can be given to an agent.
#[derive(Debug, Deserialize)]
pub(super) struct ContentPart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<ImageUrl>,
}

/// An address, or an object that has one.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "image_url must be a text or an object with a url"
)]
enum ImageUrl {
    Text(String),
    Object { url: String },
}

impl MessageContent {
    /// What somebody said; what is neither text nor an image of the user's cannot be given to an agent.
    pub(super) fn said_by(
        self,
        role: Role,
        param: &'static str,
    ) -> Result<Utterance, AgentRefusal> {
        let parts = match self {
            Self::Text(text) => return Ok(Utterance::said(role, text)),
            Self::Parts(parts) => parts,
        };
        let (mut texts, mut images) = (vec![], vec![]);
        for part in parts {
            match part.kind.as_str() {
                "text" | "input_text" | "output_text" => texts.push(part.text.unwrap_or_default()),
                "refusal" => texts.push(part.refusal.unwrap_or_default()),
                "image_url" | "input_image" if role == Role::User => {
                    images.push(image(part.image_url, param)?);
                }
                other => {
                    let who = match role {
                        Role::User => "",
                        Role::Instruction | Role::Assistant | Role::Tool => {
                            " of another than the user"
                        }
                    };
                    let message = format!(
                        "a part of type {other:?}{who} cannot be given to an agent; send text, or images in messages of the user"
                    );
                    return Err(unsupported(param, message));
                }
            }
        }
        let text = texts.join("\n");
        Ok(Utterance {
            images,
            ..Utterance::said(role, text)
        })
    }
}

fn unsupported(param: &'static str, message: String) -> AgentRefusal {
    AgentRefusal::bad_request("unsupported_content", Some(param), message)
}

/// An image that a client sends. Nothing is fetched for a client: the address must hold what it names.
fn image(url: Option<ImageUrl>, param: &'static str) -> Result<Image, AgentRefusal> {
    let (ImageUrl::Text(url) | ImageUrl::Object { url }) = url.ok_or_else(|| {
        unsupported(
            param,
            "an image has no image_url; files by id are not kept here".into(),
        )
    })?;
    let Some(data) = data_of(&url) else {
        let message =
            "an image is sent as data:image/png;base64,…; other addresses are not fetched";
        return Err(unsupported(param, message.into()));
    };
    Image::read_base64(data).map_err(|bad| {
        let message = format!("an image cannot be used: {bad}");
        AgentRefusal::bad_request("bad_image", Some(param), message)
    })
}

/// What stands behind the head of a `data:` address in base64. What kind of image it is, is what its bytes say.
fn data_of(url: &str) -> Option<&str> {
    let scheme = url.get(..5).filter(|it| it.eq_ignore_ascii_case("data:"))?;
    let (head, data) = url[scheme.len()..].split_once(',')?;
    head.to_ascii_lowercase()
        .ends_with(";base64")
        .then_some(data)
}

/// The images of a talk, in its order.
pub(super) fn images(utterances: &[Utterance]) -> Vec<Image> {
    let images = utterances.iter().flat_map(|it| &it.images);
    images.cloned().collect()
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

/// Makes the goal of what was said. Where an image stood is said in words, since all of them go before the goal.
pub(super) fn goal(utterances: &[Utterance], param: &'static str) -> Result<String, AgentRefusal> {
    let named = with_images_named(utterances);
    let (instructions, talk): (Vec<&Utterance>, Vec<&Utterance>) = named
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

/// The same with the numbers of the images in the texts.
fn with_images_named(utterances: &[Utterance]) -> Vec<Utterance> {
    let mut count = 0;
    let mut named = utterances.to_vec();
    for utterance in &mut named {
        for image in &utterance.images {
            count += 1;
            let line = format!("[image {count}: {}]", image.described());
            let parts = [utterance.text.as_str(), &line];
            let parts: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
            utterance.text = parts.join("\n");
        }
    }
    named
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

    /// One pixel.
    const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01\0\0;";

    fn said(role: Role, parts: serde_json::Value) -> Result<Utterance, AgentRefusal> {
        let content: MessageContent = serde_json::from_value(parts).expect("parts");
        content.said_by(role, "messages")
    }

    #[test]
    fn an_image_goes_with_the_goal_and_is_named_where_it_stood() {
        let url = Image::read(PIXEL).expect("a pixel").data_url();
        let named = format!("image/gif, 1x1, {} bytes", PIXEL.len());
        let chat = serde_json::json!([{ "type": "text", "text": "see" },
            { "type": "image_url", "image_url": { "url": url } }]);
        let response = serde_json::json!([{ "type": "input_image", "image_url": url }]);
        let talk = [chat, response].map(|it| said(Role::User, it).expect("good parts"));
        assert_eq!(images(&talk).len(), 2);
        let expected = format!(
            "What was said before:\n\n[user]\nsee\n[image 1: {named}]\n\nWhat is asked now:\n\n[image 2: {named}]"
        );
        assert_eq!(goal(&talk, "messages").as_deref(), Ok(expected.as_str()));
    }

    #[test]
    fn an_image_that_would_have_to_be_fetched_or_is_none_is_refused() {
        let pixel = Image::read(PIXEL).expect("a pixel").data_url();
        let rows = [
            (
                Role::User,
                "https://example.com/a.png",
                "unsupported_content",
            ),
            (Role::User, "file:///etc/passwd", "unsupported_content"),
            (Role::User, "data:image/png,abc", "unsupported_content"),
            (Role::User, "data:image/png;base64,aGVsbG8=", "bad_image"),
            (Role::User, "data:image/png;base64,???", "bad_image"),
            (Role::User, "dätä", "unsupported_content"),
            (Role::Instruction, &pixel, "unsupported_content"),
            (Role::Assistant, &pixel, "unsupported_content"),
        ];
        for (role, url, code) in rows {
            let parts = serde_json::json!([{ "type": "input_image", "image_url": url }]);
            let refusal = said(role, parts).expect_err("it is refused");
            assert_eq!(refusal.code, code, "{role:?} {url}");
        }
        let file = serde_json::json!([{ "type": "input_image", "file_id": "file-1" }]);
        let refusal = said(Role::User, file).expect_err("nothing is kept");
        assert_eq!(refusal.code, "unsupported_content");
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
