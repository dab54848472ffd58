//! Who asks, looked at in the transaction of what they want: what a request came with may have been taken away since.
//!
//! Between the check of a request and its write lies time: a body is read, a password is hashed, a queue is waited for.
//! Whoever lost their token, their session or their account meanwhile must not change anything, so the same proof is
//! looked up again in the transaction.

use super::connection::Connection;
use bonded_kernel::{Hash, UserId};
use bonded_workspace_rules::{Actor, Refused};

use super::error::StoreFault;
use super::people::{USER, User, user};
use super::rows;

/// What somebody has shown to say who they are; only its hash is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A token that was made for somebody.
    Token(Hash),
    /// Its end is for whoever lets it in to look at: what was good then is, unless it was ended, good a moment later.
    Session(Hash),
}

/// On whose word something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Whoever has the files.
    Keeper,
    /// Somebody who asks from elsewhere.
    Asker(Proof),
}

impl Proof {
    /// A token, which is kept as its hash.
    pub fn token(token: &str) -> Self {
        Self::Token(Hash::of(token.as_bytes()))
    }

    /// A session's token, which is kept as its hash.
    pub fn session(session_token: &str) -> Self {
        Self::Session(Hash::of(session_token.as_bytes()))
    }

    /// Whose it is. What was revoked, or belongs to somebody who is kept out, is nobody's.
    fn holder(&self, connection: Connection<'_>) -> Result<User, StoreFault> {
        let (of, hash, refused) = match self {
            Self::Token(hash) => (
                "JOIN token ON token.user = user.id WHERE hash = ?1 AND revoked_at IS NULL",
                hash,
                Refused::TokenUnknown,
            ),
            Self::Session(hash) => (
                "JOIN session ON session.user = user.id WHERE hash = ?1",
                hash,
                Refused::SessionOver,
            ),
        };
        let sql = format!("{USER} {of} AND state = 'active'");
        let found = rows::one(connection, &sql, [hash.as_bytes()], user)?;
        found.ok_or_else(|| refused.into())
    }
}

impl By {
    /// Who asks; nobody does where it is the keeper.
    fn asker(self, connection: Connection<'_>) -> Result<Option<User>, StoreFault> {
        match self {
            Self::Keeper => Ok(None),
            Self::Asker(proof) => proof.holder(connection).map(Some),
        }
    }

    /// Lets only the owner of the installation go on.
    pub(super) fn check_owner(self, connection: Connection<'_>) -> Result<(), StoreFault> {
        self.check(connection, |asker| asker.is_owner)
    }

    /// Lets somebody go on who looks after themselves, or the owner.
    pub(super) fn check_looks_after(
        self,
        connection: Connection<'_>,
        user_id: UserId,
    ) -> Result<(), StoreFault> {
        self.check(connection, |asker| {
            asker.is_owner || asker.user_id == user_id
        })
    }

    /// Lets only the person themselves go on.
    pub(super) fn check_is(
        self,
        connection: Connection<'_>,
        user_id: UserId,
    ) -> Result<(), StoreFault> {
        self.check(connection, |asker| asker.user_id == user_id)
    }

    /// Lets go on whoever acts in their own name.
    pub(super) fn check_actor(
        self,
        connection: Connection<'_>,
        actor: &Actor,
    ) -> Result<(), StoreFault> {
        self.check(connection, |asker| {
            *actor
                == Actor::User {
                    user_id: asker.user_id,
                }
        })
    }

    /// The keeper may all. Whoever asks and may not is refused in the same words, whatever was missing.
    fn check(
        self,
        connection: Connection<'_>,
        may: impl Fn(&User) -> bool,
    ) -> Result<(), StoreFault> {
        match self.asker(connection)? {
            Some(asker) if !may(&asker) => Err(Refused::NotTheOwner.into()),
            _ => Ok(()),
        }
    }
}
