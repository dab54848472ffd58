//! The messages format of Anthropic, as llama.cpp and some routers speak it too.

mod decode;
mod encode;
mod stream;
mod thinking;
mod turns;
mod wire;

pub use decode::decode;
pub use encode::encode;
pub(super) use encode::render_tools;
pub use stream::Accumulator;
pub(super) use thinking::beta;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
pub(super) const NAME: &str = "messages";
