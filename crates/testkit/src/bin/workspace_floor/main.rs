//! The floor of the workspace's benchmark: what the same requests cost a bare handler on the same rows.
//!
//! It is the same HTTP library and SQLite in the same settings, on a copy of the file that is measured: the same tables
//! and indexes, and the statements that the answers need. It knows whose token it is and what they may do, and it
//! repeats no write whose key it has seen. It has no kernel and no events that mean anything, no triggers, no limits of
//! size, depth, time and number, no links, no rules, no sockets, and it forgets nothing that is old.
//!
//! `workspace_floor FILE` serves until its stdin closes. The first line that it prints is its port.

mod asked;
mod readers;
mod reads;
mod rows;
mod writer;
mod writes;

use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::net::{TcpListener, TcpStream};

use readers::Readers;
use writer::Writer;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// How much of the file each connection keeps in memory, in KiB, as the measured program does.
const CACHE_KIB: i64 = 2048;

struct Shared {
    readers: Readers,
    writer: Writer,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "workspace_floor: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    let file = std::env::args_os().nth(1).ok_or("a file is needed")?;
    let file = PathBuf::from(file);
    let shared = Arc::new(Shared {
        writer: Writer::open(&file)?,
        readers: Readers::open(&file)?,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?.port())?;
        tokio::spawn(accept(listener, router(shared)));
        let closed = tokio::task::spawn_blocking(|| {
            let mut rest = vec![];
            std::io::stdin().read_to_end(&mut rest)
        });
        closed.await??;
        Ok(())
    })
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/api/notes", get(reads::list))
        .route("/api/notes", post(writes::create))
        .route(
            "/api/notes/{note_id}",
            get(reads::read).patch(writes::patch),
        )
        .route("/api/search", get(reads::search))
        .with_state(shared)
}

async fn accept(listener: TcpListener, router: Router) {
    loop {
        // A connection that could not be accepted is the client's to notice.
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, router.clone()));
        }
    }
}

async fn talk(stream: TcpStream, router: Router) {
    let _slower = stream.set_nodelay(true);
    // What breaks here the client notices.
    let _broken = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

/// A connection in the settings of the measured program.
fn connect(file: &Path) -> Result<Connection, Fault> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}
