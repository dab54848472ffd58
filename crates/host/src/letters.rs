//! Letters that do more than to be read: those that drive a terminal, and those that a reader does not see.
//!
//! Tools, models and files are strangers. What they wrote is shown on terminals and to people who
//! decide on it, so that it must neither move the cursor, nor hide itself, nor look like something
//! else.

use std::borrow::Cow;
use std::fmt::Write as _;

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointSetData};

/// A text that cannot drive a terminal: no control character is left in it but the ends of lines and tabs, and none
/// that turns the direction of writing. Colours are taken out; everything else leaves a sign that it was there.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '\r' if rest.starts_with('\n') => {}
            '\x1b' => match after_colour(rest) {
                Some(after) => rest = after,
                None => shown.push('\u{241b}'),
            },
            letter if is_harmful(letter) => shown.push(sign_of(letter)),
            letter => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Control characters, marks of direction and the separators of lines that terminals disagree about.
fn is_harmful(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        letter if letter.is_control() => true,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => false,
    }
}

/// The picture of a control character, where there is one.
fn sign_of(letter: char) -> char {
    match letter {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// What comes after the sequence for a colour whose escape character has been read.
fn after_colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix('[')?;
    let after = parameters.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == ':');
    after.strip_prefix('m')
}

/// A text in which every letter can be seen: what drives a terminal, has no width or looks like a space is written
/// out by its number. For what a person judges.
pub fn written_out(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_seen(letter) {
            true => shown.push(letter),
            // A string takes whatever is written to it.
            false => drop(write!(shown, "\\u{{{:x}}}", u32::from(letter))),
        }
    }
    shown
}

/// By the categories of Unicode and not by a list, so that letters which are added later are judged as
/// well.
fn is_seen(letter: char) -> bool {
    if letter == ' ' || letter.is_ascii_graphic() {
        return true;
    }
    // Letters that are drawn and show nothing, though Unicode has them among the signs.
    let is_blank = matches!(letter, '\u{2800}' | '\u{1d159}' | '\u{fffc}');
    let category = CodePointMapData::<GeneralCategory>::new().get(letter);
    let is_nothing = GeneralCategoryGroup::Other
        .union(GeneralCategoryGroup::Separator)
        .contains(category);
    let is_ignored = CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(letter);
    !(is_blank || is_nothing || is_ignored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_drives_a_terminal_is_left() {
        for (text, shown) in [
            ("plain é日\ttext\nand more", "plain é日\ttext\nand more"),
            (
                "family \u{1f468}\u{200d}\u{1f469}",
                "family \u{1f468}\u{200d}\u{1f469}",
            ),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b[2Jx", "␛[2Jx"),
            ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
            ("\x1b[31", "␛[31"),
            ("a\r\nb\rc", "a\nb␍c"),
            ("\u{9b}2J\u{7f}", "\u{fffd}2J␡"),
            ("x\u{202e}y\u{2066}z", "x\u{fffd}y\u{fffd}z"),
        ] {
            assert_eq!(harmless(text), shown);
        }
        for code in (0..0x300).chain(0x2000..0x2100) {
            let Some(letter) = char::from_u32(code) else {
                continue;
            };
            let text = format!("a{letter}b");
            let shown = harmless(&text);
            let left = shown
                .chars()
                .filter(|c| c.is_control() && !"\n\t".contains(*c));
            assert_eq!(left.count(), 0, "{code:x}");
        }
    }

    #[test]
    fn every_letter_of_what_a_person_judges_can_be_seen() {
        for (text, shown) in [
            ("{\"a\": \"é日\"}", "{\"a\": \"é日\"}"),
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("a\r\nb\tc", "a\\u{d}\\u{a}b\\u{9}c"),
            (
                "x\u{202e}y\u{200b}z\u{feff}",
                "x\\u{202e}y\\u{200b}z\\u{feff}",
            ),
            ("\u{e0041}\u{9b}", "\\u{e0041}\\u{9b}"),
        ] {
            assert_eq!(written_out(text), shown);
        }
        for hidden in [
            '\u{a0}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{1680}',
            '\u{180e}',
            '\u{2003}',
            '\u{200c}',
            '\u{200d}',
            '\u{202f}',
            '\u{205f}',
            '\u{2064}',
            '\u{2800}',
            '\u{3000}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d159}',
            '\u{1d173}',
            '\u{e0020}',
            '\u{e0100}',
            '\u{e000}',
            '\u{378}',
        ] {
            let code = u32::from(hidden);
            assert_eq!(
                written_out(&format!("a{hidden}b")),
                format!("a\\u{{{code:x}}}b")
            );
        }
    }
}
