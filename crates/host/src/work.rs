//! Work items on a file system: who may work on a tree, how changes reach it whole or not at all, and the key
//! that receipts are signed with. The rules are the kernel's.

pub mod files;
pub mod key;
pub mod lock;
pub mod publish;
