//! What can be wrong with a store on a server that cannot be wrong with a file.

/// Why a server cannot be used as a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerProblem {
    /// The address cannot be read.
    #[error("this is not the address of a server ({why}); write postgres://USER@HOST/DATABASE")]
    BadAddress {
        /// What is wrong with it.
        why: String,
    },
    /// No server answers there, or it went away.
    #[error("the server cannot be reached ({why}); check the address and that the server runs")]
    Unreachable {
        /// What the system says.
        why: String,
    },
    /// The server does not let this user in, or not do what is needed.
    #[error("the server refuses ({why}); check the user, the password and the rights")]
    Denied {
        /// What the server says.
        why: String,
    },
    /// The database is there, and no store in it.
    #[error(
        "there is no store in this database; create it with an owner's address: bonded store init"
    )]
    NoStore,
    /// An older program has made the store.
    #[error(
        "the store has format {found}, this build needs {known}; bring it up to date with an owner's address: bonded store init"
    )]
    OlderFormat {
        /// The format that it has.
        found: u32,
        /// The one that is needed.
        known: u32,
    },
    /// The server is too old.
    #[error("this is PostgreSQL {found}; version {known} or later is needed")]
    OldServer {
        /// Its version.
        found: u32,
        /// The oldest that will do.
        known: u32,
    },
    /// A standby, or a database that takes no writes.
    #[error("the database takes no writes ({why}); give the address of the primary")]
    ReadOnly {
        /// How that is known.
        why: String,
    },
    /// What is acknowledged could be lost.
    #[error(
        "{setting} makes the server acknowledge what a crash can lose; set it to on, or accept the loss: bonded_allow_unsynced=yes in the address"
    )]
    Unsynced {
        /// The setting, with its value.
        setting: String,
    },
    /// All connections that the server allows are taken.
    #[error(
        "the server takes no further connections ({why}); raise max_connections or stop other clients"
    )]
    NoConnection {
        /// What the server says.
        why: String,
    },
    /// What answers is not the server itself.
    #[error(
        "a pooler that changes connections between transactions answers there ({why}); give the address of the server itself"
    )]
    Pooler {
        /// How that is known.
        why: String,
    },
}
