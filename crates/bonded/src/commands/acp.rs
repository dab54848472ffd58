//! `bonded acp`: an editor is the surface.
//!
//! stdout belongs to the protocol: nothing else may be written there, and all words go to stderr. The editor's end is the
//! end of the process, which lets go of the runs under way; they can be loaded again.

use std::path::Path;
use std::process::ExitCode;

use crate::acp::{self, SessionSettings, Sessions};
use crate::args::AcpArgs;
use crate::error::{CliError, Code};
use crate::signals::{self, Stopping, let_go_on_signal};
use crate::{settings, stderr_writer};

const STOPPING: Stopping = Stopping {
    message: "interrupting the active runs; press Ctrl-C again to stop now",
    exit_code: 1,
};

/// Whether there is a model is found out with the first session: its directory has a say in that.
pub(crate) async fn acp(args: &AcpArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    refuse_trust(args)?;
    stderr_writer::begin();
    let store_file = settings::store_path(store)?;
    let store = settings::open_store(store)?;
    let settings = SessionSettings {
        args: args.clone(),
        store,
        store_file: store_file.canonicalize().unwrap_or(store_file),
    };
    let stop = let_go_on_signal(STOPPING);
    acp::talk(Sessions::new(settings), &stop, signals::let_go).await;
    Ok(ExitCode::SUCCESS)
}

/// Sessions of one process follow each other, and an agent may have written what a later one finds.
fn refuse_trust(args: &AcpArgs) -> Result<(), CliError> {
    match args.agent.trust {
        false => Ok(()),
        true => {
            let message = "--trust cannot be given here: it would count for whatever an earlier session wrote";
            let hint = "trust the directory by name: bonded trust DIR";
            Err(CliError::new(Code::Usage, message).hint(hint))
        }
    }
}
