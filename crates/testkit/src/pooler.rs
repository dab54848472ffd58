//! A real pgbouncer before a server, which gives each transaction another connection.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Child;

use tempfile::TempDir;

use crate::installed::installed;
use crate::patience::wait_until;
use crate::postgres::{Database, PGBOUNCER, PostgresServer, as_nobody, free_port};

/// How many connections to the server the clients of one database share.
const CONNECTIONS: usize = 4;

/// A pooler that is gone with its handle, and with the thread that started it.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    child: Child,
    _dir: TempDir,
}

impl Pooler {
    /// One in transaction mode that ignores these settings of a connection; `None` where pgbouncer is not installed.
    pub fn start(server: &PostgresServer, ignored: &str) -> Option<Self> {
        let program = installed(PGBOUNCER)?;
        let dir = TempDir::with_prefix("bonded-pooler").expect("a directory can be made");
        let port = free_port();
        let (users, ini) = (dir.path().join("users"), dir.path().join("pgbouncer.ini"));
        fs::write(&users, "\"app\" \"\"\n\"owner\" \"\"\n").expect("a file can be written");
        let (sockets, users) = (server.socket_dir().display(), users.display());
        let text = format!(
            "[databases]\n* = host={sockets} port={}\n[pgbouncer]\npool_mode = transaction\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {users}\nmax_client_conn = 1000\n\
             default_pool_size = {CONNECTIONS}\nignore_startup_parameters = {ignored}\n",
            server.port()
        );
        fs::write(&ini, text).expect("a file can be written");
        open_to_all(dir.path());
        let mut command = as_nobody(&program);
        let child = command.arg(&ini).spawn().expect("it can be started");
        wait_until("the pooler answers", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let _dir = dir;
        Some(Self { port, child, _dir })
    }

    /// The address of a database for this user, through the pooler.
    pub fn address(&self, database: &Database, user: &str) -> String {
        let (port, name) = (self.port, &database.name);
        format!("postgres://{user}@127.0.0.1:{port}/{name}?sslmode=disable")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// The pooler is another user than this process may be.
fn open_to_all(dir: &Path) {
    let all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(dir, all).expect("a mode can be set");
}
