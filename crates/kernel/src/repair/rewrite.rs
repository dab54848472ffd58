//! From text that is almost JSON to JSON, in one pass and without recursion.

use std::collections::BTreeSet;

use crate::event::RepairStep;

/// As deep as the native parser goes.
const DEPTH_MAX: usize = 127;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// The one value of the text.
    Root,
    /// A key of an object or an element of an array, or the end of it.
    Item {
        after_comma: bool,
    },
    Colon,
    /// The value of a key.
    Member,
    /// A comma, or the end of the object or array.
    Next,
    /// Nothing more.
    Done,
}

struct OpenBracket {
    closer: char,
    is_empty: bool,
}

pub(super) struct Rewriter<'a> {
    pub(super) rest: &'a str,
    pub(super) json: String,
    pub(super) steps: BTreeSet<RepairStep>,
    open: Vec<OpenBracket>,
    want: Want,
}

/// The text as JSON, with what was changed; `None` if its meaning is not plain.
pub(super) fn rewrite(text: &str) -> Option<(String, Vec<RepairStep>)> {
    let mut rewriter = Rewriter {
        rest: text,
        json: String::with_capacity(text.len() + 16),
        steps: BTreeSet::new(),
        open: vec![],
        want: Want::Root,
    };
    while let Some(first) = rewriter.skip_blank() {
        match first {
            '}' | ']' => rewriter.close(first)?,
            ',' => rewriter.comma()?,
            ':' => rewriter.colon()?,
            _ => rewriter.item(first)?,
        }
    }
    rewriter.finish()
}

impl<'a> Rewriter<'a> {
    /// Skips blanks and comments; gives the character that comes then.
    fn skip_blank(&mut self) -> Option<char> {
        loop {
            self.rest = self
                .rest
                .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            let end = if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.rest.find('\n')
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map(|at| at + 2)
            } else {
                return self.rest.chars().next();
            };
            self.steps.insert(RepairStep::Comments);
            self.advance(end.unwrap_or(self.rest.len()));
        }
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn comma(&mut self) -> Option<()> {
        match self.want {
            Want::Next => self.want = Want::Item { after_comma: true },
            Want::Item { .. } => {
                self.steps.insert(RepairStep::Commas);
            }
            Want::Root | Want::Colon | Want::Member | Want::Done => return None,
        }
        self.advance(1);
        Some(())
    }

    fn colon(&mut self) -> Option<()> {
        if self.want != Want::Colon {
            return None;
        }
        self.json.push(':');
        self.want = Want::Member;
        self.advance(1);
        Some(())
    }

    fn close(&mut self, closer: char) -> Option<()> {
        if matches!(self.want, Want::Root | Want::Colon | Want::Member) {
            return None;
        }
        self.advance(1);
        if self.want == (Want::Item { after_comma: true }) {
            self.steps.insert(RepairStep::Commas);
        }
        if !self.open.iter().any(|open| open.closer == closer) {
            self.steps.insert(RepairStep::ExtraBrackets);
            return Some(());
        }
        while let Some(open) = self.open.pop() {
            self.json.push(open.closer);
            if open.closer == closer {
                break;
            }
            self.steps.insert(RepairStep::ClosedBrackets);
        }
        self.after_value();
        Some(())
    }

    fn after_value(&mut self) {
        self.want = match self.open.is_empty() {
            true => Want::Done,
            false => Want::Next,
        };
    }

    /// A key or a value begins here.
    fn item(&mut self, first: char) -> Option<()> {
        if self.want == Want::Next {
            self.steps.insert(RepairStep::Commas);
            self.want = Want::Item { after_comma: true };
        }
        let mut is_key = false;
        match self.want {
            Want::Root | Want::Member => {}
            Want::Item { .. } => {
                let open = self.open.last_mut()?;
                is_key = open.closer == '}';
                if !open.is_empty {
                    self.json.push(',');
                }
                open.is_empty = false;
            }
            Want::Colon | Want::Next | Want::Done => return None,
        }
        if is_key {
            self.key(first)?;
            self.want = Want::Colon;
            return Some(());
        }
        match first {
            '{' => return self.enter('{', '}'),
            '[' => return self.enter('[', ']'),
            '"' | '\'' | '“' | '”' => self.string(first, false)?,
            _ => self.word_value()?,
        }
        self.after_value();
        Some(())
    }

    fn enter(&mut self, opener: char, closer: char) -> Option<()> {
        if self.open.len() >= DEPTH_MAX {
            return None;
        }
        self.json.push(opener);
        self.open.push(OpenBracket {
            closer,
            is_empty: true,
        });
        self.want = Want::Item { after_comma: false };
        self.advance(1);
        Some(())
    }

    fn key(&mut self, first: char) -> Option<()> {
        if matches!(first, '"' | '\'' | '“' | '”') {
            return self.string(first, true);
        }
        let word = self.word()?;
        self.steps.insert(RepairStep::BareWord);
        self.push_quoted(word)
    }

    fn word_value(&mut self) -> Option<()> {
        let word = self.word()?;
        if let Some(literal) = literal(word) {
            if literal != word {
                self.steps.insert(RepairStep::Literal);
            }
            self.json.push_str(literal);
            return Some(());
        }
        if let Some(number) = number(word) {
            // Digits may be missing.
            if self.rest.is_empty() {
                self.steps.insert(RepairStep::ClosedText);
            }
            if number != word {
                self.steps.insert(RepairStep::Literal);
            }
            self.json.push_str(&number);
            return Some(());
        }
        // A bare text is one word with a clear end: anything longer would be a guess. JSON has no word for
        // what is no number.
        let is_no_number = matches!(word.trim_start_matches(['+', '-']), "NaN" | "Infinity");
        let next = self.skip_blank()?;
        if !matches!(next, ',' | '}' | ']') || self.open.is_empty() || is_no_number {
            return None;
        }
        self.steps.insert(RepairStep::BareWord);
        self.push_quoted(word)
    }

    fn word(&mut self) -> Option<&'a str> {
        let ends = |c: char| c.is_whitespace() || ",:{}[]\"'“”`".contains(c);
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let word = self.rest.get(..end).filter(|word| !word.is_empty())?;
        self.advance(end);
        Some(word)
    }

    fn push_quoted(&mut self, word: &str) -> Option<()> {
        self.json.push_str(&serde_json::to_string(word).ok()?);
        Some(())
    }

    /// Closes what is open, if it holds something: an empty object is not made out of nothing, nor a value
    /// for a key that has none.
    fn finish(mut self) -> Option<(String, Vec<RepairStep>)> {
        match self.want {
            Want::Root | Want::Colon | Want::Member => return None,
            Want::Item { after_comma: false } => return None,
            Want::Item { after_comma: true } => {
                self.steps.insert(RepairStep::ClosedText);
            }
            Want::Next | Want::Done => {}
        }
        if !self.open.is_empty() {
            self.steps.insert(RepairStep::ClosedBrackets);
        }
        while let Some(open) = self.open.pop() {
            self.json.push(open.closer);
        }
        Some((self.json, self.steps.into_iter().collect()))
    }
}

fn literal(word: &str) -> Option<&'static str> {
    match word {
        "true" | "True" | "TRUE" => Some("true"),
        "false" | "False" | "FALSE" => Some("false"),
        "null" | "None" | "NULL" | "undefined" => Some("null"),
        _ => None,
    }
}

fn number(word: &str) -> Option<String> {
    let unsigned = word.strip_prefix('+').unwrap_or(word);
    let whole = match unsigned.strip_prefix('.') {
        Some(fraction) => format!("0.{fraction}"),
        None => unsigned.to_owned(),
    };
    serde_json::from_str::<serde_json::Number>(&whole).ok()?;
    Some(whole)
}
