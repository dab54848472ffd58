//! Slack messages in the one shape that Slack takes, from the many that models write.

use serde_json::{Map, Value, json};

use super::ReportFault;
use crate::repair;

const MESSAGES_MAX: usize = 20;
const BLOCKS_MAX: usize = 50;
const SECTION_CHARS_MAX: usize = 2900;
const HEADER_CHARS_MAX: usize = 150;
const ELEMENTS_MAX: usize = 10;
const ELEMENT_CHARS_MAX: usize = 2000;

/// The limits, for the model.
pub(crate) const SHAPE: &str = "1-20 messages {blocks: [1-50]}; blocks: \
     {type:section,text:{type:mrkdwn,text}} up to 2900 characters, \
     {type:header,text:{type:plain_text,text}} up to 150, {type:divider}, \
     {type:context,elements:[1-10 of {type:mrkdwn,text}]} up to 2000 each";

/// Gives an array of `{blocks}`. A message may come as a list of them, as its blocks or as a text.
pub(super) fn messages(given: &Value) -> Result<Value, ReportFault> {
    let mut found: Vec<Value> = vec![];
    collect(given, &mut found, 0)?;
    if found.is_empty() {
        return Err(fault("messages", "there is none"));
    }
    limit("messages", "messages", found.len(), MESSAGES_MAX)?;
    Ok(Value::Array(found))
}

/// Messages that say a text which is no JSON, in as many sections as it needs.
pub(super) fn of_text(text: &str) -> Result<Value, ReportFault> {
    let mut sections = vec![];
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (section, later) = split(rest, SECTION_CHARS_MAX);
        sections.push(Value::String(section.to_owned()));
        rest = later.trim_start();
    }
    let mut made = vec![];
    for blocks in sections.chunks(BLOCKS_MAX) {
        made.push(message(blocks, made.len() + 1)?);
    }
    limit("messages", "messages", made.len(), MESSAGES_MAX)?;
    Ok(Value::Array(made))
}

/// The beginning of a text that has so many characters at most, up to the end of a paragraph, a line or a word if there is
/// one, and the rest.
fn split(text: &str, chars_max: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(chars_max) else {
        return (text, "");
    };
    let head = text.get(..end).unwrap_or(text);
    let found = ["\n\n", "\n", " "].iter().find_map(|gap| head.rfind(gap));
    text.split_at(found.filter(|at| *at > 0).unwrap_or(end))
}

/// Adds the messages in a value. Blocks that stand side by side are one message.
fn collect(given: &Value, found: &mut Vec<Value>, depth: u32) -> Result<(), ReportFault> {
    let place = format!("message {}", found.len() + 1);
    if depth > 3 {
        return Err(fault(&place, "lists are nested too deeply"));
    }
    match given {
        Value::Array(items) => {
            for run in items.chunk_by(|a, b| is_block(a) && is_block(b)) {
                match run {
                    [one] if !is_block(one) => collect(one, found, depth + 1)?,
                    blocks => found.push(message(blocks, found.len() + 1)?),
                }
            }
            Ok(())
        }
        Value::Object(members) => {
            if let Some(inner) = members.get("messages") {
                return collect(inner, found, depth + 1);
            }
            let blocks = match members.get("blocks") {
                Some(Value::Array(blocks)) => blocks.clone(),
                Some(Value::String(text)) => blocks_in(text, &place)?,
                Some(_) => return Err(fault(&place, "blocks must be an array")),
                None => vec![given.clone()],
            };
            found.push(message(&blocks, found.len() + 1)?);
            Ok(())
        }
        Value::String(_) => {
            found.push(message(std::slice::from_ref(given), found.len() + 1)?);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            Err(fault(&place, "must be an object with blocks"))
        }
    }
}

fn is_block(value: &Value) -> bool {
    value.get("type").is_some_and(Value::is_string) && value.get("blocks").is_none()
}

fn blocks_in(text: &str, place: &str) -> Result<Vec<Value>, ReportFault> {
    match repair::parse_document(text) {
        Ok(parsed) if !parsed.is_cut() => match parsed.value {
            Value::Array(blocks) => Ok(blocks),
            one @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_)) => Ok(vec![one]),
        },
        _ => Err(fault(place, "blocks is a text that is not JSON")),
    }
}

fn message(blocks: &[Value], number: usize) -> Result<Value, ReportFault> {
    let place = format!("message {number}");
    if blocks.is_empty() {
        return Err(fault(&place, "it has no blocks"));
    }
    limit(&place, "blocks", blocks.len(), BLOCKS_MAX)?;
    let mut made = vec![];
    for (index, given) in blocks.iter().enumerate() {
        made.push(block(given, &format!("{place}, block {}", index + 1))?);
    }
    Ok(json!({ "blocks": made }))
}

fn block(given: &Value, place: &str) -> Result<Value, ReportFault> {
    let empty = Map::new();
    let members = given.as_object().unwrap_or(&empty);
    match members.get("type").and_then(Value::as_str) {
        Some("divider") => Ok(json!({ "type": "divider" })),
        Some("header") => {
            let text = text_of(given).replace('*', "");
            check_text(place, &text, HEADER_CHARS_MAX)?;
            Ok(json!({ "type": "header", "text": { "type": "plain_text", "text": text.trim() } }))
        }
        Some("context") => context(members, place),
        _ => section(given, place),
    }
}

fn context(members: &Map<String, Value>, place: &str) -> Result<Value, ReportFault> {
    let given = match members.get("elements") {
        Some(Value::Array(elements)) => elements.as_slice(),
        _ => members.get("text").map_or(&[][..], std::slice::from_ref),
    };
    if given.is_empty() {
        return Err(fault(place, "a context needs elements"));
    }
    limit(place, "elements", given.len(), ELEMENTS_MAX)?;
    let mut elements = vec![];
    for element in given {
        let text = mrkdwn(&text_of(element));
        check_text(place, &text, ELEMENT_CHARS_MAX)?;
        elements.push(json!({ "type": "mrkdwn", "text": text }));
    }
    Ok(json!({ "type": "context", "elements": elements }))
}

/// Fields are merged into the text, which reads the same everywhere.
fn section(given: &Value, place: &str) -> Result<Value, ReportFault> {
    let fields = given.get("fields").and_then(Value::as_array);
    let parts: Vec<String> = std::iter::once(text_of(given))
        .chain(fields.into_iter().flatten().map(text_of))
        .filter(|part| !part.trim().is_empty())
        .collect();
    let text = mrkdwn(&parts.join("\n"));
    check_text(place, &text, SECTION_CHARS_MAX)?;
    Ok(json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } }))
}

/// The text of a block or of an element: its own, or that of the object in its `text`.
fn text_of(value: &Value) -> String {
    let inner = || value.get("text");
    let own = value.as_str().or_else(|| inner()?.as_str());
    let text = own.or_else(|| inner()?.get("text")?.as_str());
    text.unwrap_or_default().to_owned()
}

/// Slack's bold is one star.
fn mrkdwn(text: &str) -> String {
    let stars = text.matches("**").count();
    text.replacen("**", "*", stars - stars % 2)
}

fn check_text(place: &str, text: &str, chars_max: usize) -> Result<(), ReportFault> {
    if text.trim().is_empty() {
        return Err(fault(place, "it has no text"));
    }
    limit(place, "characters", text.chars().count(), chars_max)
}

fn limit(place: &str, what: &str, count: usize, max: usize) -> Result<(), ReportFault> {
    if count <= max {
        return Ok(());
    }
    let why =
        format!("{count} {what} are more than the {max} that are allowed: write less or split");
    Err(fault(place, &why))
}

fn fault(place: &str, why: &str) -> ReportFault {
    ReportFault::BadSlack {
        place: place.to_owned(),
        why: why.to_owned(),
    }
}
