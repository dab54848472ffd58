//! A reply in the marks that a model writes around its channels, because its server does not take them out.
//!
//! `<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>`. What is meant for
//! a tool says so before its message: `commentary to=functions.NAME <|constrain|>json`.

use bonded_kernel::ReplyCall;

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
const FINAL: &str = "final";
const FINAL_BEGINS: &str = "<|channel|>final";
const MARK: &str = "<|";

/// What a text in channels says.
///
/// Everything that is neither in the final channel nor meant for a tool counts as thought.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Channels {
    pub(super) thought: String,
    pub(super) answer: String,
    pub(super) calls: Vec<ReplyCall>,
}

/// Whether a text is written in channels.
pub(super) fn has_channels(text: &str) -> bool {
    let begun = text.trim_start();
    begun.starts_with(CHANNEL) || begun.starts_with(START)
}

/// Whether a text that still grows may come to be written in channels.
///
/// True for an empty text as well, so that nothing is shown before it is certain.
pub(super) fn may_have_channels(begun: &str) -> bool {
    CHANNEL.starts_with(begun) || START.starts_with(begun)
}

/// Where the text of the final channel begins, or else how much of the text needs no second look for it.
///
/// A mark may be cut in two by the pieces of a stream, so that the last bytes, as many as the mark has, are
/// looked at again.
pub(super) fn seek_final(text: &str) -> Result<usize, usize> {
    let Some(header) = text.find(FINAL_BEGINS) else {
        let looked_at = text.len().saturating_sub(FINAL_BEGINS.len());
        return Err(text.floor_char_boundary(looked_at));
    };
    let message = text[header..].find(MESSAGE).ok_or(0_usize)?;
    Ok(header + message + MESSAGE.len())
}

/// How much of a text in a channel is surely a part of it: neither a mark nor the beginning of one.
pub(super) fn plain_bytes(text: &str) -> usize {
    text.find(MARK)
        .unwrap_or(text.len() - usize::from(text.ends_with('<')))
}

/// Reads a text that [`has_channels`].
///
/// Never fails: a message without an end reaches to the end of the text, and what has no message is dropped.
pub(super) fn read_channels(text: &str) -> Channels {
    let mut channels = Channels::default();
    let mut rest = text;
    while let Some((header, after)) = rest.split_once(MESSAGE) {
        let end = after.find(MARK).unwrap_or(after.len());
        channels.take(header, &after[..end]);
        rest = &after[end..];
    }
    channels
}

impl Channels {
    /// The recipient may stand before the channel or after it. Calls have no ids here, and the run gives them
    /// some.
    fn take(&mut self, header: &str, body: &str) {
        let header = header.rsplit(START).next().unwrap_or_default();
        let (before, channel) = header.split_once(CHANNEL).unwrap_or((header, ""));
        let mut words = before.split_whitespace().chain(channel.split_whitespace());
        let recipient = words.find_map(|word| word.strip_prefix("to="));
        // The recipient may touch the next mark.
        let recipient = recipient.and_then(|it| it.split(MARK).next());
        if let Some(tool) = recipient {
            self.calls.push(ReplyCall {
                id: String::new(),
                tool: tool.into(),
                arguments: body.trim().into(),
            });
        } else if channel.trim_start().starts_with(FINAL) {
            self.answer.push_str(body);
        } else {
            if !self.thought.is_empty() {
                self.thought.push('\n');
            }
            self.thought.push_str(body.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_is_read_as_what_it_is() {
        let text = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>\
            <|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"a\":1}<|call|>\
            <|start|>assistant to=functions.list<|channel|>commentary<|message|>{}<|call|>\
            <|start|>assistant<|channel|>commentary<|message|>I look.<|end|>\
            <|start|>assistant<|channel|>final<|message|>It < 2 é.\n<|return|>";
        assert!(has_channels(text));
        let read = read_channels(text);
        let calls = [("functions.read", "{\"a\":1}"), ("functions.list", "{}")];
        let calls = calls.map(|(tool, arguments)| ReplyCall {
            id: String::new(),
            tool: tool.into(),
            arguments: arguments.into(),
        });
        assert_eq!(
            read,
            Channels {
                thought: "Hm.\nI look.".into(),
                answer: "It < 2 é.\n".into(),
                calls: calls.into(),
            }
        );
    }

    #[test]
    fn channels_that_were_cut_say_what_they_got_to_say() {
        let cases = [
            ("<|channel|>analysis<|message|>Hm", "Hm", ""),
            (" <|channel|>final<|message|>Yes", "", "Yes"),
            ("<|channel|>anal", "", ""),
            (
                "<|channel|>analysis<|message|>a<|end|><|start|>assi",
                "a",
                "",
            ),
        ];
        for (text, thought, answer) in cases {
            assert!(has_channels(text), "{text}");
            let read = read_channels(text);
            assert_eq!((&*read.thought, &*read.answer), (thought, answer), "{text}");
        }
        for text in ["", "plain", "see <|channel|>final", "<|other|>"] {
            assert!(!has_channels(text), "{text}");
        }
    }
}
