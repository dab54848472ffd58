//! The chat completions format, as OpenAI, OpenRouter, LM Studio, Ollama, vLLM and llama.cpp speak it.
//!
//! [`encode`] writes a request. [`decode`] reads a whole reply; [`read_events`] reads a streamed one and
//! gives its events to an [`Accumulator`]. A failure from here says what the server said; which server
//! that was, and how long it took, is added by whoever sent the request.

mod decode;
mod encode;
mod stream;
mod wire;

pub use decode::{Accumulator, decode};
pub use encode::{ToolsCache, encode, encode_with_tools};
pub use stream::read_events;
