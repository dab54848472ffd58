use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{advance, timeout};

use super::super::streams::ENDED_MAX;
use super::*;

/// A request under way that is watched.
struct Watched {
    tell: mpsc::Sender<Value>,
    answer: oneshot::Sender<Option<Value>>,
    is_dropped: Arc<AtomicBool>,
    pieces: mpsc::Receiver<Bytes>,
}

struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Watched {
    fn begin(terms: Terms) -> Self {
        let (tell, messages) = mpsc::channel(1);
        let (answer, answered) = oneshot::channel();
        let is_dropped = Arc::<AtomicBool>::default();
        let flag = Flag(is_dropped.clone());
        let answering = Box::pin(async move {
            let _flag = flag;
            answered.await.ok().flatten()
        });
        Self {
            tell,
            answer,
            is_dropped,
            pieces: begin(answering, messages, terms),
        }
    }

    async fn tell(&self, text: &str) {
        self.tell.send(json!(text)).await.expect("it goes on");
    }

    async fn is_dropped(&self) -> bool {
        settle().await;
        self.is_dropped.load(Ordering::SeqCst)
    }
}

/// Lets the stream do what it can do now.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

fn terms(streams: Option<&Arc<Streams>>) -> Terms {
    Terms {
        streams: streams.cloned(),
        connection_max: None,
        stop: CancellationToken::new(),
    }
}

/// The next event: its id and its data.
async fn event(pieces: &mut mpsc::Receiver<Bytes>) -> Option<(String, String)> {
    let piece = timeout(Duration::from_millis(1), pieces.recv()).await;
    let text = String::from_utf8_lossy(&piece.expect("it is there")?).into_owned();
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        value.unwrap_or_default().trim().to_owned()
    };
    Some((field("id:"), field("data:")))
}

fn named(id: &str, data: &str) -> Option<(String, String)> {
    Some((id.into(), data.into()))
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_come_back_in_time_has_given_its_request_up() {
    let streams = Arc::default();
    let mut call = Watched::begin(terms(Some(&streams)));
    call.pieces.close();
    settle().await;
    advance(AWAY_MAX - Duration::from_secs(1)).await;
    assert!(!call.is_dropped().await);
    advance(Duration::from_secs(2)).await;
    assert!(call.is_dropped().await);
    assert!(streams.take_up("1-0").is_none(), "it is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cannot_come_back_gives_its_request_up_when_it_leaves() {
    let mut call = Watched::begin(terms(None));
    call.tell("a").await;
    assert_eq!(event(&mut call.pieces).await, named("", "\"a\""));
    assert!(!call.is_dropped().await);
    call.pieces.close();
    assert!(call.is_dropped().await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_gets_what_it_missed_once_and_the_rest() {
    let streams = Arc::default();
    let mut call = Watched::begin(terms(Some(&streams)));
    assert_eq!(event(&mut call.pieces).await, named("1-0", ""));
    call.tell("a").await;
    call.tell("b").await;
    assert_eq!(event(&mut call.pieces).await, named("1-1", "\"a\""));
    settle().await;
    // The second event was on its way when the connection broke.
    call.pieces.close();
    call.tell("c").await;
    advance(AWAY_MAX / 2).await;
    let mut again = streams.take_up("1-1").expect("it is kept");
    assert_eq!(event(&mut again).await, named("1-1", ""));
    assert_eq!(event(&mut again).await, named("1-2", "\"b\""));
    assert_eq!(event(&mut again).await, named("1-3", "\"c\""));
    advance(AWAY_MAX * 2).await;
    call.answer.send(Some(json!("end"))).expect("it goes on");
    assert_eq!(event(&mut again).await, named("1-4", "\"end\""));
    assert_eq!(event(&mut again).await, None);
    // Whoever lost the end gets it again for a while; whoever has it gets nothing.
    let mut lost = streams.take_up("1-3").expect("it is kept");
    assert_eq!(event(&mut lost).await, named("1-3", ""));
    assert_eq!(event(&mut lost).await, named("1-4", "\"end\""));
    assert_eq!(event(&mut lost).await, None);
    let mut read = streams.take_up("1-4").expect("it is kept");
    assert_eq!(event(&mut read).await, named("1-4", ""));
    assert_eq!(event(&mut read).await, None);
    settle().await;
    advance(AWAY_MAX + Duration::from_secs(1)).await;
    settle().await;
    assert!(streams.take_up("1-3").is_none());
}

#[tokio::test(start_paused = true)]
async fn the_connection_that_came_last_is_the_one_that_reads() {
    let streams = Arc::default();
    let mut call = Watched::begin(terms(Some(&streams)));
    assert_eq!(event(&mut call.pieces).await, named("1-0", ""));
    let mut again = streams.take_up("1-0").expect("it is there");
    assert_eq!(event(&mut again).await, named("1-0", ""));
    assert_eq!(event(&mut call.pieces).await, None);
    call.tell("a").await;
    assert_eq!(event(&mut again).await, named("1-1", "\"a\""));
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_closed_after_its_time_and_the_request_goes_on() {
    let streams = Arc::default();
    let mut call = Watched::begin(Terms {
        connection_max: Some(Duration::from_secs(60)),
        ..terms(Some(&streams))
    });
    for last in ["1-0", "1-0"] {
        assert_eq!(event(&mut call.pieces).await, named(last, ""));
        advance(Duration::from_secs(61)).await;
        assert_eq!(event(&mut call.pieces).await, None);
        call.pieces = streams.take_up(last).expect("it is kept");
    }
    assert!(!call.is_dropped().await);
    // One that cannot come back keeps its connection.
    let mut other = Watched::begin(Terms {
        connection_max: Some(Duration::from_secs(60)),
        ..terms(None)
    });
    advance(Duration::from_secs(61)).await;
    other.tell("a").await;
    assert_eq!(event(&mut other.pieces).await, named("", "\"a\""));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_waits_for_those_who_read_and_for_nobody_else() {
    let streams = Arc::default();
    let stop = CancellationToken::new();
    let stopped = || Terms {
        stop: stop.clone(),
        ..terms(Some(&streams))
    };
    let mut away = Watched::begin(stopped());
    let mut reading = Watched::begin(stopped());
    away.pieces.close();
    stop.cancel();
    assert!(away.is_dropped().await);
    assert!(!reading.is_dropped().await);
    assert_eq!(event(&mut reading.pieces).await, named("2-0", ""));
    reading.answer.send(Some(json!("end"))).expect("it goes on");
    assert_eq!(event(&mut reading.pieces).await, named("2-1", "\"end\""));
    assert_eq!(event(&mut reading.pieces).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_ends_its_stream_without_an_answer() {
    let streams = Arc::default();
    let mut call = Watched::begin(terms(Some(&streams)));
    assert_eq!(event(&mut call.pieces).await, named("1-0", ""));
    call.answer.send(None).expect("it goes on");
    assert_eq!(event(&mut call.pieces).await, None);
    settle().await;
    assert!(streams.take_up("1-0").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_holds_back_whoever_tells_it_something() {
    let streams = Arc::default();
    let call = Watched::begin(terms(Some(&streams)));
    let mut sent = 0;
    while timeout(Duration::from_secs(1), call.tell("a"))
        .await
        .is_ok()
    {
        sent += 1;
        assert!(sent < 100, "nothing holds it back");
    }
    assert!(sent > 10, "{sent}");
}

#[tokio::test(start_paused = true)]
async fn of_streams_that_nobody_reads_a_few_are_kept_and_the_others_are_gone_at_once() {
    let streams = Arc::default();
    for _ in 0..ENDED_MAX + 5 {
        let mut call = Watched::begin(terms(Some(&streams)));
        call.pieces.close();
        call.answer.send(Some(json!("end"))).expect("it goes on");
    }
    settle().await;
    // Each that is kept holds on to the others.
    assert_eq!(Arc::strong_count(&streams), ENDED_MAX + 1);
}
