//! What processes tell one another, seen by a listener of another make.

use std::sync::Arc;
use std::time::Duration;

use bonded_postgres::{PostgresStore, WorkerOffer};
use bonded_state::{RunQueues as _, Store as _, Submission};
use bonded_testkit::stores::logs::Log;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::place::Place;

/// Longer than a driver that has just begun to listen tells of everything.
const QUIET: Duration = Duration::from_secs(4);

/// Hears everything that is told, as any client of PostgreSQL can.
struct Ear {
    heard: UnboundedReceiver<String>,
    client: Client,
}

impl Ear {
    async fn of(place: &Place) -> Self {
        let address = place.database.address("app");
        let connected = tokio_postgres::connect(&address, NoTls).await;
        let (client, mut connection) = connected.expect("the server can be reached");
        let (sender, heard) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(told) = message {
                    let _ = sender.send(told.payload().to_owned());
                }
            }
        });
        client.batch_execute("LISTEN bonded").await.expect("listen");
        Self { heard, client }
    }

    async fn tell(&self, message: &str) {
        let tell = "SELECT pg_notify('bonded', $1)";
        let told = self.client.query(tell, &[&message]).await;
        told.expect("it can be told");
    }

    /// The messages of this kind up to one of our own.
    async fn told(&mut self, kind: &str) -> Vec<String> {
        self.tell("end").await;
        let mut told = vec![];
        loop {
            match self.heard.recv().await {
                Some(message) if message == "end" => return told,
                Some(message) if message.starts_with(kind) => told.push(message),
                Some(_) => {}
                None => panic!("the listener was ended"),
            }
        }
    }
}

/// Those that listen, by what they did last.
const LISTENING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
     AND query = 'LISTEN bonded' AND application_name = 'bonded'";

/// Waits until so many stores listen and rely on what they hear.
async fn listening(place: &Place, count: usize) {
    let all = async {
        while place.sql(LISTENING) != count.to_string() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(20), all)
        .await
        .expect("all listen");
}

/// A store that follows a run, and tells when it went beyond each number.
fn follow(store: Arc<PostgresStore>, log: &Log) -> UnboundedReceiver<u64> {
    let (sender, seen) = unbounded_channel();
    let run = log.id.clone();
    tokio::spawn(async move {
        let mut seq = 0;
        while store.changed(&run, seq).await.is_ok() {
            let head = store.head(&run).await;
            seq = head.ok().flatten().map_or(seq, |head| head.seq);
            if sender.send(seq).is_err() {
                return;
            }
        }
    });
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_is_told_and_looks_rarely() {
    let Some(place) = Place::new().await else {
        return;
    };
    let driver = place.open();
    let log = Log::with_turns("r", 30);
    log.append(&driver, 0).await.expect("it begins");
    let mut seen = follow(Arc::new(place.open()), &log);
    assert!(seen.recv().await.is_some());
    listening(&place, 2).await;
    sleep(QUIET).await;
    // Looks are made rarely: this is far less than one every tenth of a second.
    let commits = "SELECT pg_stat_clear_snapshot(); SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    let count = || -> u64 {
        let text = place.sql(commits);
        text.trim().parse().expect("it is a number")
    };
    let before = count();
    sleep(QUIET).await;
    let idle = count() - before;
    assert!(idle < 30, "{idle} transactions while nothing happened");
    let mut took = vec![];
    for step in 1..20 {
        // Not in time with the looks.
        sleep(Duration::from_millis(130)).await;
        let begun = Instant::now();
        log.append(&driver, step).await.expect("it follows");
        seen.recv().await.expect("it goes on");
        took.push(begun.elapsed());
    }
    took.sort();
    assert!(took[9] < Duration::from_millis(300), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_tells_of_what_is_followed_in_few_messages() {
    let Some(place) = Place::new().await else {
        return;
    };
    let mut ear = Ear::of(&place).await;
    let driver = place.open();
    let (followed, other) = (
        Log::with_turns("followed", 60),
        Log::with_turns("other", 60),
    );
    for log in [&followed, &other] {
        log.append(&driver, 0).await.expect("it begins");
    }
    listening(&place, 1).await;
    sleep(QUIET).await;
    let mut seen = follow(Arc::new(place.open()), &followed);
    assert!(seen.recv().await.is_some());
    // It is said again each second.
    sleep(QUIET / 2).await;
    let announced = ear.told("follow").await;
    assert!(
        announced.iter().all(|it| it == "follow followed"),
        "{announced:?}"
    );
    assert!(!announced.is_empty());
    ear.told("moved").await;
    for step in 1..100 {
        for log in [&followed, &other] {
            log.append(&driver, step).await.expect("it follows");
        }
    }
    let head = driver.head(&followed.id).await.expect("it is known");
    let head = head.expect("it began").seq;
    while seen.recv().await.expect("it goes on") < head {}
    sleep(Duration::from_millis(100)).await;
    let moved = ear.told("moved").await;
    assert!(moved.iter().all(|it| it == "moved followed"), "{moved:?}");
    assert!((1..100).contains(&moved.len()), "{}", moved.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_ends_at_once_has_told_the_driver() {
    let Some(place) = Place::new().await else {
        return;
    };
    let mut ear = Ear::of(&place).await;
    let driver = place.open();
    let log = Log::with_turns("r", 3);
    log.append(&driver, 0).await.expect("it begins");
    let guest = place.open();
    log.append_as_guest(&guest, 1).await.expect("anyone may");
    drop(guest);
    assert_eq!(ear.told("moved").await, ["moved r"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_is_cut_off_looks_often_and_listens_again() {
    let Some(place) = Place::new().await else {
        return;
    };
    let driver = place.open();
    let log = Log::with_turns("r", 30);
    log.append(&driver, 0).await.expect("it begins");
    let mut seen = follow(Arc::new(place.open()), &log);
    assert!(seen.recv().await.is_some());
    for round in 0..3 {
        listening(&place, 2).await;
        let end = LISTENING.replace("count(*)", "count(pg_terminate_backend(pid))");
        assert_eq!(place.sql(&end), "2");
        for step in 1..5 {
            log.append(&driver, round * 4 + step)
                .await
                .expect("it follows");
            seen.recv().await.expect("it goes on");
        }
    }
    listening(&place, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_up_costs_a_look_and_nothing_else() {
    let Some(place) = Place::new().await else {
        return;
    };
    let ear = Ear::of(&place).await;
    let driver = place.open();
    let log = Log::with_turns("r", 3);
    log.append(&driver, 0).await.expect("it begins");
    let mut seen = follow(Arc::new(place.open()), &log);
    let head = seen.recv().await.expect("it began");
    listening(&place, 2).await;
    let long = format!("moved {}", "r ".repeat(3_500));
    for message in [
        "moved r",
        "moved r/../x",
        "echo 0",
        "queued",
        "follow r",
        "?",
        "",
        &long,
    ] {
        ear.tell(message).await;
    }
    log.append(&driver, 1).await.expect("it follows");
    let next = seen.recv().await.expect("it goes on");
    assert!(next > head, "it was told of nothing that is not there");
    assert!(driver.load(&log.id, 0).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_waits_is_told_of_a_run() {
    let Some(place) = Place::new().await else {
        return;
    };
    let worker = place.open();
    let offer = WorkerOffer {
        queues: vec!["q".into()],
        labels: vec![],
        concurrent: 1,
    };
    worker.offer(offer).await.expect("it can be offered");
    listening(&place, 1).await;
    sleep(QUIET).await;
    // What was told before is not counted.
    let _before = timeout(Duration::from_millis(1), worker.queued()).await;
    let submitter = place.open();
    let mut took = vec![];
    for number in 0..9 {
        let log = Log::with_turns(&format!("r{number}"), 0);
        sleep(Duration::from_millis(130)).await;
        let begun = Instant::now();
        let submission = Submission {
            queue: "q".into(),
            submitter: "ada".into(),
            needs: vec![],
            dir: "/".into(),
            at_hand: vec![],
            agent: String::new(),
        };
        let append = log.entries().into();
        let submitted = submitter.submit(append, submission).await;
        submitted.expect("it can be queued");
        loop {
            worker.queued().await;
            if worker
                .take(vec![])
                .await
                .expect("the server is there")
                .is_some()
            {
                break;
            }
        }
        took.push(begun.elapsed());
    }
    took.sort();
    assert!(took[4] < Duration::from_millis(300), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn through_a_pooler_nothing_is_listened_for() {
    use bonded_testkit::pooler::Pooler;
    let Some(place) = Place::new().await else {
        return;
    };
    let Some(pooler) = Pooler::start(place.database.server, "extra_float_digits,options") else {
        return;
    };
    let through = || {
        let store = crate::place::open(&pooler.address(&place.database, "app"));
        store.expect("it opens")
    };
    let driver = through();
    let log = Log::with_turns("r", 10);
    log.append(&driver, 0).await.expect("it begins");
    let mut seen = follow(Arc::new(through()), &log);
    assert!(seen.recv().await.is_some());
    for step in 1..10 {
        log.append(&driver, step).await.expect("it follows");
        seen.recv().await.expect("it goes on");
    }
    let listened = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'LISTEN%'";
    assert_eq!(place.sql(listened), "0");
}
