//! A real PostgreSQL server of the tests' own: one for each test program, with a database for each test.

mod replication;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

use crate::installed::installed;
use crate::patience::PATIENCE;

/// Names the directory of its programs.
pub const POSTGRES: &str = "BONDED_POSTGRES";

/// Names the pooler.
pub const PGBOUNCER: &str = "BONDED_PGBOUNCER";

/// The server does not run as root: it is started as nobody then.
const NOBODY: u32 = 65_534;

const CLOCK: &str = "clock";

/// The password of every user that has one.
pub const PASSWORD: &str = "only-for-tests";

/// A server on a socket and on a port of this machine.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    dir: ServerDir,
    port: u16,
    server: Child,
}

/// Where a server keeps everything. It is removed when this program ends, however it ends: a shell waits for that.
#[derive(Debug)]
struct ServerDir {
    path: PathBuf,
    /// Closed with this program.
    _open: ChildStdin,
}

impl ServerDir {
    /// Of a user that is not root.
    fn new() -> Self {
        let dir = TempDir::with_prefix("bonded-pg").expect("a temporary directory can be made");
        let path = dir.keep();
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("root gives directories away");
        }
        // The server, which is killed at the same moment, has a second to be gone.
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat; sleep 1; rm -rf \"$0\""]).arg(&path);
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0);
        let open = shell.spawn().expect("a shell can be started").stdin.take();
        Self {
            path,
            _open: open.expect("stdin is a pipe"),
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A database of one test, and nothing of ours in it yet.
#[derive(Debug)]
pub struct Database {
    pub server: &'static PostgresServer,
    pub name: String,
}

impl PostgresServer {
    /// The one that all tests of this program share; `None` where PostgreSQL is not installed. It ends with the program.
    pub fn shared() -> Option<&'static Self> {
        static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
        let made = SERVER.get_or_init(|| {
            installed(POSTGRES)?;
            let (made, server) = mpsc::channel();
            // The system kills the server when the thread that started it ends, which this one does with the program.
            thread::spawn(move || {
                let _taken = made.send(Self::start(&[]));
                loop {
                    thread::park();
                }
            });
            Some(
                server
                    .recv()
                    .expect("the server starts")
                    .expect("it is installed"),
            )
        });
        made.as_ref()
    }

    /// One of its own, with these settings. It is killed when it is dropped, or when the thread that started it ends.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let programs = installed(POSTGRES)?;
        let dir = ServerDir::new();
        let data = dir.path().join("data");
        succeeded(&mut initdb(&programs, &data));
        let port = free_port();
        let server = begin(&programs, &data, dir.path(), port, settings);
        let server = Self {
            programs,
            dir,
            port,
            server,
        };
        server.wait();
        server.make_roles();
        Some(server)
    }

    /// One of its own that keeps tables on a disk of this size.
    pub fn with_small_disk(bytes: u64) -> Option<Self> {
        let programs = installed(POSTGRES)?;
        let dir = ServerDir::new();
        let data = dir.path().join("data");
        succeeded(&mut initdb(&programs, &data));
        let small = dir.path().join("small");
        let port = free_port();
        // A file system of its own, which only this server sees.
        let mut server = as_nobody(Path::new("bwrap"));
        server.args(["--dev-bind", "/", "/", "--size", &bytes.to_string()]);
        server.arg("--tmpfs").arg(&small).arg("--die-with-parent");
        server.arg("--").arg(programs.join("postgres"));
        let server = spawn_server(server, &data, dir.path(), port, &[]);
        let server = Self {
            programs,
            dir,
            port,
            server,
        };
        server.wait();
        server.make_roles();
        let small = small.display();
        let place = format!("CREATE TABLESPACE small LOCATION '{small}'");
        server.sql("postgres", &place);
        server.sql("postgres", "ALTER SYSTEM SET default_tablespace = small");
        server.sql("postgres", "SELECT pg_reload_conf()");
        Some(server)
    }

    /// One of its own that asks this library for the time, which reads it from a file: see [`Self::clock`].
    pub fn with_clock(library: &Path) -> Option<Self> {
        let programs = installed(POSTGRES)?;
        let dir = ServerDir::new();
        let data = dir.path().join("data");
        succeeded(&mut initdb(&programs, &data));
        // The server's user cannot read what lies elsewhere.
        let own = dir.path().join("clock.so");
        fs::copy(library, &own).expect("a file can be copied");
        let clock = dir.path().join(CLOCK);
        fs::write(&clock, "0").expect("a file can be written");
        let port = free_port();
        let mut server = as_nobody(&programs.join("postgres"));
        server.env("LD_PRELOAD", own).env("WALL_CLOCK_FILE", clock);
        let server = spawn_server(server, &data, dir.path(), port, &[]);
        let server = Self {
            programs,
            dir,
            port,
            server,
        };
        server.wait();
        server.make_roles();
        Some(server)
    }

    /// The file that says how many seconds the clock of such a server is ahead.
    pub fn clock(&self) -> PathBuf {
        self.dir.path().join(CLOCK)
    }

    fn make_roles(&self) {
        let roles = format!(
            "ALTER ROLE owner PASSWORD '{PASSWORD}'; CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"
        );
        self.sql("postgres", &roles);
    }

    /// A standby of this server, which only reads.
    pub fn standby(&self) -> Self {
        let dir = ServerDir::new();
        let data = dir.path().join("data");
        let mut copy = as_nobody(&self.programs.join("pg_basebackup"));
        copy.args([
            "--username=owner",
            "--write-recovery-conf",
            "--no-sync",
            "--checkpoint=fast",
            "--host",
        ]);
        copy.arg(self.socket_dir());
        copy.args(["--port", &self.port.to_string(), "--pgdata"]);
        succeeded(copy.arg(&data));
        let port = free_port();
        let server = begin(&self.programs, &data, dir.path(), port, &[]);
        let standby = Self {
            programs: self.programs.clone(),
            dir,
            port,
            server,
        };
        standby.wait();
        standby
    }

    /// A server that goes on from a copy of this one, with these settings for its recovery. The copy becomes its own.
    pub fn recovered(&self, copy: &Path, settings: &[&str]) -> Self {
        let dir = ServerDir::new();
        let data = dir.path().join("data");
        fs::rename(copy, &data).expect("both lie in one file system");
        fs::write(data.join("recovery.signal"), "").expect("a file can be made");
        let port = free_port();
        let server = begin(&self.programs, &data, dir.path(), port, settings);
        let recovered = Self {
            programs: self.programs.clone(),
            dir,
            port,
            server,
        };
        recovered.wait();
        let began = Instant::now();
        while recovered.sql("postgres", "SELECT pg_is_in_recovery()") != "f" {
            assert!(began.elapsed() < PATIENCE, "it does not end its recovery");
            thread::sleep(std::time::Duration::from_millis(20));
        }
        recovered
    }

    /// Waits until it answers.
    fn wait(&self) {
        let began = Instant::now();
        while !self.psql("postgres", "SELECT 1").status.success() {
            assert!(began.elapsed() < PATIENCE, "the server does not answer");
            thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    pub fn programs(&self) -> &Path {
        &self.programs
    }

    pub fn socket_dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Its first process, which starts all others.
    pub fn id(&self) -> u32 {
        self.server.id()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn psql(&self, database: &str, sql: &str) -> Output {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
            .args(["--set", "ON_ERROR_STOP=1", "--username=owner", "--host"])
            .arg(self.dir.path())
            .args(["--port", &self.port.to_string(), "--dbname", database])
            .args(["--command", sql])
            .env_clear();
        psql.output().expect("psql can be started")
    }

    /// Has the owner of the server do this; gives what is answered.
    #[track_caller]
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let done = self.psql(database, sql);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{sql}: {said}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// A database of its own.
    pub fn database(&'static self) -> Database {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        Database { server: self, name }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // One that has ended needs no end.
        let _ended = self.server.kill().and_then(|()| self.server.wait());
    }
}

impl Database {
    /// Its address for this user, by the socket, where nobody is asked for a password.
    pub fn address(&self, user: &str) -> String {
        let (dir, port) = (self.server.socket_dir().display(), self.server.port);
        format!(
            "postgres:///{}?user={user}&host={dir}&port={port}",
            self.name
        )
    }

    /// Its address for this user on a standby, by the socket.
    pub fn address_on(&self, standby: &PostgresServer, user: &str) -> String {
        let (dir, port) = (standby.socket_dir().display(), standby.port);
        format!(
            "postgres:///{}?user={user}&host={dir}&port={port}",
            self.name
        )
    }

    /// Its address for this user on the port.
    pub fn address_on_port(&self, user: &str, password: &str) -> String {
        let port = self.server.port;
        format!(
            "postgres://{user}:{password}@127.0.0.1:{port}/{}",
            self.name
        )
    }

    /// Has the owner do this.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.name, sql)
    }
}

/// A program as a user that is not root.
pub fn as_nobody(program: &Path) -> Command {
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let mut command = Command::new("setpriv");
            let user = NOBODY.to_string();
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
            command
        }
        false => Command::new("setpriv"),
    };
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.current_dir("/");
    command
}

fn initdb(programs: &Path, data: &Path) -> Command {
    let mut initdb = as_nobody(&programs.join("initdb"));
    initdb.args([
        "--no-sync",
        "--username=owner",
        "--encoding=UTF8",
        "--locale=C",
    ]);
    initdb.args(["--auth-local=trust", "--auth-host=scram-sha-256", "-D"]);
    initdb.arg(data);
    initdb
}

fn begin(programs: &Path, data: &Path, sockets: &Path, port: u16, settings: &[&str]) -> Child {
    let server = as_nobody(&programs.join("postgres"));
    spawn_server(server, data, sockets, port, settings)
}

fn spawn_server(
    mut server: Command,
    data: &Path,
    sockets: &Path,
    port: u16,
    settings: &[&str],
) -> Child {
    let log = fs::File::create(sockets.join("server.log")).expect("a file can be made");
    server.arg("-D").arg(data).arg("-k").arg(sockets);
    server.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
    for setting in ["max_connections=300"].iter().chain(settings) {
        server.args(["-c", setting]);
    }
    server
        .stderr(log)
        .spawn()
        .expect("the server can be started")
}

/// A port that nobody has at the moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    listener.local_addr().expect("it has an address").port()
}

#[track_caller]
fn succeeded(command: &mut Command) {
    let done = command
        .stderr(Stdio::piped())
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
}
