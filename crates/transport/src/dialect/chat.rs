//! The chat completions format, as OpenAI, OpenRouter, LM Studio, Ollama, vLLM and llama.cpp speak it.

mod calls;
mod decode;
mod details;
mod encode;
mod harmony;
mod knobs;
mod messages;
mod stream;
mod think;
mod wire;

pub use decode::decode;
pub use encode::encode;
pub(super) use encode::render_tools;
pub use stream::Accumulator;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
const NAME: &str = "chat";
