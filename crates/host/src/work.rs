//! Work items: changes to a tree that fully happen, tested and proven by a receipt, or not at all.

mod plan_file;
mod recorded;
pub mod tree;

pub use plan_file::{BadPlanText, PLAN_BYTES_MAX, line_of, parse_plan};
pub use recorded::Recorded;
