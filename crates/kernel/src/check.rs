//! Checks of a call before it may be executed. What fails here is never run, and the model is told why.

use serde_json::Value;

use crate::config::Limits;
use crate::event::{Refusal, RefusalCode};
use crate::model::{Finish, ReplyCall};
use crate::tool::Catalog;

/// Reasons are shown to the model: long enough to help, short enough not to flood.
const REASON_CHARS_MAX: usize = 500;

impl RefusalCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::MalformedArguments => "malformed_arguments",
            Self::CutOff => "cut_off",
            Self::InvalidArguments => "invalid_arguments",
            Self::TooManyCalls => "too_many_calls",
        }
    }

    /// Whether the arguments were no JSON object.
    pub(crate) fn arguments_unreadable(self) -> bool {
        matches!(self, Self::MalformedArguments | Self::CutOff)
    }
}

/// Checks one call of a reply: its place, its tool, its arguments.
pub(crate) fn call(
    call: &ReplyCall,
    index: usize,
    finish: Finish,
    catalog: &Catalog,
    limits: &Limits,
) -> Result<(), Refusal> {
    let arguments = parse(&call.arguments, finish)?;
    let max = limits.calls_per_turn_max;
    if index >= max as usize {
        let message =
            format!("only {max} calls are executed in a turn, this one was not: call again");
        return Err(refusal(RefusalCode::TooManyCalls, message));
    }
    if catalog.spec(&call.tool).is_none() {
        let known: Vec<&str> = catalog.specs().map(|spec| spec.name.as_str()).collect();
        let message = format!(
            "there is no tool {:?}, only {}",
            call.tool,
            known.join(", ")
        );
        return Err(refusal(RefusalCode::UnknownTool, message));
    }
    catalog
        .check_arguments(&call.tool, &arguments)
        .map_err(|why| {
            refusal(
                RefusalCode::InvalidArguments,
                format!("invalid arguments: {why}"),
            )
        })
}

fn parse(arguments: &str, finish: Finish) -> Result<Value, Refusal> {
    // Providers write the arguments of a call that has none as an empty text.
    if arguments.trim().is_empty() && finish != Finish::Length {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let (code, why) = match serde_json::from_str(arguments) {
        Ok(value @ Value::Object(_)) => return Ok(value),
        Ok(_) => (RefusalCode::MalformedArguments, "not an object".into()),
        Err(_) if finish == Finish::Length => (
            RefusalCode::CutOff,
            "the reply was cut by its output limit: write less in one call".to_owned(),
        ),
        Err(error) => (RefusalCode::MalformedArguments, error.to_string()),
    };
    let message = format!("the arguments are not a JSON object: {why}");
    Err(refusal(code, message))
}

fn refusal(code: RefusalCode, message: String) -> Refusal {
    let message = match message.char_indices().nth(REASON_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &message[..cut]),
        None => message,
    };
    Refusal {
        code,
        message: message.into(),
    }
}
