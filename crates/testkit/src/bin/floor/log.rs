//! Where the floor appends: a file, or a server.

use std::path::Path;

use crate::Fault;
use crate::server_log::ServerLog;
use crate::writer::Writer;

pub(crate) enum Log {
    File(Writer),
    Server(ServerLog),
}

impl Log {
    pub(crate) async fn open(db: &Path) -> Result<Self, Fault> {
        match db.to_str() {
            Some(address) if address.starts_with("postgres://") => {
                Ok(Self::Server(ServerLog::open(address).await?))
            }
            _ => Ok(Self::File(Writer::open(db)?)),
        }
    }

    /// Resolves when the body is durable.
    pub(crate) async fn append(&self, run: usize, body: Vec<u8>) -> Result<(), Fault> {
        match self {
            Self::File(writer) => writer.append(body).await,
            Self::Server(server) => server.append(run, body).await,
        }
    }

    pub(crate) fn close(self) -> Result<(), Fault> {
        match self {
            Self::File(writer) => writer.close(),
            Self::Server(_) => Ok(()),
        }
    }
}
