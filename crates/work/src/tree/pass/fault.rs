//! Why a pass came to nothing.

use std::path::PathBuf;

use crate::tree::error::TreeError;

/// Why a pass came to nothing.
#[derive(Debug)]
pub(in crate::tree) enum PassFault {
    /// The tree changed under it. Another pass may go better.
    Changed(PathBuf),
    Refused(TreeError),
}
