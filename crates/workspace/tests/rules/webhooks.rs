//! The action `webhook`, with a listener that sees what arrives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bonded_kernel::{Millis, RuleId, UserId};
use bonded_workspace::store::{By, NewSecret};
use bonded_workspace::{Actions, HookSecret, Webhooks};
use bonded_workspace_rules::{AutomationRun, RunStatus};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::world::{World, at_once, soon};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request as it arrived.
#[derive(Clone, Debug)]
struct Arrived {
    head: String,
    body: Vec<u8>,
}

impl Arrived {
    fn header(&self, name: &str) -> &str {
        let found = self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        });
        found.unwrap_or_default()
    }
}

/// What a listener does with a request.
#[derive(Clone)]
enum Answer {
    /// Sends these bytes.
    Text(String),
    /// Never says anything.
    Nothing,
    /// Sends this, and then bytes without an end.
    Endless(String),
}

fn status(line: &str) -> Answer {
    Answer::Text(format!(
        "HTTP/1.1 {line}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ))
}

/// A server that answers each request with the next answer, the last one again and again.
struct Witness {
    port: u16,
    arrived: mpsc::UnboundedReceiver<Arrived>,
    seen: Arc<Mutex<Vec<Arrived>>>,
}

impl Witness {
    async fn new(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (tell, arrived) = mpsc::unbounded_channel();
        let seen = Arc::new(Mutex::new(vec![]));
        let list = seen.clone();
        tokio::spawn(async move {
            let mut answers = answers.into_iter().peekable();
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers.next().expect("there is one");
                if answers.peek().is_none() {
                    answers = vec![answer.clone()].into_iter().peekable();
                }
                let (tell, list) = (tell.clone(), list.clone());
                tokio::spawn(async move { serve(stream, answer, &tell, &list).await });
            }
        });
        Self {
            port,
            arrived,
            seen,
        }
    }

    async fn next(&mut self) -> Arrived {
        let arrived = soon(self.arrived.recv()).await;
        arrived.flatten().expect("a request arrives")
    }

    fn count(&self) -> usize {
        self.seen.lock().expect("nobody panics").len()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Answer,
    tell: &mpsc::UnboundedSender<Arrived>,
    list: &Mutex<Vec<Arrived>>,
) {
    let Some(arrived) = read(&mut stream).await else {
        return;
    };
    list.lock().expect("nobody panics").push(arrived.clone());
    // A test that has ended listens no more.
    let _ = tell.send(arrived);
    match answer {
        Answer::Text(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Answer::Nothing => std::future::pending().await,
        Answer::Endless(text) => {
            let mut written = stream.write_all(text.as_bytes()).await;
            while written.is_ok() {
                written = stream.write_all(&[b'x'; 65_536]).await;
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Arrived> {
    let (mut bytes, mut piece) = (vec![], [0; 4096]);
    loop {
        let count = stream
            .read(&mut piece)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let arrived = Arrived {
            head,
            body: bytes[end + 4..].to_vec(),
        };
        let length: usize = arrived.header("content-length").parse().unwrap_or(0);
        if arrived.body.len() >= length {
            return Some(arrived);
        }
    }
}

/// A world with a rule that sends to a URL; these addresses are listed.
async fn world(url: &str, listed: &[String]) -> (World, RuleId) {
    let mut world = World::new(at_once).await;
    world.webhooks = listed.to_vec();
    world.actions = Some(actions(&world));
    let over = json!({
        "trigger": "workspace_event.note_created",
        "action_json": { "kind": "webhook", "url": url },
    });
    let rule = world.rule(1, &over).await;
    keep_secret(&world, rule).await;
    (world, rule)
}

fn actions(world: &World) -> Actions {
    Actions {
        webhooks: Some(Arc::new(Webhooks {
            store: world.store.clone(),
            surroundings: Arc::new(world.around()),
            clock: world.clock.clone(),
            timeout: Duration::from_millis(500),
        })),
        plain: Some(world.plain()),
        ..Actions::default()
    }
}

/// A person of the workspace keeps it, as the server lets them.
async fn keep_secret(world: &World, rule_id: RuleId) {
    let user_id = UserId::from_bytes([2; 16]);
    let made = world.store.owner(user_id, Millis(1)).await;
    made.expect("the store writes");
    let new = NewSecret {
        rule_id,
        user_id,
        secret: SECRET.into(),
        at: Millis(1),
        replaces: true,
    };
    let kept = world.store.set_secret(By::Keeper, new).await;
    assert!(kept.expect("the store writes"));
}

fn listed(witness: &Witness) -> (String, Vec<String>) {
    let here = format!("http://127.0.0.1:{}", witness.port);
    (format!("{here}/in"), vec![here])
}

/// The pauses between attempts pass while the test waits.
fn passing(world: &World) -> JoinHandle<()> {
    let clock = world.clock.clone();
    tokio::spawn(async move {
        loop {
            clock.forward(1000);
            tokio::task::yield_now().await;
        }
    })
}

async fn ended(world: &World) -> AutomationRun {
    let runs = world
        .until(|runs| runs.len() == 1 && runs[0].status.has_ended())
        .await;
    runs[0].clone()
}

#[tokio::test]
async fn a_message_arrives_signed_and_says_what_happened_without_the_text_of_the_note() {
    let mut witness = Witness::new(vec![status("204 No Content")]).await;
    let (url, lines) = listed(&witness);
    let (mut world, rule) = world(&url, &lines).await;
    world.start();
    world.note(1, "One").await;
    let arrived = witness.next().await;
    let run = ended(&world).await;
    assert_eq!(run.status, RunStatus::Succeeded, "{run:?}");
    assert_eq!(
        (&run.result_json["status"], &run.result_json["attempts"]),
        (&json!(204), &json!(1))
    );
    assert!(
        arrived.head.starts_with("POST /in HTTP/1.1"),
        "{}",
        arrived.head
    );
    assert_eq!(arrived.header("webhook-id"), run.run_id.as_str());
    let timestamp = arrived
        .header("webhook-timestamp")
        .parse()
        .expect("seconds");
    let secret = HookSecret::read(SECRET).expect("it is one");
    let signature = arrived.header("webhook-signature");
    assert!(secret.verify(run.run_id.as_str(), timestamp, &arrived.body, signature));
    let body: Value = serde_json::from_slice(&arrived.body).expect("it is JSON");
    assert_eq!(body["note"]["title"], "One");
    assert_eq!(body["rule_id"], json!(rule));
    assert_eq!(body["event_type"], "note.created");
    assert!(!body.to_string().contains("text"), "{body}");
}

#[tokio::test]
async fn a_server_that_fails_is_asked_again_with_the_same_id_and_then_no_more() {
    let mut witness = Witness::new(vec![
        status("503 Busy"),
        status("429 Later"),
        status("200 OK"),
    ])
    .await;
    let (url, lines) = listed(&witness);
    let (mut world, _) = world(&url, &lines).await;
    world.start();
    world.note(1, "One").await;
    let passing = passing(&world);
    let mut ids = vec![];
    for _ in 0..3 {
        ids.push(witness.next().await.header("webhook-id").to_owned());
    }
    let run = ended(&world).await;
    passing.abort();
    assert_eq!(
        (run.status, &run.result_json["attempts"]),
        (RunStatus::Succeeded, &json!(3))
    );
    assert!(ids.iter().all(|id| id == run.run_id.as_str()), "{ids:?}");
    assert_eq!(witness.count(), 3);
}

#[tokio::test]
async fn what_no_attempt_can_mend_is_tried_once_and_what_may_pass_five_times() {
    let redirect = "302 Found\r\nLocation: http://127.0.0.1:1/elsewhere";
    let rows = [
        (status(redirect), 1, "redirects are not followed"),
        (status("404 Not Found"), 1, "404"),
        (status("500 Broken"), 5, "after 5 attempts"),
        (Answer::Nothing, 5, "no answer within 500 ms"),
        (
            Answer::Text("nonsense\r\n\r\n".into()),
            5,
            "after 5 attempts",
        ),
    ];
    for (answer, attempts, message) in rows {
        let mut witness = Witness::new(vec![answer]).await;
        let (url, lines) = listed(&witness);
        let (mut world, _) = world(&url, &lines).await;
        world.start();
        world.note(1, "One").await;
        let passing = passing(&world);
        for _ in 0..attempts {
            witness.next().await;
        }
        let run = ended(&world).await;
        passing.abort();
        assert_eq!(
            run.error_code.as_deref(),
            Some("WEBHOOK_FAILED"),
            "{message}"
        );
        let said = run.result_json["message"].as_str().unwrap_or_default();
        assert!(said.contains(message), "{said}");
        assert_eq!(witness.count(), attempts, "{message}");
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_read() {
    let endless = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_owned();
    let witness = Witness::new(vec![Answer::Endless(endless)]).await;
    let (url, lines) = listed(&witness);
    let (mut world, _) = world(&url, &lines).await;
    world.start();
    world.note(1, "One").await;
    let run = ended(&world).await;
    assert_eq!(run.status, RunStatus::Succeeded, "{run:?}");
    assert_eq!(witness.count(), 1);
}

#[tokio::test]
async fn a_name_that_is_listed_and_leads_to_this_machine_is_not_sent_to() {
    let witness = Witness::new(vec![status("200 OK")]).await;
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let here = format!("http://{}:{}", name.trim(), witness.port);
    let (mut world, _) = world(&format!("{here}/in"), &[here]).await;
    world.start();
    world.note(1, "One").await;
    // A machine that does not know its own name is asked again, to no avail.
    let passing = passing(&world);
    let run = ended(&world).await;
    passing.abort();
    assert_eq!(run.error_code.as_deref(), Some("WEBHOOK_FAILED"), "{run:?}");
    let said = run.result_json["message"].as_str().unwrap_or_default();
    assert!(
        said.contains("private address") || said.contains("cannot be found"),
        "{said}"
    );
    assert_eq!(witness.count(), 0);
}

#[tokio::test]
async fn a_rule_without_a_secret_sends_nothing() {
    let witness = Witness::new(vec![status("200 OK")]).await;
    let (url, lines) = listed(&witness);
    let mut world = World::new(at_once).await;
    world.webhooks = lines;
    world.actions = Some(actions(&world));
    let over = json!({
        "trigger": "workspace_event.note_created",
        "action_json": { "kind": "webhook", "url": url },
    });
    world.rule(1, &over).await;
    world.start();
    world.note(1, "One").await;
    let run = ended(&world).await;
    assert_eq!(run.error_code.as_deref(), Some("WEBHOOK_FAILED"));
    assert_eq!(witness.count(), 0);
}

#[tokio::test]
async fn an_address_that_is_no_longer_listed_is_not_sent_to() {
    let witness = Witness::new(vec![status("200 OK")]).await;
    let (url, lines) = listed(&witness);
    let (mut world, _) = world(&url, &lines).await;
    world.webhooks = vec![];
    world.actions = Some(actions(&world));
    world.start();
    world.note(1, "One").await;
    let run = ended(&world).await;
    assert_eq!(run.error_code.as_deref(), Some("RULE_INVALID"), "{run:?}");
    assert_eq!(witness.count(), 0);
}

#[tokio::test]
async fn a_process_that_ends_between_the_sending_and_its_note_sends_again_with_the_same_id() {
    let mut witness = Witness::new(vec![Answer::Nothing, status("200 OK")]).await;
    let (url, lines) = listed(&witness);
    let (mut world, _) = world(&url, &lines).await;
    world.start();
    world.note(1, "One").await;
    let first = witness.next().await;
    // The other side has it, and nobody here has noted that.
    world.stop().await;
    world.start();
    let second = witness.next().await;
    let run = ended(&world).await;
    assert_eq!(run.status, RunStatus::Succeeded, "{run:?}");
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(first.body, second.body);
    assert_eq!(witness.count(), 2);
}
