//! Cuts an address that a person wrote into its origin, its segments and its pairs.
//!
//! It works on the template and not on a parsed address, because a parser would encode the places. Each place
//! must stand where a value may stand; the host, the port and the names of the query are a person's.

use reqwest::Url;

use super::escape::{decoded, has_loose_percent, is_step};
use super::{ListStyle, Pair, UrlTemplate};
use crate::rest::template::{Piece, Template};

const NO_ORIGIN: &str = "it must begin with http:// or https:// and a host";

pub(super) fn read(text: &str) -> Result<UrlTemplate, String> {
    let template = Template::parse(text)?;
    let [Piece::Text(first), more @ ..] = template.pieces() else {
        return Err(NO_ORIGIN.into());
    };
    let (authority, after) = cut_authority(first)?;
    if after.is_empty() && !more.is_empty() {
        return Err("a parameter may not be a part of the host or the port; write them out".into());
    }
    let origin = read_origin(authority)?;
    let mut reader = UrlReader::default();
    reader.take_text(after)?;
    more.iter().try_for_each(|piece| reader.take(piece))?;
    let (segments, query) = reader.finish()?;
    Ok(UrlTemplate {
        origin,
        segments,
        query,
    })
}

/// The segments of a path, which begins with a slash.
pub(in crate::rest) fn segments(path: &str) -> Result<Vec<Template>, String> {
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return Err("a path must begin with / and hold neither ? nor #".into());
    }
    let template = Template::parse(path)?;
    let mut reader = UrlReader::default();
    let mut pieces = template.pieces().iter();
    pieces.try_for_each(|piece| reader.take(piece))?;
    reader.finish().map(|(segments, _)| segments)
}

/// Cuts a text after scheme, host and port.
fn cut_authority(text: &str) -> Result<(&str, &str), String> {
    let (scheme, after) = text.split_once("://").ok_or(NO_ORIGIN)?;
    let length = after.find(['/', '?', '#']).unwrap_or(after.len());
    Ok(text.split_at(scheme.len() + "://".len() + length))
}

fn read_origin(text: &str) -> Result<Url, String> {
    check_characters(text)?;
    if text.contains('@') {
        return Err("it holds a user or a password; send them in `headers`".into());
    }
    let origin = Url::parse(text).map_err(|error| format!("it is not a URL: {error}"))?;
    if !["http", "https"].contains(&origin.scheme()) || origin.host().is_none() {
        return Err(NO_ORIGIN.into());
    }
    Ok(origin)
}

fn check_characters(text: &str) -> Result<(), String> {
    let unfit = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    match text.contains(unfit) {
        true => Err("it holds a blank, a control character or a backslash".into()),
        false => Ok(()),
    }
}

/// Cuts what comes after the origin into segments and pairs.
#[derive(Default)]
struct UrlReader {
    part: UrlPart,
    segments: Vec<Template>,
    query: Vec<Pair>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum UrlPart {
    #[default]
    Path,
    Name,
    Value,
    Fragment,
}

impl UrlReader {
    fn take(&mut self, piece: &Piece) -> Result<(), String> {
        match (piece, self.part) {
            (Piece::Text(text), _) => self.take_text(text),
            (place, UrlPart::Path) => {
                let last = self.segments.last_mut();
                last.ok_or("a parameter stands before the path")?
                    .push(place.clone());
                Ok(())
            }
            (place, UrlPart::Value) => {
                let value = self.query.last_mut().and_then(|pair| pair.value.as_mut());
                value
                    .ok_or("a parameter stands before a value")?
                    .push(place.clone());
                Ok(())
            }
            (_, UrlPart::Name) => {
                Err("a parameter may stand for a value in the query, not for a name".into())
            }
            (_, UrlPart::Fragment) => Err("what comes after # is never sent".into()),
        }
    }

    /// What follows a `#` is dropped: it is never sent.
    fn take_text(&mut self, text: &str) -> Result<(), String> {
        check_characters(text)?;
        if has_loose_percent(text) {
            return Err(
                "a % must be followed by two hexadecimal digits; write %25 for the sign".into(),
            );
        }
        let mut run = String::new();
        for c in text.chars() {
            let next = match (self.part, c) {
                (UrlPart::Fragment, _) => continue,
                (_, '#') => UrlPart::Fragment,
                (UrlPart::Path, '?') | (UrlPart::Name | UrlPart::Value, '&') => UrlPart::Name,
                (UrlPart::Path, '/') => UrlPart::Path,
                (UrlPart::Name, '=') => UrlPart::Value,
                (UrlPart::Path | UrlPart::Name | UrlPart::Value, _) => {
                    run.push(c);
                    continue;
                }
            };
            self.flush(&mut run);
            self.open(next);
        }
        self.flush(&mut run);
        Ok(())
    }

    /// Begins the next part.
    fn open(&mut self, part: UrlPart) {
        match part {
            UrlPart::Path => self.segments.push(Template::default()),
            UrlPart::Name => self.query.push(Pair {
                name: String::new(),
                value: None,
                list: ListStyle::Json,
            }),
            UrlPart::Value => {
                if let Some(pair) = self.query.last_mut() {
                    pair.value = Some(Template::default());
                }
            }
            UrlPart::Fragment => {}
        }
        self.part = part;
    }

    fn flush(&mut self, run: &mut String) {
        if run.is_empty() {
            return;
        }
        let run = std::mem::take(run);
        match self.part {
            UrlPart::Path => {
                if let Some(segment) = self.segments.last_mut() {
                    segment.push(Piece::Text(run));
                }
            }
            UrlPart::Name => {
                if let Some(pair) = self.query.last_mut() {
                    pair.name.push_str(&run);
                }
            }
            UrlPart::Value => {
                if let Some(value) = self.query.last_mut().and_then(|pair| pair.value.as_mut()) {
                    value.push(Piece::Text(run));
                }
            }
            UrlPart::Fragment => {}
        }
    }

    fn finish(self) -> Result<(Vec<Template>, Vec<Pair>), String> {
        self.segments.iter().try_for_each(check_segment)?;
        // `?` alone and `a&&b` make pairs of nothing.
        let named = |pair: &Pair| !pair.name.is_empty() || pair.value.is_some();
        let query = self.query.into_iter().filter(named).collect();
        Ok((self.segments, query))
    }
}

/// A segment that a server reads as a step is a mistake when a person writes it, too.
fn check_segment(segment: &Template) -> Result<(), String> {
    if let [Piece::Text(text)] = segment.pieces()
        && is_step(&decoded(text))
    {
        return Err(format!(
            "the path holds the segment {text:?}; write the path that is meant"
        ));
    }
    Ok(())
}
