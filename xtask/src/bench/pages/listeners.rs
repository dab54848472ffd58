//! Connections that read whatever comes.

use std::io::Read as _;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use crate::fault::Fault;

const STACK_BYTES: usize = 128 << 10;

/// All are closed when this is dropped.
#[derive(Debug)]
pub(super) struct Listeners {
    streams: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    bytes: AtomicU64,
    ended: AtomicUsize,
}

impl Listeners {
    /// Opens so many connections, each with a thread that reads it.
    pub(super) fn open(
        count: usize,
        connect: impl Fn(usize) -> Result<TcpStream, Fault>,
    ) -> Result<Self, Fault> {
        let mut listeners = Self {
            streams: vec![],
            threads: vec![],
            heard: Arc::default(),
        };
        for number in 0..count {
            let stream = connect(number)?;
            let heard = listeners.heard.clone();
            let reading = stream.try_clone().map_err(Fault::unmeasured)?;
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            let thread = thread.spawn(move || listen(reading, &heard));
            listeners.streams.push(stream);
            listeners.threads.push(thread.map_err(Fault::unmeasured)?);
        }
        Ok(listeners)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.heard.bytes.load(Ordering::Relaxed)
    }

    /// A connection that the server has ended costs nothing, and is no page.
    pub(super) fn check_open(&self) -> Result<(), Fault> {
        match self.heard.ended.load(Ordering::Relaxed) {
            0 => Ok(()),
            ended => Err(Fault::unmeasured(format!(
                "the server ended {ended} connections"
            ))),
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        for stream in &self.streams {
            // One that has ended is as it should be.
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn listen(mut stream: TcpStream, heard: &Heard) {
    let mut piece = [0; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        heard.bytes.fetch_add(count as u64, Ordering::Relaxed);
    }
    heard.ended.fetch_add(1, Ordering::Relaxed);
}
