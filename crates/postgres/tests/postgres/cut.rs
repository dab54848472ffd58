//! Connections that are cut in the middle of an append.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use bonded_state::{Store as _, StoreError};
use bonded_testkit::postgres::PASSWORD;
use bonded_testkit::stores::logs::Log;

use crate::place::{Place, open};

/// Stands between a store and its server, and cuts connections when it is told to.
#[derive(Default)]
pub(crate) struct Proxy {
    /// The next answer is not delivered: what was asked was carried out.
    pub(crate) cuts_answer: AtomicBool,
    /// The next question is not delivered.
    pub(crate) cuts_question: AtomicBool,
    pub(crate) cuts: AtomicU32,
}

impl Proxy {
    /// Gives the port that it listens on.
    pub(crate) fn start(self: &Arc<Self>, server: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let port = listener.local_addr().expect("it has an address").port();
        let proxy = Arc::clone(self);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    return;
                };
                proxy.carry(client, server);
            }
        });
        port
    }

    fn carry(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let clone = |stream: &TcpStream| stream.try_clone().expect("it can be cloned");
        let ways = [
            (clone(&client), clone(&server), true),
            (server, client, false),
        ];
        for (mut from, mut to, is_question) in ways {
            let proxy = Arc::clone(self);
            thread::spawn(move || {
                let mut piece = [0; 64 * 1024];
                while let Ok(length @ 1..) = from.read(&mut piece) {
                    let cut = match is_question {
                        true => &proxy.cuts_question,
                        false => &proxy.cuts_answer,
                    };
                    if cut.swap(false, Ordering::SeqCst) {
                        proxy.cuts.fetch_add(1, Ordering::SeqCst);
                        break;
                    }
                    if to.write_all(&piece[..length]).is_err() {
                        break;
                    }
                }
                let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            });
        }
    }
}

#[tokio::test]
async fn an_append_whose_answer_or_question_is_lost_is_there_once() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Arc::new(Proxy::default());
    let port = proxy.start(place.database.server.port());
    let name = &place.database.name;
    let address = format!("postgres://app:{PASSWORD}@127.0.0.1:{port}/{name}");
    let store = open(&address).expect("it opens");
    let mut log = Log::with_turns("r", 4);
    log.end();
    let cuts = [&proxy.cuts_answer, &proxy.cuts_question];
    for step in 0..log.steps.len() {
        // The first step makes this process a worker, which is asked before.
        if step > 0 {
            cuts[step % 2].store(true, Ordering::SeqCst);
        }
        log.append(&store, step).await.expect("it is settled");
    }
    assert_eq!(
        proxy.cuts.load(Ordering::SeqCst) as usize,
        log.steps.len() - 1
    );
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    assert_eq!(
        place.sql("SELECT count(*) FROM bonded.step"),
        log.steps.len().to_string()
    );
}

#[tokio::test]
async fn a_run_that_is_begun_without_an_answer_is_begun_once() {
    let Some(place) = Place::new().await else {
        return;
    };
    let proxy = Arc::new(Proxy::default());
    let port = proxy.start(place.database.server.port());
    let name = &place.database.name;
    let address = format!("postgres://app:{PASSWORD}@127.0.0.1:{port}/{name}");
    let store = open(&address).expect("it opens");
    // Both statements of a start are prepared, and the worker is there.
    Log::start("earlier", "be first").append_all(&store).await;
    let log = Log::with_turns("r", 1);
    proxy.cuts_answer.store(true, Ordering::SeqCst);
    log.append_all(&store).await;
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    assert_eq!(proxy.cuts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn who_was_overtaken_while_an_append_was_in_doubt_is_told_so() {
    let Some(place) = Place::new().await else {
        return;
    };
    let log = Log::with_turns("r", 1);
    let store = place.open();
    log.append(&store, 0).await.expect("it appends");
    // The append waits for the lock; its connection is cut, and another process takes over before it can be settled.
    let name = place.database.name.clone();
    let server = place.database.server;
    let taker = thread::spawn(move || {
        server.sql(
            &name,
            "BEGIN; UPDATE bonded.drive SET epoch = epoch + 1, worker = NULL; \
             DO $$ BEGIN FOR i IN 1..1000 LOOP \
                 IF EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()) \
                 THEN EXIT; END IF; PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$; \
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE wait_event_type = 'Lock' AND datname = current_database(); COMMIT",
        )
    });
    let waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'bonded.drive'::regclass AND mode = 'RowExclusiveLock'";
    while place.sql(waiting) == "0" {}
    let late = log.append(&store, 1).await;
    taker.join().expect("it is taken");
    assert_eq!(
        late,
        Err(StoreError::TakenOver {
            run: log.id.clone()
        })
    );
    assert_eq!(store.head(&log.id).await, Ok(Some(log.steps[0].after())));
}
