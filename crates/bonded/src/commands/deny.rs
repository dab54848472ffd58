//! `bonded deny`: a person refuses a call that waits.
//!
//! It goes the same way as an approval. The reason is recorded, and the model reads it in place of an output.

use std::path::Path;
use std::process::ExitCode;

use bonded_kernel::Verdict;

use crate::args::DenyArgs;
use crate::commands::approve;
use crate::error::CliError;

pub(crate) async fn deny(args: &DenyArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let reason = args.reason.as_str().into();
    approve::judge(&args.verdict, Verdict::Denied { reason }, store).await
}
