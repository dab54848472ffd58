//! A store in a database of its own; in a directory where no server is to be had.

use std::sync::Arc;

use bonded_postgres::{Address, PostgresDatabase, initialise_schema};
use bonded_testkit::postgres::{Database, PostgresServer};
use bonded_workspace::store::{SERVER_SCHEMA, WorkspaceStore};
use tempfile::TempDir;

pub(crate) enum Place {
    Server(Database),
    File(TempDir),
}

pub(crate) fn address(text: &str) -> Address {
    Address::read(text, None).expect("it is an address")
}

impl Place {
    pub(crate) async fn new() -> Self {
        let Some(server) = PostgresServer::shared() else {
            return Self::File(TempDir::new().expect("a temporary directory can be made"));
        };
        let database = server.database();
        let owner = address(&database.address("owner"));
        let made = initialise_schema(&owner, &["app".into()], SERVER_SCHEMA).await;
        made.expect("the schema can be made");
        Self::Server(database)
    }

    /// The store; the same one again as another process would open it.
    pub(crate) fn open(&self) -> WorkspaceStore {
        let opened = match self {
            Self::Server(database) => {
                let address = address(&database.address("app"));
                let database = PostgresDatabase::open(address, &SERVER_SCHEMA);
                WorkspaceStore::on_server(Arc::new(database.expect("the database opens")))
            }
            Self::File(dir) => WorkspaceStore::open(&dir.path().join("workspace.db")),
        };
        opened.expect("the store opens")
    }

    /// What the owner of the server is answered; `None` where there is none.
    pub(crate) fn sql(&self, sql: &str) -> Option<String> {
        match self {
            Self::Server(database) => Some(database.sql(sql)),
            Self::File(_) => None,
        }
    }

    /// How many notes have words in the index.
    pub(crate) fn indexed(&self) -> i64 {
        let counted = match self {
            Self::Server(database) => database.sql("SELECT count(*) FROM bonded_workspace.words"),
            Self::File(dir) => {
                let path = dir.path().join("workspace.db");
                let file = rusqlite::Connection::open(path).expect("it opens");
                let rows = file.query_row("SELECT count(*) FROM words", [], |row| row.get(0));
                rows.map(|rows: i64| rows.to_string()).expect("it counts")
            }
        };
        counted.trim().parse().expect("it is a number")
    }
}
