//! From a reply, which nothing vouches for, to a decision, which is checked.

mod native;

pub(crate) use native::decode;
