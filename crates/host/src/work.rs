//! Work items: changes to a tree that fully happen, tested and proven by a receipt, or not at all. The rules are the
//! kernel's; here are file systems, git, processes and keys.

pub mod files;
pub mod key;
pub mod lock;
mod plan_file;
pub mod publish;
mod recorded;
pub mod tree;

pub use plan_file::{BadPlanText, PLAN_BYTES_MAX, line_of, parse_plan};
pub use recorded::Recorded;
