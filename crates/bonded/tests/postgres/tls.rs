//! The way to a server is encrypted, and its certificate is looked at.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use bonded_testkit::place::{Done, Place, finish, start};
use bonded_testkit::postgres::{Database, PASSWORD, PostgresServer};

/// A certificate of `localhost`, signed by one that nobody knows.
const CERTIFICATES: &str = "\
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tests \
        -keyout ca.key -out ca.crt && \
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
        -keyout server.key -out server.csr && \
    printf 'subjectAltName=DNS:localhost' > names && \
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt";

/// Makes the server speak TLS.
fn encrypt(server: &PostgresServer, dir: &Path) {
    let made = Command::new("sh")
        .args(["-c", CERTIFICATES])
        .current_dir(dir)
        .output();
    let made = made.expect("a shell can be started");
    assert!(made.status.success(), "{made:?}");
    let owner = std::fs::metadata(server.data()).expect("it is there");
    let (user, group) = {
        use std::os::unix::fs::MetadataExt as _;
        (owner.uid(), owner.gid())
    };
    for name in ["server.key", "server.crt"] {
        let to = server.data().join(name);
        std::fs::copy(dir.join(name), &to).expect("a file can be copied");
        chown(&to, Some(user), Some(group)).expect("it can be given to the server's user");
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&to, private).expect("a mode can be set");
    }
    server.sql("postgres", "ALTER SYSTEM SET ssl = on");
    server.sql("postgres", "SELECT pg_reload_conf()");
}

fn runs(database: &Database, mode: &str, trusted: Option<&Path>) -> Done {
    let port = database.server.port();
    let name = &database.name;
    let address = format!("postgres://app:{PASSWORD}@localhost:{port}/{name}?sslmode={mode}");
    let place = Place::with_store(&address);
    let mut command = place.command(&["runs"]);
    if let Some(file) = trusted {
        command.env("SSL_CERT_FILE", file);
    }
    finish(start(&mut command))
}

#[test]
fn a_server_whose_certificate_nobody_has_signed_is_refused_and_a_known_one_is_used() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let server: &'static PostgresServer = Box::leak(Box::new(server));
    let database = server.database();
    let owner = Place::with_store(&database.address("owner"));
    owner
        .bonded(&["store", "init", "--grant", "app"])
        .succeeds();
    runs(&database, "require", None).fails_with(3, "store-unreachable");
    encrypt(server, &owner.path(""));
    let refused = runs(&database, "require", None);
    refused.fails_with(3, "store-unreachable");
    refused.says("SSL_CERT_FILE");
    let known = owner.path("ca.crt");
    runs(&database, "require", Some(&known)).succeeds();
    // What the server itself says of the connection.
    server.sql("postgres", "ALTER SYSTEM SET log_connections = on");
    server.sql("postgres", "SELECT pg_reload_conf()");
    runs(&database, "require", Some(&known)).succeeds();
    let log = std::fs::read_to_string(server.socket_dir().join("server.log"));
    let log = log.expect("the server writes a log");
    assert!(log.contains("SSL enabled"), "{log}");
}
