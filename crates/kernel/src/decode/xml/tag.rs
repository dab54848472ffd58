//! One opening tag, and the edges of its payload.

use super::IgnoreReason;

/// How every tag of ours begins; the nonce and the slot follow.
pub(crate) const TAG: &str = "<ai-agent-";

/// An opening tag that is longer does not end, as far as we look.
pub(super) const OPENING_BYTES_MAX: usize = 1024;

/// An opening tag with the nonce of the run.
pub(super) struct Opening<'a> {
    pub(super) slot: &'a str,
    pub(super) tool: Option<&'a str>,
    pub(super) format: Option<&'a str>,
    /// How long the tag is.
    pub(super) bytes: usize,
}

impl<'a> Opening<'a> {
    /// Reads the opening tag at the start of a text that begins with [`TAG`].
    pub(super) fn read(text: &'a str, nonce: &str) -> Result<Self, IgnoreReason> {
        let after = text.get(TAG.len()..).unwrap_or_default();
        let name = after
            .strip_prefix(nonce)
            .and_then(|rest| rest.strip_prefix('-'))
            .ok_or(IgnoreReason::WrongNonce)?;
        let end = opening_end(name).ok_or(IgnoreReason::Malformed)?;
        let inside = name.get(..end).unwrap_or_default();
        let slot_end = inside
            .find(|c: char| c.is_whitespace() || c == '/')
            .unwrap_or(inside.len());
        let (slot, attributes) = inside.split_at(slot_end);
        Ok(Self {
            slot,
            tool: attribute(attributes, "tool"),
            format: attribute(attributes, "format"),
            bytes: text.len() - name.len() + end + 1,
        })
    }
}

/// Where the `>` of an opening tag is: the first one outside quotes.
pub(super) fn opening_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().take(OPENING_BYTES_MAX).enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// The value of a quoted attribute, which may stand anywhere among others.
fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            rest = after;
            continue;
        };
        let (value, after) = after.get(1..)?.split_once(quote)?;
        let name = name.trim_end().rsplit(char::is_whitespace).next();
        if name == Some(wanted) {
            return Some(value.trim()).filter(|value| !value.is_empty());
        }
        rest = after;
    }
}

/// A payload usually stands on its own lines; these line breaks are not part of it.
pub(super) fn without_outer_newlines(payload: &str) -> &str {
    let payload = payload
        .strip_prefix("\r\n")
        .or_else(|| payload.strip_prefix('\n'))
        .unwrap_or(payload);
    without_last_newline(payload)
}

pub(super) fn without_last_newline(text: &str) -> &str {
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
        .unwrap_or(text)
}

/// The text without the start of a closing tag that it ends with.
pub(super) fn without_partial<'a>(text: &'a str, close: &str) -> &'a str {
    match partial_len(text, close) {
        // Shorter ones are more likely to be text.
        found if found >= "</ai-agent".len() => &text[..text.len() - found],
        _ => text,
    }
}

/// How many bytes at the end of a text are the start of a mark.
pub(super) fn partial_len(text: &str, mark: &str) -> usize {
    let longest = text.len().min(mark.len().saturating_sub(1));
    (1..=longest)
        .rev()
        .find(|len| mark.is_char_boundary(*len) && text.ends_with(&mark[..*len]))
        .unwrap_or(0)
}
