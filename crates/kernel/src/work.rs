//! Work items: a tree as it was and as it is, what changed between the two, and what follows from that.

mod change;
mod path;
mod tree;

pub use change::{Change, Clash};
pub use path::{BadTreePath, TreePath};
pub use tree::{Child, Directory, Node, Special, Tree};
