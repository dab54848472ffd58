//! What people prove themselves with: tokens, sessions, invitations. Of each only a hash is kept, and only somebody who is
//! active proves anything.
//! Whoever reads the file, or a backup of it, has nothing to come in with. A token or a session is named by a part of
//! its hash where it has to be listed or revoked.

mod passwords;
mod proof_id;
mod revocation;
mod sessions;
mod tokens;

pub use proof_id::proof_id;
pub(super) use revocation::{end_sessions, revoke_all};
pub use sessions::{ListedSession, LoginSession};
pub use tokens::ListedToken;
pub(super) use tokens::{OWNER_TOKEN, insert_token, retire_owner_tokens};
