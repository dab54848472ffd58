//! What is read out of a note's text: its prose, its headings, and the piece of it that a search shows.
//!
//! A small reading of Markdown, enough to tell code from prose and headings from text. Everything works in time linear
//! in the length of the text, because it runs on every write and every hit; a note is up to 4 MiB of whatever somebody
//! wrote.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A snippet with its marks is never longer.
pub const SNIPPET_CHARS_MAX: usize = 200;

/// How much is shown on either side of what was found.
const AROUND_CHARS: usize = 50;

/// How far into a text a search looks for what to show.
const SNIPPET_SEARCH_BYTES: usize = 256 << 10;

/// More words than this make no search better.
const TERMS_MAX: usize = 32;

/// How much of a note's text stands for what the note means.
const MEANING_CHARS: usize = 2000;

const MARK: (&str, &str) = ("<mark>", "</mark>");

/// The parts of a text that are no code: neither fenced blocks nor code spans. A span ends on its line.
pub(super) fn prose(markdown: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for (line, is_code) in lines(markdown) {
        if !is_code {
            without_spans(line, &mut parts);
        }
    }
    parts
}

/// The lines of a text, and whether each is a part of a fenced block.
fn lines(markdown: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fence: Option<(char, usize)> = None;
    markdown.split_inclusive('\n').map(move |line| {
        let was_open = fence.is_some();
        match (fence, fence_mark(line)) {
            (None, mark) => fence = mark,
            (Some((kind, length)), Some((closing, closing_length)))
                if kind == closing && closing_length >= length && is_bare_fence(line) =>
            {
                fence = None;
            }
            (Some(_), _) => {}
        }
        (line, was_open || fence.is_some())
    })
}

/// The fence that a line begins with, and how long it is.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start_matches(' ');
    let kind = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == kind).count();
    // "```a```" on one line is a code span.
    let is_span = kind == '`' && text[length..].contains('`');
    (line.len() - text.len() < 4 && length >= 3 && !is_span).then_some((kind, length))
}

/// A closing fence has nothing after it but blanks.
fn is_bare_fence(line: &str) -> bool {
    line.trim().chars().all(|c| matches!(c, '`' | '~'))
}

/// A run of backticks is closed by the next run of the same length; the closings are found from the end, so that a line
/// of nothing but backticks takes no time beyond its length.
fn without_spans<'a>(line: &'a str, parts: &mut Vec<&'a str>) {
    let runs = backtick_runs(line);
    let mut next_of_length = BTreeMap::new();
    let mut closings = vec![None; runs.len()];
    for (index, (_, length)) in runs.iter().enumerate().rev() {
        closings[index] = next_of_length.insert(*length, index);
    }
    let (mut kept_from, mut index) = (0, 0);
    while let Some((start, _)) = runs.get(index) {
        if let Some(closing) = closings[index] {
            let (closing_start, closing_length) = runs[closing];
            parts.push(&line[kept_from..*start]);
            kept_from = closing_start + closing_length;
            index = closing;
        }
        index += 1;
    }
    parts.push(&line[kept_from..]);
}

/// Where backticks stand in a row, and how many.
fn backtick_runs(line: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((start, length)) if *start + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

/// The headings of a text (`# …` to `###### …`), one on each line, and the text without them.
pub fn headings_and_body(markdown: &str) -> (String, String) {
    let (mut headings, mut body) = (String::new(), String::with_capacity(markdown.len()));
    for (line, is_code) in lines(markdown) {
        match heading(line).filter(|_| !is_code) {
            Some(heading) => {
                headings.push_str(heading);
                headings.push('\n');
            }
            None => body.push_str(line),
        }
    }
    (headings, body)
}

/// One to six hashes and a blank; closing hashes are dropped.
fn heading(line: &str) -> Option<&str> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let rest = &line[level..];
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    is_heading.then(|| rest.trim().trim_end_matches('#').trim_end())
}

/// What an embedding model is shown of a note: its title and the beginning of its text.
/// Bounded, because models take texts of a bounded length; the beginning mostly says what a note is about.
pub fn meaning_text(title: &str, markdown: &str) -> String {
    let end = markdown.char_indices().nth(MEANING_CHARS);
    let beginning = end.map_or(markdown, |(end, _)| &markdown[..end]);
    format!("{title}\n{beginning}").trim().to_owned()
}

/// The words of a query, those that hold a letter or a digit.
pub fn search_terms(query: &str) -> Vec<&str> {
    query
        .split_whitespace()
        .filter(|term| term.contains(char::is_alphanumeric))
        .take(TERMS_MAX)
        .collect()
}

/// The text as it is indexed: scripts that put no blanks between words get them, so that each sign is a word and a
/// word of the query is a phrase.
pub fn index_text(text: &str) -> Cow<'_, str> {
    if !text.contains(has_no_blanks) {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(text.len() * 4 / 3);
    for sign in text.chars() {
        if has_no_blanks(sign) {
            spaced.extend([' ', sign, ' ']);
        } else {
            spaced.push(sign);
        }
    }
    Cow::Owned(spaced)
}

/// Kana, Han, and the scripts of Thailand, Laos, Burma and Cambodia.
fn has_no_blanks(sign: char) -> bool {
    matches!(u32::from(sign),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x31f0..=0x31ff
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x2_0000..=0x3_ffff)
}

/// The piece of a text around the first word that was looked for, as HTML whose only tags are marks around what
/// was found.
/// The text is escaped, so that it can stand in a page: whoever wrote the note cannot write tags into the page of
/// whoever searches.
pub fn snippet(text: &str, query: &str) -> String {
    let text = cut(text, SNIPPET_SEARCH_BYTES);
    let terms: Vec<Vec<char>> = search_terms(query)
        .into_iter()
        .map(|term| {
            let term = term.trim_matches(|c: char| !c.is_alphanumeric());
            term.chars().map(fold).collect()
        })
        .collect();
    let begins = |sign: char| {
        let sign = fold(sign);
        terms.iter().any(|term| term.first() == Some(&sign))
    };
    let first = text
        .char_indices()
        .filter(|(_, sign)| begins(*sign))
        .find(|(at, _)| match_length(&text[*at..], &terms).is_some())
        .map_or(0, |(at, _)| at);
    let before = text[..first].char_indices().rev().take(AROUND_CHARS).last();
    let start = before.map_or(first, |(at, _)| at);
    marked(&text[start..], first - start, &terms)
}

/// Writes the window with its marks, as much as there is room for.
fn marked(text: &str, first: usize, terms: &[Vec<char>]) -> String {
    let mut written = String::new();
    let mut room = SNIPPET_CHARS_MAX;
    let (mut at, mut plain_after) = (0, 0);
    while at < text.len() && plain_after <= AROUND_CHARS {
        let rest = &text[at..];
        let piece = match match_length(rest, terms).filter(|_| at >= first) {
            Some(length) => {
                plain_after = 0;
                at += length;
                format!("{}{}{}", MARK.0, escaped(&rest[..length]), MARK.1)
            }
            None => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                plain_after += usize::from(at >= first);
                at += length;
                escaped(&rest[..length])
            }
        };
        let chars = piece.chars().count();
        if chars > room {
            break;
        }
        room -= chars;
        written.push_str(&piece);
    }
    written.trim().to_owned()
}

/// How many bytes of the text's beginning are one of the words.
fn match_length(text: &str, terms: &[Vec<char>]) -> Option<usize> {
    let matched = |term: &Vec<char>| {
        let mut length = 0;
        let mut signs = text.chars();
        for wanted in term {
            let sign = signs.next().filter(|sign| fold(*sign) == *wanted)?;
            length += sign.len_utf8();
        }
        (length > 0).then_some(length)
    };
    terms.iter().filter_map(matched).max()
}

/// One character to one: a sign that becomes several in lower case counts by its first.
fn fold(sign: char) -> char {
    // Most signs are ASCII, and a search folds every sign before the first word that it marks.
    if sign.is_ascii() {
        return sign.to_ascii_lowercase();
    }
    sign.to_lowercase().next().unwrap_or(sign)
}

/// Also puts a snippet on one line.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '\n' | '\r' | '\t' => written.push(' '),
            sign => written.push(sign),
        }
    }
    written
}

/// The beginning of a text, not cut inside a character.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
