//! Thoughts that a model writes into its text, because its server does not take them out.

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The thought at the beginning of a text, and the text after it. A thought that was never closed is all
/// that the model got to say.
pub(super) fn split_thought(text: String) -> (String, String) {
    let Some(thought) = text.trim_start().strip_prefix(OPENING) else {
        return (String::new(), text);
    };
    let (thought, said) = thought.split_once(CLOSING).unwrap_or((thought, ""));
    (thought.trim().into(), said.trim_start().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thought_at_the_very_beginning_is_taken_out() {
        let cases = [
            ("<think>a</think>b", "a", "b"),
            ("\n<think>\na\n</think>\n\nb\n", "a", "b\n"),
            ("<think></think>b", "", "b"),
            ("<think>a</think>", "a", ""),
            (
                "<think>a <think> b</think>c</think>",
                "a <think> b",
                "c</think>",
            ),
            ("<think>never closed", "never closed", ""),
            ("<think", "", "<think"),
            ("see <think>a</think>", "", "see <think>a</think>"),
            ("  plain ", "", "  plain "),
            ("", "", ""),
        ];
        for (text, thought, said) in cases {
            let split = split_thought(text.into());
            assert_eq!(split, (thought.into(), said.into()), "{text}");
        }
    }
}
