//! Where things of ours are kept on this machine.
//!
//! The platform says where data and configuration of a person belong; without a home there is no such place, and
//! each caller says what that means to it. What is secret here must be among the hidden paths of `agents`. The
//! paths are only named: who uses one makes it.

use std::path::PathBuf;

use etcetera::BaseStrategy as _;

/// Where everything of ours is kept, unless somebody names another place.
fn data_dir() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.data_dir().join("bonded"))
}

/// Where logins to tool servers are kept, whichever store is used.
pub(crate) fn token_dir() -> Option<PathBuf> {
    Some(data_dir()?.join("tokens"))
}

/// Where commands and servers have their homes.
pub(crate) fn homes_dir() -> Option<PathBuf> {
    Some(data_dir()?.join("homes"))
}

/// Where the token of a server is that was given none.
pub(crate) fn serve_token_file() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.data_dir().join("bonded").join("serve-token"))
}

/// Where it is noted which trees are worked on, whichever store is used.
pub(crate) fn locks_dir() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.data_dir().join("bonded").join("locks"))
}

/// Where it is noted which data directories the person has.
pub(crate) fn workspaces_file() -> Option<PathBuf> {
    Some(data_dir()?.join("workspaces.json"))
}

/// Where what the person trusts is recorded; `None` where there is no home.
pub(crate) fn config_dir() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("bonded")).filter(|dir| dir.is_absolute())
}
