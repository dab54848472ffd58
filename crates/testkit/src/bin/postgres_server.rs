//! A PostgreSQL server with an empty database `bench`, until its stdin closes. The first line that it prints is the directory
//! of its socket, its port and its process.

use std::io::{Read as _, Write as _};

use bonded_testkit::postgres::PostgresServer;

fn main() -> std::io::Result<()> {
    let settings: Vec<String> = std::env::args().skip(1).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some(server) = PostgresServer::start(&settings) else {
        return Err(std::io::Error::other("there is no PostgreSQL"));
    };
    server.sql("postgres", "CREATE DATABASE bench");
    let dir = server.socket_dir().display();
    let (port, process) = (server.port(), server.id());
    writeln!(std::io::stdout(), "{dir} {port} {process}")?;
    std::io::stdin().read_to_end(&mut vec![])?;
    Ok(())
}
