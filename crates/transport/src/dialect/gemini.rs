//! The generateContent format of Google.

mod contents;
mod decode;
mod encode;
mod stream;
mod wire;

pub use decode::decode;
pub use encode::encode;
pub(super) use encode::render_tools;
pub use stream::Accumulator;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
const NAME: &str = "gemini";
