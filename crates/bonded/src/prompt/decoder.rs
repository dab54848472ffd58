//! Bytes of a terminal as keys: letters, sequences of the keyboard, and what is pasted as one piece.
//!
//! Bytes come in any portions. What is incomplete waits for the rest; what never becomes complete is resolved when
//! nothing follows for a moment. Nothing is kept without a bound, whatever is pasted.

use std::time::Duration;

use crate::goal::GOAL_BYTES_MAX;

/// A sequence of the keyboard is never longer.
const SEQUENCE_BYTES_MAX: usize = 32;
/// A paste whose end does not come is over after this time.
const PASTE_PATIENCE: Duration = Duration::from_secs(2);

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What a person did at the keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    /// Letters, as many as came at once.
    Letters(String),
    /// A paste, with `\n` between its lines.
    Pasted(String),
    /// A paste of so many bytes, which is more than a message may have. None of it was kept.
    PastedTooMuch(u64),
    /// Bytes that are not UTF-8.
    NotUtf8,
    Enter,
    NewLine,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    Up,
    Down,
    Edit(EditKey),
    /// A key that means nothing here, but that the message is drawn again.
    Unknown,
}

/// A key that works on the message at its cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditKey {
    EraseBack,
    EraseForward,
    EraseWord,
    EraseToStart,
    EraseToEnd,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

/// Takes bytes and gives keys.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    /// Bytes that are not the whole of a key yet.
    pending: Vec<u8>,
    paste: Option<Paste>,
}

/// A paste that has not ended.
#[derive(Debug, Default)]
struct Paste {
    bytes: Vec<u8>,
    /// What came in all.
    count: u64,
    /// How long nothing has followed.
    idle: Duration,
}

impl KeyDecoder {
    /// The keys that are complete with these bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<KeyPress> {
        self.pending.extend_from_slice(bytes);
        let mut keys = vec![];
        loop {
            let taken = match &mut self.paste {
                Some(paste) => match paste.take(&mut self.pending) {
                    true => self.end_paste(),
                    false => return keys,
                },
                None => match next_key(&self.pending) {
                    Some((key, length)) => {
                        self.pending.drain(..length);
                        key
                    }
                    None => return keys,
                },
            };
            match taken {
                Decoded::Key(key) => add(&mut keys, key),
                Decoded::PasteBegins => self.paste = Some(Paste::default()),
            }
        }
    }

    /// Nothing has followed for so long: what is incomplete will not become complete.
    pub(super) fn idle(&mut self, time: Duration) -> Vec<KeyPress> {
        if let Some(paste) = &mut self.paste {
            paste.idle += time;
            if paste.idle < PASTE_PATIENCE {
                return vec![];
            }
            let rest = std::mem::take(&mut self.pending);
            paste.keep(&rest);
            return match self.end_paste() {
                Decoded::Key(key) => vec![key],
                Decoded::PasteBegins => vec![],
            };
        }
        match std::mem::take(&mut self.pending).as_slice() {
            [] => vec![],
            [0x1b] => vec![KeyPress::Unknown],
            [0x1b, ..] => vec![KeyPress::Unknown],
            _ => vec![KeyPress::NotUtf8],
        }
    }

    fn end_paste(&mut self) -> Decoded {
        let paste = self.paste.take().unwrap_or_default();
        if paste.count > GOAL_BYTES_MAX {
            return Decoded::Key(KeyPress::PastedTooMuch(paste.count));
        }
        Decoded::Key(match String::from_utf8(paste.bytes) {
            Ok(text) => KeyPress::Pasted(text.replace("\r\n", "\n").replace('\r', "\n")),
            Err(_) => KeyPress::NotUtf8,
        })
    }
}

impl Paste {
    /// Takes what belongs to the paste; says whether its end was among it. The beginning of an end is left.
    fn take(&mut self, pending: &mut Vec<u8>) -> bool {
        self.idle = Duration::ZERO;
        let end = pending
            .windows(PASTE_ENDS.len())
            .position(|window| window == PASTE_ENDS);
        if let Some(end) = end {
            self.keep(&pending[..end]);
            pending.drain(..end + PASTE_ENDS.len());
            return true;
        }
        let whole = pending.len().saturating_sub(PASTE_ENDS.len() - 1);
        self.keep(&pending[..whole]);
        pending.drain(..whole);
        false
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.count += bytes.len() as u64;
        match self.count > GOAL_BYTES_MAX {
            true => self.bytes = vec![],
            false => self.bytes.extend_from_slice(bytes),
        }
    }
}

/// What the next bytes stand for.
#[derive(Debug, PartialEq, Eq)]
enum Decoded {
    Key(KeyPress),
    PasteBegins,
}

/// Letters that follow letters are one key.
fn add(keys: &mut Vec<KeyPress>, key: KeyPress) {
    match (keys.last_mut(), key) {
        (Some(KeyPress::Letters(letters)), KeyPress::Letters(more)) => letters.push_str(&more),
        (Some(KeyPress::NotUtf8), KeyPress::NotUtf8) => {}
        (_, key) => keys.push(key),
    }
}

/// The key at the beginning of these bytes, and how many it takes; nothing where more must come.
fn next_key(bytes: &[u8]) -> Option<(Decoded, usize)> {
    let (key, length) = match bytes {
        [] => return None,
        [0x1b, ..] => return escaped(bytes),
        [byte @ (..0x20 | 0x7f), ..] => (control(*byte), 1),
        _ => letters(bytes)?,
    };
    Some((Decoded::Key(key), length))
}

fn control(byte: u8) -> KeyPress {
    match byte {
        0x01 => KeyPress::Edit(EditKey::LineStart),
        0x02 => KeyPress::Edit(EditKey::Left),
        0x03 => KeyPress::Interrupt,
        0x04 => KeyPress::EndOfInput,
        0x05 => KeyPress::Edit(EditKey::LineEnd),
        0x06 => KeyPress::Edit(EditKey::Right),
        0x08 | 0x7f => KeyPress::Edit(EditKey::EraseBack),
        b'\n' => KeyPress::NewLine,
        0x0b => KeyPress::Edit(EditKey::EraseToEnd),
        b'\r' => KeyPress::Enter,
        0x0e => KeyPress::Down,
        0x10 => KeyPress::Up,
        0x15 => KeyPress::Edit(EditKey::EraseToStart),
        0x17 => KeyPress::Edit(EditKey::EraseWord),
        _ => KeyPress::Unknown,
    }
}

/// As many letters as there are.
fn letters(bytes: &[u8]) -> Option<(KeyPress, usize)> {
    let end = bytes.iter().position(|byte| *byte < 0x20 || *byte == 0x7f);
    let bytes = &bytes[..end.unwrap_or(bytes.len())];
    let (text, fault) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let good = &bytes[..error.valid_up_to()];
            (std::str::from_utf8(good).unwrap_or_default(), Some(error))
        }
    };
    if !text.is_empty() {
        // The second block of control characters takes two bytes each.
        let shown: String = text.chars().filter(|it| !it.is_control()).collect();
        return Some((KeyPress::Letters(shown), text.len()));
    }
    // Without a length, the rest of a letter may follow, unless something else did.
    let length = match fault?.error_len() {
        Some(length) => length,
        None if end.is_some() => bytes.len(),
        None => return None,
    };
    Some((KeyPress::NotUtf8, length))
}

fn escaped(bytes: &[u8]) -> Option<(Decoded, usize)> {
    let (key, length) = match bytes {
        [0x1b] => return None,
        [0x1b, b'[', rest @ ..] => {
            let Some(end) = rest.iter().position(|byte| (0x40..0x7f).contains(byte)) else {
                return match bytes.len() > SEQUENCE_BYTES_MAX {
                    true => Some((Decoded::Key(KeyPress::Unknown), bytes.len())),
                    false => None,
                };
            };
            let length = end + 3;
            if &bytes[..length] == PASTE_BEGINS {
                return Some((Decoded::PasteBegins, length));
            }
            (sequence(&rest[..end], rest[end]), length)
        }
        [0x1b, b'O', last, ..] => (sequence(b"", *last), 3),
        [0x1b, b'O'] => return None,
        [0x1b, b'\r' | b'\n', ..] => (KeyPress::NewLine, 2),
        [0x1b, b'b', ..] => (KeyPress::Edit(EditKey::WordLeft), 2),
        [0x1b, b'f', ..] => (KeyPress::Edit(EditKey::WordRight), 2),
        [0x1b, 0x7f | 0x08, ..] => (KeyPress::Edit(EditKey::EraseWord), 2),
        // Escape, and then another key.
        [0x1b, ..] => (KeyPress::Unknown, 1),
        _ => return None,
    };
    Some((Decoded::Key(key), length))
}

/// Sequences as the usual terminals send them: numbers, and a last letter.
fn sequence(numbers: &[u8], last: u8) -> KeyPress {
    match (numbers, last) {
        (b"1;5" | b"1;3" | b"5", b'C') => KeyPress::Edit(EditKey::WordRight),
        (b"1;5" | b"1;3" | b"5", b'D') => KeyPress::Edit(EditKey::WordLeft),
        (_, b'A') => KeyPress::Up,
        (_, b'B') => KeyPress::Down,
        (_, b'C') => KeyPress::Edit(EditKey::Right),
        (_, b'D') => KeyPress::Edit(EditKey::Left),
        (_, b'H') | (b"1" | b"7", b'~') => KeyPress::Edit(EditKey::LineStart),
        (_, b'F') | (b"4" | b"8", b'~') => KeyPress::Edit(EditKey::LineEnd),
        (b"3", b'~') => KeyPress::Edit(EditKey::EraseForward),
        (b"", b'M') => KeyPress::Enter,
        (b"13;2", b'u') | (b"27;2;13", b'~') => KeyPress::NewLine,
        _ => KeyPress::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> KeyPress {
        KeyPress::Letters(text.into())
    }

    const IDLE: Duration = Duration::from_millis(50);

    #[test]
    fn keys_are_the_same_however_the_bytes_are_cut() {
        let typed = "hé\x1b[A\x1b[1;5D\x1bOH\x7f\x1b[200~one\r\ntwo\x1b[201~日本\x03\r";
        let wanted = vec![
            letters("hé"),
            KeyPress::Up,
            KeyPress::Edit(EditKey::WordLeft),
            KeyPress::Edit(EditKey::LineStart),
            KeyPress::Edit(EditKey::EraseBack),
            KeyPress::Pasted("one\ntwo".into()),
            letters("日本"),
            KeyPress::Interrupt,
            KeyPress::Enter,
        ];
        for size in 1..typed.len() {
            let mut decoder = KeyDecoder::default();
            let mut keys = vec![];
            for part in typed.as_bytes().chunks(size) {
                for key in decoder.feed(part) {
                    add(&mut keys, key);
                }
            }
            assert_eq!(keys, wanted, "by {size}");
        }
    }

    #[test]
    fn what_is_incomplete_is_resolved_when_nothing_follows() {
        for (bytes, wanted) in [
            (&b"\x1b"[..], KeyPress::Unknown),
            (b"\x1b[1", KeyPress::Unknown),
            (b"\xe6\x97", KeyPress::NotUtf8),
        ] {
            let mut decoder = KeyDecoder::default();
            assert_eq!(decoder.feed(bytes), []);
            assert_eq!(decoder.idle(IDLE), [wanted]);
            assert_eq!(decoder.feed(b"a"), [letters("a")]);
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_told_and_the_letters_around_them_stay() {
        let mut decoder = KeyDecoder::default();
        let keys = decoder.feed(b"a\xff\xfeb\xe6\rc\xc2\x9bd");
        let wanted = [
            letters("a"),
            KeyPress::NotUtf8,
            letters("b"),
            KeyPress::NotUtf8,
            KeyPress::Enter,
            letters("cd"),
        ];
        assert_eq!(keys, wanted);
    }

    #[test]
    fn a_paste_is_counted_and_not_kept_where_it_is_too_large() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.feed(PASTE_BEGINS), []);
        let part = vec![b'x'; 4096];
        for _ in 0..1280 {
            assert_eq!(decoder.feed(&part), []);
            let kept = decoder.paste.as_ref().map_or(0, |it| it.bytes.len());
            assert!(kept as u64 <= GOAL_BYTES_MAX && decoder.pending.len() < 16);
        }
        let keys = decoder.feed(b"\x1b[201~ok");
        assert_eq!(
            keys,
            [KeyPress::PastedTooMuch(5 * 1024 * 1024), letters("ok")]
        );
    }

    #[test]
    fn a_paste_that_does_not_end_is_over_after_a_while() {
        let mut decoder = KeyDecoder::default();
        decoder.feed(b"\x1b[200~lost");
        assert_eq!(decoder.idle(IDLE), []);
        assert_eq!(
            decoder.idle(PASTE_PATIENCE),
            [KeyPress::Pasted("lost".into())]
        );
        assert_eq!(decoder.feed(b"\x03"), [KeyPress::Interrupt]);
    }
}
