//! Calls put together from the pieces in which servers send them.

use bonded_kernel::{Failure, ReplyCall};

use super::wire::{CallPart, FunctionPart};
use crate::dialect::ITEMS_MAX;
use crate::failure::malformed;

/// The calls of a reply as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<PartialCall>);

impl Calls {
    pub(super) fn into_calls(self) -> Vec<ReplyCall> {
        self.0.into_iter().map(|part| part.call).collect()
    }

    /// Takes the pieces of one event. The pieces of a `whole` message are calls of their own.
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
            let piece = Piece::read(part, nth > 0, source)?;
            let open = if whole { None } else { self.call_for(&piece) };
            match open {
                Some(call) => call.add(piece),
                None => self.begin(piece, source)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, piece: Piece, source: &[u8]) -> Result<(), Failure> {
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
    fn call_for(&mut self, piece: &Piece) -> Option<&mut PartialCall> {
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
struct Piece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// It is not the first piece in its event.
    later: bool,
}

impl Piece {
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

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    call: ReplyCall,
    braces: Braces,
}

impl PartialCall {
    fn add(&mut self, piece: Piece) {
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
