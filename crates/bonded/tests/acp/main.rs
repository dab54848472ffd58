//! An editor before the real program: the protocol's official library, and one that sends what no library would.

use bonded_testkit::{done, installed, place};

mod editor;
mod hostile;
mod official;
mod permissions;
mod sessions;
