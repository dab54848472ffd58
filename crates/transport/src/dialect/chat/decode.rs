//! Pieces of a reply put together. A whole reply is a stream of one piece.

use bonded_kernel::{Failure, FailureClass, Finish, Reply, ReplyCall, Usage};

use super::wire::{
    CallPart, Choice, Chunk, Content, FunctionPart, Said, finish_of, real_error, usage_of,
};
use crate::failure::{ServerError, failed, malformed};

/// More calls than any reply holds; it bounds the search for the call that a piece belongs to.
const CALLS_MAX: usize = 1024;

const DONE_MARK: &str = "[DONE]";

/// Reads a whole reply. An error that came with a good status is a failure too.
pub fn decode(body: &[u8]) -> Result<Reply, Failure> {
    let chunk: Chunk = serde_json::from_slice(body).map_err(|error| {
        malformed(
            &format!("the reply is not a chat completion ({error})"),
            body,
        )
    })?;
    let mut reply = Accumulator::default();
    reply.take(chunk, body)?;
    if !reply.spoke {
        return Err(malformed("the reply holds no message", body));
    }
    reply.ended = true;
    reply.finish()
}

/// Puts a streamed reply together: [`push`](Self::push) each event's data, then
/// [`finish`](Self::finish).
#[derive(Debug, Default)]
pub struct Accumulator {
    text: String,
    reasoning: String,
    refusal: String,
    calls: Vec<PartialCall>,
    usage: Option<Usage>,
    finish: Option<Finish>,
    model: Option<String>,
    id: Option<String>,
    /// A choice with something in it has come.
    spoke: bool,
    /// The server said that nothing follows.
    ended: bool,
}

impl Accumulator {
    /// Takes the data of one event.
    pub fn push(&mut self, data: &str) -> Result<(), Failure> {
        let data = data.trim();
        if data.is_empty() || self.ended {
            return Ok(());
        }
        if data == DONE_MARK {
            self.ended = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            let why = format!("an event of the stream is not a chat completion chunk ({error})");
            malformed(&why, data.as_bytes())
        })?;
        self.take(chunk, data.as_bytes())
    }

    /// Takes the data of an event that the server called an error.
    pub fn push_error(&mut self, data: &str) -> Failure {
        ServerError::from_body(data.as_bytes()).into_failure(self.spoke)
    }

    /// Whether the reason why the model stopped is known, so that only trimmings can be missing.
    pub fn has_reason(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether the server has said that nothing follows.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The reply, if the stream came to its proper end.
    pub fn finish(self) -> Result<Reply, Failure> {
        if !self.ended && self.finish.is_none() {
            let message = "the connection was cut before the reply ended";
            return Err(failed(FailureClass::Network, message, true));
        }
        if !self.spoke {
            return Err(malformed("the stream ended without a message", b"[DONE]"));
        }
        let refused = self.text.is_empty() && self.calls.is_empty();
        Ok(Reply {
            text: if refused { self.refusal } else { self.text },
            reasoning: self.reasoning,
            calls: self.calls.into_iter().map(|part| part.call).collect(),
            usage: self.usage,
            finish: self.finish.unwrap_or_default(),
            model: self.model,
            request_id: self.id,
            latency_ms: 0,
        })
    }

    fn take(&mut self, chunk: Chunk, source: &[u8]) -> Result<(), Failure> {
        if let Some(error) = real_error(chunk.error) {
            return Err(ServerError::from_value(&error).into_failure(self.spoke));
        }
        if chunk.object.as_deref() == Some("error") {
            return Err(ServerError::from_body(source).into_failure(self.spoke));
        }
        let filled = |text: &String| !text.is_empty();
        self.model = self.model.take().or(chunk.model).filter(filled);
        self.id = self.id.take().or(chunk.id).filter(filled);
        if let Some(usage) = chunk.usage.as_ref().and_then(usage_of) {
            self.usage = Some(usage);
        }
        // One choice was asked for; a server that sends more is heard only once.
        let mut choices = chunk.choices.into_iter().flatten();
        match choices.find(|choice| choice.index.unwrap_or(0) == 0) {
            Some(choice) => self.take_choice(choice, source),
            None => Ok(()),
        }
    }

    fn take_choice(&mut self, choice: Choice, source: &[u8]) -> Result<(), Failure> {
        if let Some(error) = real_error(choice.error) {
            return Err(ServerError::from_value(&error).into_failure(self.spoke));
        }
        match (choice.delta, choice.message) {
            (Some(delta), _) => self.take_said(delta, false, source)?,
            // A complete message after pieces of it would say everything twice.
            (None, Some(message)) if !self.spoke => self.take_said(message, true, source)?,
            _ => {}
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("error") => {
                let message =
                    "the provider broke the reply off with an error that it does not name";
                return Err(failed(FailureClass::Model, message, true));
            }
            Some(reason) => self.finish = Some(finish_of(reason)),
        }
        Ok(())
    }

    fn take_said(&mut self, said: Said, whole: bool, source: &[u8]) -> Result<(), Failure> {
        self.spoke = true;
        if let Some(content) = said.content {
            let text = content.text();
            let why = "the content of the reply is neither text nor a list of parts";
            self.text
                .push_str(&text.ok_or_else(|| malformed(why, source))?);
        }
        let thought = said.reasoning_content.and_then(Content::text);
        let thought = thought.filter(|text| !text.is_empty());
        let thought = thought.or(said.reasoning.and_then(Content::text));
        self.reasoning.push_str(&thought.unwrap_or_default());
        let refusal = said.refusal.and_then(Content::text);
        self.refusal.push_str(&refusal.unwrap_or_default());

        let legacy = said.function_call.map(|function| CallPart {
            index: Some(0),
            id: None,
            function: Some(function),
        });
        let parts = said.tool_calls.into_iter().flatten();
        for (nth, part) in parts.chain(legacy).enumerate() {
            self.take_call(part, whole, nth > 0, source)?;
        }
        Ok(())
    }

    fn take_call(
        &mut self,
        part: CallPart,
        whole: bool,
        later: bool,
        source: &[u8],
    ) -> Result<(), Failure> {
        let function: FunctionPart = part.function.unwrap_or_default();
        let arguments = function.arguments().map_err(|error| {
            malformed(
                &format!("the arguments of a call are unreadable ({error})"),
                source,
            )
        })?;
        let piece = Piece {
            index: part.index,
            id: part.id.unwrap_or_default(),
            name: function.name.unwrap_or_default(),
            arguments,
            later,
        };
        let open = if whole { None } else { self.call_for(&piece) };
        if let Some(call) = open {
            call.add(piece);
            return Ok(());
        }
        if self.calls.len() == CALLS_MAX {
            let why = format!("the reply holds more than {CALLS_MAX} calls");
            return Err(malformed(&why, source));
        }
        let mut call = PartialCall {
            index: piece.index,
            ..PartialCall::default()
        };
        call.add(piece);
        self.calls.push(call);
        Ok(())
    }

    /// The call that a piece continues, or `None` if it begins one.
    fn call_for(&mut self, piece: &Piece) -> Option<&mut PartialCall> {
        let mut backwards = self.calls.iter_mut().rev();
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
    /// Whether this piece begins a new call although it might continue `call`. Only a piece with a name
    /// can begin one: some servers draw a new id for every piece, and some repeat the name.
    fn begins_after(&self, call: &PartialCall) -> bool {
        let known = &call.call;
        let other_id = !self.id.is_empty() && !known.id.is_empty() && self.id != known.id;
        let same_id = !self.id.is_empty() && self.id == known.id;
        let other_name = !known.tool.is_empty() && self.name != known.tool;
        let complete = call.braces.closed && !self.arguments.is_empty();
        // Pieces that come together without an index are calls of their own.
        let beside = self.later && self.index.is_none();
        !self.name.is_empty() && !same_id && (other_id || other_name || complete || beside)
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
        if self.call.tool.is_empty() {
            self.call.tool = piece.name;
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
