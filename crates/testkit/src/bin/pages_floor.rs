//! The floor of live pages: a server that sends the same bytes to every client that is connected, ten times a second.
//!
//! `pages_floor BYTES` serves until its stdin closes. The first line that it prints is its port.

use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

type Fault = Box<dyn std::error::Error + Send + Sync>;

const PAUSE: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "pages_floor: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    let bytes = std::env::args().nth(1).ok_or("how many bytes to send?")?;
    let bytes: Arc<[u8]> = vec![b'x'; bytes.parse()?].into();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?.port())?;
    let ticks = Arc::new(watch::Sender::new(()));
    let ticking = ticks.clone();
    runtime.spawn(async move {
        loop {
            tokio::time::sleep(PAUSE).await;
            ticking.send_replace(());
        }
    });
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(send(stream, bytes.clone(), ticks.subscribe()));
        }
    });
    // It ends with whoever started it.
    std::io::stdin().read_to_end(&mut vec![])?;
    runtime.shutdown_background();
    Ok(())
}

/// Until the client has gone.
async fn send(mut stream: TcpStream, bytes: Arc<[u8]>, mut ticks: watch::Receiver<()>) {
    let mut asked = [0; 4096];
    // What it asks for does not matter.
    if stream.read(&mut asked).await.is_err() {
        return;
    }
    while ticks.changed().await.is_ok() && stream.write_all(&bytes).await.is_ok() {}
}
