//! What begins at a `<`, and where an element ends. Nothing here looks at a byte more often than a few times.

/// Longer names are no names of ours; they are cut where they are told.
const NAME_BYTES_MAX: usize = 64;

/// What stands at a `<`. Ends are places in the text, just behind the markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup<'a> {
    Open(OpeningTag<'a>),
    Close {
        name: &'a str,
        end: usize,
    },
    /// The beginning of a tag that has no `>` before the next `<`.
    Broken {
        name: &'a str,
    },
    Comment {
        end: usize,
    },
    CharacterData {
        end: usize,
    },
    Processing {
        end: usize,
    },
    /// A comment, character data or a processing instruction without its end.
    Endless,
    /// A document type, an entity or another declaration.
    Declaration,
    /// Just a `<`.
    Plain,
}

/// An opening tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpeningTag<'a> {
    pub(super) name: &'a str,
    pub(super) end: usize,
    pub(super) has_attribute: bool,
    /// Whether it is an element by itself.
    pub(super) is_closed: bool,
}

const CHARACTER_DATA: &str = "<![CDATA[";
const CHARACTER_DATA_END: &str = "]]>";

/// Says what begins at the `<` at this place.
pub(super) fn markup_at(text: &str, at: usize) -> Markup<'_> {
    let rest = &text[at..];
    let delimited = |begin: &str, end: &str| {
        let from = at + begin.len();
        let found = text[from..].find(end);
        found.map(|offset| from + offset + end.len())
    };
    if rest.starts_with("<!--") {
        let end = delimited("<!--", "-->");
        return end.map_or(Markup::Endless, |end| Markup::Comment { end });
    }
    if rest.starts_with(CHARACTER_DATA) {
        let end = delimited(CHARACTER_DATA, CHARACTER_DATA_END);
        return end.map_or(Markup::Endless, |end| Markup::CharacterData { end });
    }
    if rest.starts_with("<?") {
        let end = delimited("<?", "?>");
        return end.map_or(Markup::Endless, |end| Markup::Processing { end });
    }
    if let Some(after) = rest.strip_prefix("<!") {
        let is_declared = after.starts_with(|c: char| c.is_ascii_alphabetic());
        return match is_declared {
            true => Markup::Declaration,
            false => Markup::Plain,
        };
    }
    match rest.strip_prefix("</") {
        Some(after) => closing(after, at + 2),
        None => opening(&rest[1..], at + 1),
    }
}

fn closing(after: &str, at: usize) -> Markup<'_> {
    let name = name_at(after);
    let behind = &after[name.len()..];
    let blanks = behind.len() - behind.trim_ascii_start().len();
    match behind[blanks..].starts_with('>') && !name.is_empty() {
        true => Markup::Close {
            name,
            end: at + name.len() + blanks + 1,
        },
        false => Markup::Plain,
    }
}

fn opening(after: &str, at: usize) -> Markup<'_> {
    let name = name_at(after);
    if name.is_empty() {
        return Markup::Plain;
    }
    let behind = &after[name.len()..];
    let Some(offset) = behind.find(['<', '>']) else {
        return Markup::Broken { name };
    };
    if behind[offset..].starts_with('<') {
        return Markup::Broken { name };
    }
    let inside = &behind[..offset];
    let unclosed = inside.strip_suffix('/');
    Markup::Open(OpeningTag {
        name,
        end: at + name.len() + offset + 1,
        has_attribute: !unclosed.unwrap_or(inside).trim_ascii().is_empty(),
        is_closed: unclosed.is_some(),
    })
}

fn name_at(text: &str) -> &str {
    let begins = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let goes_on = |b: u8| begins(b) || b.is_ascii_digit() || b"-.:".contains(&b);
    let bytes = text.as_bytes();
    if !bytes.first().copied().is_some_and(begins) {
        return "";
    }
    let length = bytes.iter().position(|&b| !goes_on(b));
    &text[..length.unwrap_or(bytes.len())]
}

/// A name as it may be told.
pub(super) fn short(name: &str) -> String {
    // Names are ASCII.
    name.get(..NAME_BYTES_MAX).unwrap_or(name).to_owned()
}

/// Where the element that was opened before `from` ends: its content's end, and the place behind its closing
/// tag. Elements of the same name inside it are counted; character data holds no tags.
pub(super) fn end_of_element(text: &str, from: usize, name: &str) -> Option<(usize, usize)> {
    let mut open = 1u64;
    let mut at = from;
    while let Some(offset) = text[at..].find('<') {
        let place = at + offset;
        at = place + 1;
        if text[place..].starts_with(CHARACTER_DATA) {
            let found = text[place..].find(CHARACTER_DATA_END)?;
            at = place + found + CHARACTER_DATA_END.len();
            continue;
        }
        let after = &text[at..];
        let closes = after.starts_with('/');
        if name_at(&after[usize::from(closes)..]) != name {
            continue;
        }
        match markup_at(text, place) {
            Markup::Open(inner) if !inner.is_closed => open += 1,
            Markup::Close { end, .. } => {
                open -= 1;
                if open == 0 {
                    return Some((place, end));
                }
            }
            Markup::Open(_)
            | Markup::Broken { .. }
            | Markup::Comment { .. }
            | Markup::CharacterData { .. }
            | Markup::Processing { .. }
            | Markup::Endless
            | Markup::Declaration
            | Markup::Plain => {}
        }
    }
    None
}

/// The text of an element's content: character data unwrapped, the five entities decoded once, line ends as one
/// character, nothing blank around it.
pub(super) fn value_of(content: &str) -> String {
    let mut value = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(begin) = rest.find(CHARACTER_DATA) {
        let (before, data) = (&rest[..begin], &rest[begin + CHARACTER_DATA.len()..]);
        push_decoded(&mut value, before);
        let end = data.find(CHARACTER_DATA_END);
        value.push_str(&data[..end.unwrap_or(data.len())]);
        rest = end.map_or("", |end| &data[end + CHARACTER_DATA_END.len()..]);
    }
    push_decoded(&mut value, rest);
    value.replace("\r\n", "\n").trim().to_owned()
}

fn push_decoded(value: &mut String, mut text: &str) {
    const ENTITIES: [(&str, char); 5] = [
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&amp;", '&'),
        ("&quot;", '"'),
        ("&apos;", '\''),
    ];
    while let Some(at) = text.find('&') {
        value.push_str(&text[..at]);
        let rest = &text[at..];
        let known = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
        let (length, meant) = known.map_or((1, '&'), |(entity, meant)| (entity.len(), *meant));
        value.push(meant);
        text = &rest[length..];
    }
    value.push_str(text);
}
