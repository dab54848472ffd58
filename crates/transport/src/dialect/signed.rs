//! A reply as its provider wants it back: its blocks in their order.
//!
//! A run keeps them as `{"provider": …, "model": …, "dialect": …, "items": […]}`. What only the provider can read stands there as
//! it wrote it. Text and calls are kept by the run itself, which may mask or drop them, so that a placeholder stands for
//! each: `{"text_bytes": N}` for the next bytes of the text, `{"call": ID}` for the call that the provider gave this id,
//! both with what else the provider wants back with them. Where there are none, the text and then the calls follow.

mod calls;

use bonded_kernel::{MessageCall, Target, Text};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use calls::{CallHolder, found_calls};

/// A placeholder is known by how it begins; it is assumed that no block of a provider begins so.
const TEXT_BEGINS: &str = "{\"text_bytes\":";
const CALL_BEGINS: &str = "{\"call\":";

#[derive(Deserialize)]
struct Signed<'a> {
    /// Absent in older logs, as is the model.
    provider: Option<String>,
    model: Option<String>,
    dialect: &'a str,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// The items that this dialect wrote for this provider and model. Those of another one mean nothing here, or are refused;
/// but whoever runs a model of Anthropic reads what the same model signed elsewhere.
pub(super) fn items<'a>(
    dialect: &str,
    target: &Target,
    signed: Option<&'a Text>,
) -> Vec<&'a RawValue> {
    let read = signed.and_then(|text| serde_json::from_str::<Signed<'a>>(text).ok());
    let is_anybodys = super::of(target.dialect).reads_signed_elsewhere;
    let own = read.filter(|signed| {
        let is = |known: &Option<String>, name: &str| known.as_ref().is_none_or(|it| it == name);
        signed.dialect == dialect
            && (is_anybodys || is(&signed.provider, &target.provider))
            && is(&signed.model, &target.model)
    });
    own.map(|signed| signed.items).unwrap_or_default()
}

/// Adds the names of the provider and of the model that want the items back.
pub(crate) fn stamp(signed: &mut String, provider: &str, model: &str) {
    let quoted = |name| serde_json::to_string(name).expect("a text is JSON");
    let (provider, model) = (quoted(provider), quoted(model));
    if let Some(rest) = signed.strip_prefix('{') {
        *signed = format!("{{\"provider\":{provider},\"model\":{model},{rest}");
    }
}

/// Items of which each goes back as it is; `None` where there are none.
pub(super) fn write<T: Serialize>(dialect: &str, items: &[T]) -> Option<String> {
    let mut kept = Kept::default();
    items.iter().for_each(|item| kept.raw(item));
    kept.finish(dialect)
}

/// The blocks of a reply as they come. What stands in the usual order, which is also what is read without placeholders,
/// is kept without them.
#[derive(Debug, Default)]
pub(super) struct Kept {
    items: String,
    /// How much of the items stands before every text and call.
    raw_bytes: usize,
    last: Rank,
    is_unusual: bool,
}

/// The usual order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    #[default]
    Raw,
    Text,
    Call,
}

#[derive(Serialize)]
struct Holder<P, M> {
    #[serde(flatten)]
    place: P,
    #[serde(flatten)]
    mark: Option<M>,
}

#[derive(Serialize, Deserialize)]
struct TextHolder {
    text_bytes: usize,
}

impl Kept {
    /// A block that goes back as it is.
    pub(super) fn raw(&mut self, item: &impl Serialize) {
        self.is_unusual |= self.last > Rank::Raw;
        self.push(item);
        if self.last == Rank::Raw {
            self.raw_bytes = self.items.len();
        }
    }

    /// The next bytes of the text, with what the provider wants back with them.
    pub(super) fn text(&mut self, text_bytes: usize, mark: Option<impl Serialize>) {
        self.is_unusual |= self.last > Rank::Raw || mark.is_some();
        self.last = self.last.max(Rank::Text);
        let place = TextHolder { text_bytes };
        self.push(&Holder { place, mark });
    }

    /// A call as the reply names it, with what the provider wants back with it.
    pub(super) fn call(&mut self, id: &str, tool: &str, mark: Option<impl Serialize>) {
        self.is_unusual |= mark.is_some();
        self.last = Rank::Call;
        let place = CallHolder::new(id, tool);
        self.push(&Holder { place, mark });
    }

    /// Items are joined as text, since they are never looked into again here.
    fn push(&mut self, item: &impl Serialize) {
        let item = serde_json::to_string(item).expect("items have string keys and no odd numbers");
        if !self.items.is_empty() {
            self.items.push(',');
        }
        self.items.push_str(&item);
    }

    /// The items as [`Reply::signed`](bonded_kernel::Reply::signed) has them; `None` where nothing has to be kept.
    pub(super) fn finish(mut self, dialect: &str) -> Option<String> {
        if !self.is_unusual {
            self.items.truncate(self.raw_bytes);
        }
        let items = self.items;
        (!items.is_empty()).then(|| format!("{{\"dialect\":\"{dialect}\",\"items\":[{items}]}}"))
    }
}

/// Whether a reply began with a block that goes back as it is.
pub(super) fn begin_raw(items: &[&RawValue]) -> bool {
    items.first().is_some_and(|item| {
        let item = item.get();
        !item.starts_with(TEXT_BEGINS) && !item.starts_with(CALL_BEGINS)
    })
}

/// A block of a reply on its way back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Block<'a> {
    /// As the provider wrote it.
    Raw(&'a RawValue),
    /// May be empty, where a mark stands by itself.
    Text {
        text: &'a str,
        mark: Option<&'a RawValue>,
    },
    Call {
        call: &'a MessageCall,
        mark: Option<&'a RawValue>,
    },
}

/// The blocks of a reply in the order in which its provider wants them back. A mark is a whole placeholder.
pub(super) fn layout<'a>(
    items: &[&'a RawValue],
    text: &'a str,
    calls: &'a [MessageCall],
) -> Vec<Block<'a>> {
    let is_call = |item: &&&RawValue| item.get().starts_with(CALL_BEGINS);
    let mut found = found_calls(items.iter().filter(is_call), calls);
    let mut texts = Texts::of(items, text);
    let mut blocks = Vec::with_capacity(items.len() + 1 + calls.len());
    for item in items {
        let mark = Some(*item);
        if item.get().starts_with(TEXT_BEGINS) {
            let text = texts.take(text_bytes(item).unwrap_or(0));
            blocks.push(Block::Text { text, mark });
        } else if item.get().starts_with(CALL_BEGINS) {
            let call = found.next().flatten();
            blocks.extend(call.map(|call| Block::Call { call, mark }));
        } else {
            blocks.push(Block::Raw(item));
        }
    }
    if !texts.rest.is_empty() {
        let is_call = |block: &Block<'_>| matches!(block, Block::Call { .. });
        let at = blocks.iter().position(is_call).unwrap_or(blocks.len());
        let (text, mark) = (texts.rest, None);
        blocks.insert(at, Block::Text { text, mark });
    }
    let rest = found.rest();
    blocks.extend(rest.map(|call| Block::Call { call, mark: None }));
    blocks
}

fn text_bytes(item: &RawValue) -> Option<usize> {
    let holder: TextHolder = serde_json::from_str(item.get()).ok()?;
    Some(holder.text_bytes)
}

/// The text as it is cut into blocks. One that was changed since stands whole in the first.
///
/// Cutting a text that was masked since at the old places would tear it apart, or cut a character in two.
struct Texts<'a> {
    rest: &'a str,
    is_changed: bool,
}

impl<'a> Texts<'a> {
    fn of(items: &[&RawValue], text: &'a str) -> Self {
        let texts = items
            .iter()
            .filter(|item| item.get().starts_with(TEXT_BEGINS));
        let mut end = Some(0_usize);
        for item in texts {
            let bytes = text_bytes(item).unwrap_or(0);
            end = end.and_then(|end| end.checked_add(bytes));
            end = end.filter(|end| text.is_char_boundary(*end));
        }
        Self {
            rest: text,
            is_changed: end != Some(text.len()),
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let at = if self.is_changed {
            self.rest.len()
        } else {
            bytes
        };
        let (taken, rest) = self.rest.split_at(at);
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests;
