//! Checks of a call before it may be executed. What fails here is never run, and the model is told why.

use std::sync::Arc;

use serde_json::Value;

use crate::config::{RunConfig, Spelling, Writing};
use crate::event::{Refusal, RefusalCode, RepairStep};
use crate::model::Finish;
use crate::own_tools::OwnTool;
use crate::policy::Permission;
use crate::repair::parse_arguments;
use crate::text::Text;
use crate::tool::{Catalog, FINAL_REPORT, is_terminal};

/// Reasons are shown to the model: long enough to help, short enough not to flood.
const REASON_CHARS_MAX: usize = 500;

impl RefusalCode {
    /// The word for it in logs and in what the model is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::MalformedArguments => "malformed_arguments",
            Self::CutOff => "cut_off",
            Self::InvalidArguments => "invalid_arguments",
            Self::TooManyCalls => "too_many_calls",
            Self::NotOffered => "not_offered",
            Self::EmptyBatch => "empty_batch",
            Self::InvalidBatch => "invalid_batch_input",
            Self::NotInBatch => "not_in_batch",
            Self::Denied => "denied",
            Self::OutOfScope => "out_of_scope",
        }
    }

    /// Whether the arguments were no JSON object.
    pub(crate) fn arguments_unreadable(self) -> bool {
        matches!(self, Self::MalformedArguments | Self::CutOff)
    }
}

/// What a reply is read and checked against.
pub(crate) struct Decoding<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) writing: Writing<'a>,
    pub(crate) catalog: &'a Catalog,
    pub(crate) turn: u32,
    /// Whether only the terminal call may be made.
    pub(crate) last: bool,
    /// The model that was asked.
    pub(crate) model: &'a str,
}

impl<'a> Decoding<'a> {
    /// How calls are spelt, where they are.
    pub(crate) fn spelling(&self) -> Spelling<'a> {
        match self.writing {
            Writing::Calls(spelling) => spelling,
            Writing::Instructions(_) => Spelling::NATIVE,
        }
    }

    /// The tool, where the run may call it at all. What the kernel answers itself changes nothing but the log.
    fn offered(&self, tool: &str, is_answered: bool) -> Result<(), Refusal> {
        let Some(spec) = self.catalog.spec(tool) else {
            let known: Vec<&str> = self.catalog.specs().map(|it| it.name.as_str()).collect();
            let known = known.join(", ");
            let message = match self.config.reads_only() {
                true => format!("this run changes nothing: it has no tool {tool:?}, only {known}"),
                false => format!("there is no tool {tool:?}, only {known}"),
            };
            return Err(refusal(RefusalCode::UnknownTool, message));
        };
        if is_answered || self.config.admits(spec) {
            return Ok(());
        }
        let message = format!("this run changes nothing: the tool {tool:?} may change something");
        Err(refusal(RefusalCode::Denied, message))
    }
}

/// A call after its check: as it is executed, or refused.
pub(crate) struct CheckedCall {
    pub(crate) tool: Arc<str>,
    pub(crate) arguments: Text,
    pub(crate) refused: Option<Refusal>,
    pub(crate) mended: Option<Mending>,
}

/// Arguments that were not JSON as written.
pub(crate) struct Mending {
    pub(crate) original: String,
    pub(crate) steps: Vec<RepairStep>,
}

impl CheckedCall {
    pub(crate) fn as_written(tool: Arc<str>, arguments: Text) -> Self {
        Self {
            tool,
            arguments,
            refused: None,
            mended: None,
        }
    }
}

/// Checks one call of a reply: its tool, its arguments, its place among those that are counted.
pub(crate) fn call(
    written: &str,
    arguments: String,
    finish: Finish,
    index: usize,
    how: &Decoding<'_>,
) -> CheckedCall {
    let tool: Arc<str> = match how.config.repairs {
        true => how.catalog.nearest(written).into(),
        false => written.into(),
    };
    match parse(&arguments, finish, how.config.repairs) {
        Err(refusal) => CheckedCall {
            refused: Some(refusal),
            ..CheckedCall::as_written(tool, arguments.into())
        },
        Ok((value, steps)) => {
            // What was mended may hold more than was written.
            let bytes = steps.is_empty().then_some(arguments.len());
            let refused = admit(&tool, &value, bytes, index, false, how).err();
            let mut checked = CheckedCall::as_written(tool, Text::default());
            checked.refused = refused;
            if steps.is_empty() {
                checked.arguments = arguments.into();
            } else {
                checked.arguments = value.to_string().into();
                let original = arguments;
                checked.mended = Some(Mending { original, steps });
            }
            checked
        }
    }
}

/// What is wrong with an instruction, if something is. How many there may be was seen to when they were read.
pub(crate) fn instruction(
    tool: &str,
    arguments: &Value,
    is_memory: bool,
    how: &Decoding<'_>,
) -> Option<Refusal> {
    admit(tool, arguments, None, 0, is_memory, how).err()
}

/// `bytes` is the length of the text that the arguments were read from, where they are as written. What `is_memory` changes the
/// run's own memory, which is a fold of its log.
fn admit(
    tool: &str,
    arguments: &Value,
    bytes: Option<usize>,
    index: usize,
    is_memory: bool,
    how: &Decoding<'_>,
) -> Result<(), Refusal> {
    let max = how.config.limits.calls_per_turn_max;
    let reports = how.spelling().reports;
    let is_report = tool == FINAL_REPORT && reports;
    if index >= max as usize && !is_report {
        let calls = if max == 1 && reports {
            "call is"
        } else {
            "calls are"
        };
        let message =
            format!("only {max} {calls} executed in a turn, this one was not: call again");
        return Err(refusal(RefusalCode::TooManyCalls, message));
    }
    let is_answered = is_memory || is_terminal(tool) || how.config.own_tools.of(tool).is_some();
    how.offered(tool, is_answered)?;
    if let Some(policy) = &how.config.policy
        && how.config.own_tools.of(tool).is_none()
        && policy.permission(tool).0 == Permission::Deny
    {
        let message = format!("denied by policy: the tool {tool:?} may not be used in this run");
        return Err(refusal(RefusalCode::Denied, message));
    }
    if how.last && !is_terminal(tool) {
        let message = "no tool may be used any more: report now".to_owned();
        return Err(refusal(RefusalCode::NotOffered, message));
    }
    // A report is read with more patience than a schema has, when it is its turn; so is a batch.
    if tool == FINAL_REPORT || how.config.own_tools.of(tool) == Some(OwnTool::Batch) {
        return Ok(());
    }
    let checked = match bytes {
        Some(bytes) => how.catalog.check_written(tool, arguments, bytes),
        None => how.catalog.check_arguments(tool, arguments),
    };
    checked.map_err(|why| {
        refusal(
            RefusalCode::InvalidArguments,
            format!("invalid arguments: {why}"),
        )
    })
}

/// Reads arguments as an object, mending them where that is asked for. Arguments that were cut are never
/// mended: what is missing from them cannot be known.
fn parse(
    arguments: &str,
    finish: Finish,
    repairs: bool,
) -> Result<(Value, Vec<RepairStep>), Refusal> {
    // Providers write the arguments of a call that has none as an empty text.
    if arguments.trim().is_empty() && finish != Finish::Length {
        return Ok((Value::Object(serde_json::Map::new()), vec![]));
    }
    let (code, why) = match serde_json::from_str(arguments) {
        Ok(value @ Value::Object(_)) => return Ok((value, vec![])),
        Err(_) if finish == Finish::Length => return Err(cut_off()),
        _ if repairs => match parse_arguments(arguments) {
            Ok(parsed) if parsed.is_cut() => return Err(cut_off()),
            Ok(parsed) => return Ok((parsed.value, parsed.steps)),
            Err(fault) => (RefusalCode::MalformedArguments, fault.to_string()),
        },
        Ok(_) => (RefusalCode::MalformedArguments, "not an object".into()),
        Err(error) => (RefusalCode::MalformedArguments, error.to_string()),
    };
    let message = format!("the arguments are not a JSON object: {why}");
    Err(refusal(code, message))
}

fn cut_off() -> Refusal {
    let message = "the arguments are not a JSON object: the reply was cut by its output limit: write less in one call";
    refusal(RefusalCode::CutOff, message.into())
}

/// A batch holds calls that act: neither what ends a run nor another batch.
pub(crate) fn not_in_batch(tool: &str, how: &Decoding<'_>) -> Option<Refusal> {
    let is_batch = how.config.own_tools.of(tool) == Some(OwnTool::Batch);
    (is_batch || is_terminal(tool)).then(|| {
        let message = format!("{tool} cannot be called in a batch: call it by itself");
        refusal(RefusalCode::NotInBatch, message)
    })
}

/// Where calls are tags, a call in the provider's fields is none.
pub(crate) fn not_a_tag() -> Refusal {
    let message = "calls are written as tags in this run: use the slots of the instructions";
    refusal(RefusalCode::NotOffered, message.into())
}

pub(crate) fn refusal(code: RefusalCode, message: String) -> Refusal {
    let message = match message.char_indices().nth(REASON_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &message[..cut]),
        None => message,
    };
    Refusal {
        code,
        message: message.into(),
    }
}
