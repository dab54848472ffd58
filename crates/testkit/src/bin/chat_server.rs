//! Serves chat completions on loopback until its stdin closes. The first line that it prints is its port.

use std::io::{Read as _, Write as _};

use bonded_testkit::server::ChatServer;

fn main() -> std::io::Result<()> {
    // One thread: the program that is measured beside it shall have the other core.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = ChatServer::start().await?;
        writeln!(std::io::stdout(), "{}", server.port())?;
        let closed = tokio::task::spawn_blocking(|| {
            let mut rest = vec![];
            std::io::stdin().read_to_end(&mut rest)
        });
        closed.await.map_err(std::io::Error::other)??;
        Ok(())
    })
}
