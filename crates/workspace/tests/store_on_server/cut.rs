//! Connections that are cut in the middle of a write.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use bonded_postgres::PostgresDatabase;
use bonded_testkit::postgres::PASSWORD;
use bonded_workspace::store::{SERVER_SCHEMA, WorkspaceStore};
use bonded_workspace_rules::Change;

use crate::common::{OWNER, WORKSPACE, by, new_note, world};
use crate::place::{Place, address};

/// More messages than a write of a note is made of, with their answers.
const MESSAGES: u64 = 60;

/// Stands between a store and its server, and cuts the connection that carries a certain message.
#[derive(Default)]
struct Proxy {
    /// So many are delivered; below zero nothing is cut.
    left: AtomicI64,
}

impl Proxy {
    /// Gives the port that it listens on.
    fn start(self: &Arc<Self>, server: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let port = listener.local_addr().expect("it has an address").port();
        let proxy = Arc::clone(self);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    return;
                };
                let clone = |stream: &TcpStream| stream.try_clone().expect("it can be cloned");
                let ways = [(clone(&client), clone(&server)), (server, client)];
                for (from, to) in ways {
                    let proxy = Arc::clone(&proxy);
                    thread::spawn(move || proxy.carry(from, to));
                }
            }
        });
        port
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut piece = [0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            let is_cut = self.left.fetch_sub(1, Ordering::SeqCst) == 0;
            if is_cut || to.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}

#[tokio::test]
async fn a_write_whose_connection_is_cut_at_any_message_is_made_once() {
    let world = world().await;
    let Place::Server(database) = &world.place else {
        return;
    };
    let proxy = Arc::new(Proxy::default());
    proxy.left.store(-1, Ordering::SeqCst);
    let port = proxy.start(database.server.port());
    let name = &database.name;
    let there = address(&format!(
        "postgres://app:{PASSWORD}@127.0.0.1:{port}/{name}"
    ));
    let opened = PostgresDatabase::open(there, &SERVER_SCHEMA).expect("it opens");
    let store = WorkspaceStore::on_server(Arc::new(opened)).expect("it opens");
    for number in 0..MESSAGES {
        proxy.left.store(number as i64, Ordering::SeqCst);
        let new = new_note(number, &format!("note {number}"), "text");
        let written = store.write(by(OWNER, Change::CreateNote(new))).await;
        written.unwrap_or_else(|error| panic!("cut at message {number}: {error}"));
        let was_cut = proxy.left.swap(-1, Ordering::SeqCst) < 0;
        assert!(was_cut || number > 10, "the connection was not cut");
    }
    let events = world.store.events(WORKSPACE, 0, 1000).await;
    let events = events.expect("it reads");
    let seqs: Vec<u64> = events.iter().map(|event| event.event_seq).collect();
    assert_eq!(seqs, (1..=MESSAGES + 2).collect::<Vec<u64>>());
}
