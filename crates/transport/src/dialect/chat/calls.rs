//! Calls put together from the pieces in which servers send them.
//!
//! By the format, each piece names the index of its call, and the first one brings the id and the name. Servers
//! leave out the index, repeat the name, give each piece an id of its own, use one index for all calls, or send
//! all at once. The rules here take each of these for what it means, and where a piece could be either, it
//! continues the call that is open.

use bonded_kernel::{Failure, ReplyCall};

use super::wire::{CallPart, FunctionPart};
use crate::Writing;
use crate::dialect::ITEMS_MAX;
use crate::failure::malformed;

/// The calls of a reply as far as they have come.
#[derive(Debug, Default)]
pub(super) struct CallPieces(Vec<PartialCall>);

impl CallPieces {
    /// In the order in which they began.
    pub(super) fn into_calls(self) -> Vec<ReplyCall> {
        self.0.into_iter().map(|part| part.call).collect()
    }

    /// The call that began last.
    pub(super) fn writing(&self) -> Option<Writing<'_>> {
        self.0.last().map(|part| Writing::Call {
            tool: &part.call.tool,
            bytes: part.call.arguments.len(),
        })
    }

    /// Takes the pieces of one event. The pieces of a `whole` message are calls of their own.
    ///
    /// `legacy` is the one call of the older format, which has neither an index nor an id. `source` is only
    /// quoted in failures.
    pub(super) fn take(
        &mut self,
        parts: impl Iterator<Item = CallPart>,
        legacy: Option<FunctionPart>,
        whole: bool,
        source: &[u8],
    ) -> Result<(), Failure> {
        let legacy = legacy.map(|function| CallPart {
            index: Some(0),
            id: None,
            function: Some(function),
        });
        for (nth, part) in parts.chain(legacy).enumerate() {
            let piece = CallPiece::read(part, nth > 0, source)?;
            let open = if whole { None } else { self.call_for(&piece) };
            match open {
                Some(call) => call.add(piece),
                None => self.begin(piece, source)?,
            }
        }
        Ok(())
    }

    /// A reply with more calls than any has is given up: the search for the call of a piece would cost the
    /// square of their number.
    fn begin(&mut self, piece: CallPiece, source: &[u8]) -> Result<(), Failure> {
        if self.0.len() == ITEMS_MAX {
            let why = format!("the reply holds more than {ITEMS_MAX} calls");
            return Err(malformed(&why, source));
        }
        let mut call = PartialCall {
            index: piece.index,
            ..PartialCall::default()
        };
        call.add(piece);
        self.0.push(call);
        Ok(())
    }

    /// The call that a piece continues, or `None` if it begins one.
    ///
    /// The last call with the index counts, because servers that use one index for all begin the next under the
    /// same. A piece without an index belongs to the call with its id or else to the last one.
    fn call_for(&mut self, piece: &CallPiece) -> Option<&mut PartialCall> {
        let mut backwards = self.0.iter_mut().rev();
        match piece.index {
            Some(index) => backwards
                .find(|call| call.index == Some(index))
                .filter(|call| !piece.begins_after(call)),
            None if !piece.id.is_empty() => backwards.find(|call| call.call.id == piece.id),
            None => backwards.next().filter(|call| !piece.begins_after(call)),
        }
    }
}

/// A piece of a call, as one event carries it.
struct CallPiece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// It is not the first piece in its event.
    later: bool,
}

impl CallPiece {
    /// Arguments that are an object instead of a text are taken as they are written.
    fn read(part: CallPart, later: bool, source: &[u8]) -> Result<Self, Failure> {
        let function: FunctionPart = part.function.unwrap_or_default();
        let arguments = function.arguments().map_err(|error| {
            let why = format!("the arguments of a call are unreadable ({error})");
            malformed(&why, source)
        })?;
        Ok(Self {
            index: part.index,
            id: part.id.unwrap_or_default(),
            name: function.name.unwrap_or_default(),
            arguments,
            later,
        })
    }

    /// Whether this piece begins a new call although it might continue `call`. Only a piece with a name
    /// can begin one: some servers draw a new id for every piece, and some repeat the name.
    fn begins_after(&self, call: &PartialCall) -> bool {
        let known = &call.call;
        let other_id = !self.id.is_empty() && !known.id.is_empty() && self.id != known.id;
        let same_id = !self.id.is_empty() && self.id == known.id;
        let other_name =
            !known.tool.is_empty() && self.name != known.tool && !self.goes_on_with_name(call);
        let complete = call.braces.closed && !self.arguments.is_empty();
        // Pieces that come together without an index are calls of their own.
        let beside = self.later && self.index.is_none();
        !self.name.is_empty() && !same_id && (other_id || other_name || complete || beside)
    }

    /// Whether the name of `call` goes on here: its id came with the first piece, and its arguments have not begun.
    fn goes_on_with_name(&self, call: &PartialCall) -> bool {
        let known = &call.call;
        let is_named = self.index.is_some() && self.id.is_empty() && !known.id.is_empty();
        is_named && known.arguments.is_empty()
    }
}

/// `index` is that of its first piece and never changes.
#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    call: ReplyCall,
    braces: Braces,
}

impl PartialCall {
    /// The first id stays. A name grows only until the arguments begin: by then it is whole.
    fn add(&mut self, piece: CallPiece) {
        if self.call.id.is_empty() {
            self.call.id = piece.id;
        }
        // Some servers repeat the name with every piece.
        if self.call.arguments.is_empty() && piece.name != self.call.tool {
            self.call.tool.push_str(&piece.name);
        }
        self.braces.read(&piece.arguments);
        self.call.arguments.push_str(&piece.arguments);
    }
}

/// Follows the braces of arguments that come in pieces, to see when the object is complete.
///
/// Nothing but braces outside of texts is looked at, so that arguments that are no JSON do not matter: it then
/// says nothing reliable, and the other signs decide.
#[derive(Debug, Default)]
struct Braces {
    depth: usize,
    in_text: bool,
    escaped: bool,
    closed: bool,
}

impl Braces {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                b'{' if !self.in_text => self.depth += 1,
                b'}' if !self.in_text => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}
