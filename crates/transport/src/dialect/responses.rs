//! The responses format of OpenAI, as llama.cpp and some routers speak it too. Nothing is stored at the
//! provider: each request carries the whole conversation, with the reasoning encrypted.

mod decode;
mod encode;
mod items;
mod stream;
mod wire;

pub use decode::decode;
pub use encode::encode;
pub(super) use encode::render_tools;
pub use stream::Accumulator;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
const NAME: &str = "responses";
