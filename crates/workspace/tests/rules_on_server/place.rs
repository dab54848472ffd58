//! A store in a database of its own; in a directory where no server is to be had.

use std::path::Path;
use std::sync::Arc;

use bonded_postgres::{Address, PostgresDatabase, initialise_schema};
use bonded_testkit::postgres::PostgresServer;
use bonded_workspace::store::{SERVER_SCHEMA, WorkspaceStore};

pub(crate) async fn open(dir: &Path) -> WorkspaceStore {
    let Some(server) = PostgresServer::shared() else {
        return WorkspaceStore::open(&dir.join("workspace.db")).expect("the store opens");
    };
    let database = server.database();
    let address = |user| Address::read(&database.address(user), None).expect("it is an address");
    let made = initialise_schema(&address("owner"), &["app".into()], SERVER_SCHEMA).await;
    made.expect("the schema can be made");
    let opened = PostgresDatabase::open(address("app"), &SERVER_SCHEMA);
    let database = Arc::new(opened.expect("the database opens"));
    WorkspaceStore::on_server(database).expect("the store opens")
}
