//! Calls that a model writes as tags in its text.
//!
//! Tags are found as substrings, by the nonce of the run: there is no XML parser, a payload is raw text up
//! to its closing tag, and any text is accepted in linear time.

mod stream;
mod tag;

use std::collections::BTreeSet;
use std::fmt;

use crate::model::Finish;
use crate::tool::{FINAL_REPORT, PROGRESS_REPORT};

pub use stream::StreamFilter;
use tag::Opening;
pub(crate) use tag::TAG;

/// More ignored tags than these are not told apart.
const IGNORED_MAX: usize = 32;

/// The place of a call. Numbers count on through the whole run, so each is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// That of a call; written with four digits at least.
    Numbered(u32),
    /// That of the report.
    Final,
    /// That of a sentence on what the model does.
    Progress,
}

impl Slot {
    fn parse(written: &str) -> Option<Self> {
        match written {
            "FINAL" => Some(Self::Final),
            "PROGRESS" => Some(Self::Progress),
            digits if digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit()) => {
                let slot = Self::Numbered(digits.parse().ok()?);
                (slot.to_string() == digits).then_some(slot)
            }
            _ => None,
        }
    }

    /// The slot of a call's id, `NONCE-SLOT`.
    pub(crate) fn of_id(id: &str) -> Self {
        let written = id.rsplit('-').next().unwrap_or_default();
        Self::parse(written).unwrap_or(Self::Final)
    }

    /// The only tool that a reserved slot may call.
    fn reserved_tool(self) -> Option<&'static str> {
        match self {
            Self::Numbered(_) => None,
            Self::Final => Some(FINAL_REPORT),
            Self::Progress => Some(PROGRESS_REPORT),
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbered(number) => write!(f, "{number:04}"),
            Self::Final => f.write_str("FINAL"),
            Self::Progress => f.write_str("PROGRESS"),
        }
    }
}

/// A call as it was written in a tag. Nothing in it is checked but its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlCall {
    /// It was offered in the request.
    pub slot: Slot,
    /// The tool as written; of a reserved slot the only one that it may call.
    pub tool: String,
    /// Whatever stands between the tags, without the line breaks beside them.
    pub payload: String,
    /// The attribute `format`, which only reports have.
    pub format: Option<String>,
    /// Whether the closing tag was there; only a final report does without.
    pub closed: bool,
}

/// A tag that is no call. It costs no attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredTag {
    /// The start of the tag as it was written.
    pub tag: String,
    /// Why it is none.
    pub reason: IgnoreReason,
}

/// Why a tag is no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreReason {
    /// It has the form of a tag, but the nonce of another run or of none.
    WrongNonce,
    /// The slot was not offered in this request, or there is no such slot.
    NotOffered,
    /// An earlier tag of this reply has the slot.
    UsedTwice,
    /// The opening tag does not end.
    Malformed,
    /// It names no tool.
    NoTool,
    /// A reserved slot calls only its own tool.
    WrongTool,
    /// It holds nothing.
    Blank,
    /// It has no end; only a final report does without.
    Unclosed,
}

impl IgnoreReason {
    /// Its stable name, as the log and the docs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WrongNonce => "wrong_nonce",
            Self::NotOffered => "not_offered",
            Self::UsedTwice => "used_twice",
            Self::Malformed => "malformed",
            Self::NoTool => "no_tool",
            Self::WrongTool => "wrong_tool",
            Self::Blank => "blank",
            Self::Unclosed => "unclosed",
        }
    }
}

/// What came of a final report without its closing tag: that depends on why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnclosedFinal {
    /// The model stopped by itself: it is among the calls.
    Accepted,
    /// Nobody knows why the model stopped: it is among the calls, with a warning.
    Warned,
    /// The reply was cut: it is not among the calls.
    Cut,
}

impl UnclosedFinal {
    fn of(finish: Finish) -> Self {
        match finish {
            Finish::Stop | Finish::ToolCalls => Self::Accepted,
            Finish::Unknown | Finish::MalformedCalls => Self::Warned,
            Finish::Length | Finish::ContentFilter => Self::Cut,
        }
    }
}

/// What the tags of a reply say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XmlFound {
    /// In the order in which they were written; each slot once.
    pub calls: Vec<XmlCall>,
    /// The first 32 of them.
    pub ignored: Vec<IgnoredTag>,
    /// Absent where the report was closed or there is none.
    pub unclosed_final: Option<UnclosedFinal>,
}

/// Finds the calls in a reply's text. Of a numbered slot the first tag counts, of a reserved slot the last.
///
/// What stands inside a tag is never looked at for others: a tag without its end is the end of what is read, and one
/// that is no call is passed over as a whole.
pub fn find_tags(text: &str, nonce: &str, offered: &[Slot], finish: Finish) -> XmlFound {
    find(text, nonce, offered, finish, Inside::IsText)
}

/// The same as logs have it that are older than that rule.
pub(crate) fn find_tags_reading_on(
    text: &str,
    nonce: &str,
    offered: &[Slot],
    finish: Finish,
) -> XmlFound {
    find(text, nonce, offered, finish, Inside::IsReadOn)
}

/// What is done with what stands inside a tag that is no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    IsText,
    IsReadOn,
}

fn find(text: &str, nonce: &str, offered: &[Slot], finish: Finish, inside: Inside) -> XmlFound {
    let mut search = Search {
        nonce,
        offered,
        finish,
        never_closed: BTreeSet::new(),
        found: XmlFound::default(),
    };
    let mut rest = text;
    while let Some(at) = rest.find(TAG) {
        let tag = rest.get(at..).unwrap_or_default();
        let used = match search.take(tag) {
            Ok(used) => used,
            Err((reason, used)) => {
                search.ignore(tag, reason);
                match inside {
                    Inside::IsText => used.max(search.passed_over(tag, reason)),
                    Inside::IsReadOn => used,
                }
            }
        };
        rest = tag.get(used..).unwrap_or_default();
    }
    search.found
}

struct Search<'a> {
    nonce: &'a str,
    offered: &'a [Slot],
    finish: Finish,
    /// Slots whose closing tag is nowhere in the rest of the text: nobody looks twice.
    never_closed: BTreeSet<Slot>,
    found: XmlFound,
}

impl Search<'_> {
    /// Reads the tag at the start of the text; gives the bytes to go on after.
    fn take(&mut self, text: &str) -> Result<usize, (IgnoreReason, usize)> {
        let opening = Opening::read(text, self.nonce).map_err(|reason| (reason, TAG.len()))?;
        let after_opening = opening.bytes;
        let skip = |reason| (reason, after_opening);
        let slot = Slot::parse(opening.slot).ok_or(skip(IgnoreReason::NotOffered))?;
        if !self.offered.contains(&slot) {
            return Err(skip(IgnoreReason::NotOffered));
        }
        let tool = tool_of(&opening, slot).map_err(skip)?;
        let body = text.get(after_opening..).unwrap_or_default();
        let close = format!("</{}{}-{slot}>", &TAG[1..], self.nonce);
        let (payload, closed) = match self.find_close(body, slot, &close) {
            Some(end) => (body.get(..end).unwrap_or_default(), true),
            None if slot == Slot::Final => (tag::without_partial(body, &close), false),
            None => return Err(skip(IgnoreReason::Unclosed)),
        };
        let used = match closed {
            true => after_opening + payload.len() + close.len(),
            false => text.len(),
        };
        if payload.trim().is_empty() {
            return Err((IgnoreReason::Blank, used));
        }
        if !closed && self.unclosed() == UnclosedFinal::Cut {
            return Ok(used);
        }
        let call = XmlCall {
            slot,
            tool: tool.to_owned(),
            payload: tag::without_outer_newlines(payload).to_owned(),
            format: opening.format.map(str::to_owned),
            closed,
        };
        self.keep(call).map_err(|reason| (reason, used))?;
        Ok(used)
    }

    /// How much of the text belongs to a tag of ours that is no call: up to its end, and everything where it has none.
    fn passed_over(&self, text: &str, reason: IgnoreReason) -> usize {
        match reason {
            IgnoreReason::WrongNonce | IgnoreReason::UsedTwice | IgnoreReason::Blank => return 0,
            IgnoreReason::Malformed | IgnoreReason::Unclosed => return text.len(),
            IgnoreReason::NotOffered | IgnoreReason::NoTool | IgnoreReason::WrongTool => {}
        }
        let Ok(opening) = Opening::read(text, self.nonce) else {
            return text.len();
        };
        let close = format!("</{}{}-{}>", &TAG[1..], self.nonce, opening.slot);
        let body = text.get(opening.bytes..).unwrap_or_default();
        match body.find(&close) {
            Some(end) => opening.bytes + end + close.len(),
            None => text.len(),
        }
    }

    /// Notes that the final report has no closing tag.
    fn unclosed(&mut self) -> UnclosedFinal {
        *self
            .found
            .unclosed_final
            .insert(UnclosedFinal::of(self.finish))
    }

    fn find_close(&mut self, body: &str, slot: Slot, close: &str) -> Option<usize> {
        if self.never_closed.contains(&slot) {
            return None;
        }
        let found = body.find(close);
        if found.is_none() {
            self.never_closed.insert(slot);
        }
        found
    }

    fn keep(&mut self, call: XmlCall) -> Result<(), IgnoreReason> {
        let calls = &mut self.found.calls;
        match calls.iter().position(|earlier| earlier.slot == call.slot) {
            Some(_) if matches!(call.slot, Slot::Numbered(_)) => {
                return Err(IgnoreReason::UsedTwice);
            }
            Some(earlier) => {
                calls.remove(earlier);
            }
            None => {}
        }
        calls.push(call);
        Ok(())
    }

    fn ignore(&mut self, tag: &str, reason: IgnoreReason) {
        if self.found.ignored.len() < IGNORED_MAX {
            let tag = tag.chars().take(80).take_while(|c| *c != '\n').collect();
            self.found.ignored.push(IgnoredTag { tag, reason });
        }
    }
}

/// The tool that a tag calls. A reserved slot need not name its own.
fn tool_of<'a>(opening: &Opening<'a>, slot: Slot) -> Result<&'a str, IgnoreReason> {
    match (opening.tool, slot.reserved_tool()) {
        (Some(tool), Some(own)) if tool != own => Err(IgnoreReason::WrongTool),
        (Some(tool), _) => Ok(tool),
        (None, own) => own.ok_or(IgnoreReason::NoTool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run did is what its log says: a rule that came later changes nothing of it.
    #[test]
    fn a_log_from_before_the_rule_reads_on_inside_a_tag_without_its_end() {
        let text =
            "<ai-agent-n-0001 tool=\"a\">half <ai-agent-n-0002 tool=\"b\">{}</ai-agent-n-0002>";
        let offered = [Slot::Numbered(1), Slot::Numbered(2)];
        let old = find_tags_reading_on(text, "n", &offered, Finish::Length);
        assert_eq!(old.calls.len(), 1);
        let new = find_tags(text, "n", &offered, Finish::Length);
        assert_eq!(new.calls, []);
        assert_eq!(old.ignored, new.ignored);
    }
}
