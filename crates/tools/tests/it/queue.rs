//! Queues: how many run, in which order, and what a queue measures.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bonded_kernel::{Invocation, Outcome, ToolEffect, ToolSpec};
use bonded_tools::{OnWaited, Queue, QueueError, Queues, Tool, ToolFault, ToolValue, Waited};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::world::World;

/// Polls once and tells whether it is ready.
async fn is_ready<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
    let mut future = Some(future);
    std::future::poll_fn(move |context| {
        let future = future.take().expect("it is polled once");
        Poll::Ready(future.poll(context).is_ready())
    })
    .await
}

#[tokio::test]
async fn never_more_than_its_places_run_at_once() {
    for concurrent in [1, 3] {
        let queue = Arc::new(Queue::new("q", concurrent).expect("it is usable"));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls = (0..50).map(|_| {
            let (queue, running, most) = (queue.clone(), running.clone(), most.clone());
            tokio::spawn(async move {
                let _place = queue.enter().await;
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                assert!(queue.measure().running <= concurrent);
                tokio::time::sleep(Duration::from_millis(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.expect("it does not panic");
        }
        assert_eq!(most.load(Ordering::SeqCst), concurrent);
        let measure = queue.measure();
        assert_eq!(
            (measure.running, measure.waiting, measure.entered),
            (0, 0, 50)
        );
    }
}

#[tokio::test]
async fn places_are_given_in_the_order_of_asking_and_leaving_the_queue_frees_the_turn() {
    let queue = Queue::new("q", 1).expect("it is usable");
    let first = queue.enter().await;
    let (mut second, mut third) = (pin!(queue.enter()), Box::pin(queue.enter()));
    let mut fourth = pin!(queue.enter());
    assert!(!is_ready(second.as_mut()).await);
    assert!(!is_ready(third.as_mut()).await);
    assert!(!is_ready(fourth.as_mut()).await);
    assert_eq!(queue.measure().waiting, 3);
    drop(third);
    assert_eq!(queue.measure().waiting, 2);
    drop(first);
    assert!(!is_ready(fourth.as_mut()).await, "the second comes first");
    drop(second.await);
    fourth.await;
    assert_eq!(queue.measure().waiting_max, 3);
}

#[tokio::test(start_paused = true)]
async fn waits_are_measured() {
    let queue = Queue::new("q", 1).expect("it is usable");
    let place = queue.enter().await;
    let leave = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        drop(place);
    };
    tokio::join!(queue.enter(), leave);
    let measure = queue.measure();
    assert_eq!((measure.waited_ms_total, measure.waited_ms_max), (700, 700));
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_are_told_of_with_how_many_were_before_them_and_others_are_not() {
    let told = Arc::new(Mutex::new(vec![]));
    let heard = told.clone();
    let on_waited: OnWaited = Arc::new(move |waited: &Waited<'_>| {
        let line = (waited.queue.to_owned(), waited.tool.to_owned());
        let mut heard = heard.lock().expect("nobody panics");
        heard.push((line, waited.before, waited.waited_ms));
    });
    let queues = Queues::telling(on_waited);
    queues.extend([("slow".into(), 1)]).expect("it is usable");
    let queue = queues.get(Some("slow")).expect("it is there");
    let work = |tool: &'static str| {
        let queue = queue.clone();
        async move {
            let _place = queue.enter_for(tool).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::join!(work("a"), work("b"), work("c"));
    work("d").await;
    let named = |tool: &str| ("slow".to_owned(), tool.to_owned());
    let told = told.lock().expect("nobody panics").clone();
    assert_eq!(told, [(named("b"), 1, 50), (named("c"), 2, 100)]);
}

#[test]
fn the_default_queue_exists_always_and_an_unknown_one_is_refused() {
    let queues = Queues::new([("slow".into(), 2), ("slow".into(), 5), ("slow".into(), 3)]);
    let queues = queues.expect("they are usable");
    assert_eq!(
        queues.get(Some("slow")).expect("it is there").concurrent(),
        5
    );
    let default = queues.get(None).expect("it is there always");
    assert_eq!(default.name(), "default");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(default.concurrent(), (2 * cores).clamp(16, 64));
    let error = queues.get(Some("gone")).expect_err("it is not there");
    assert!(error.to_string().contains("default, slow"), "{error}");
    let none = Queues::new([("none".into(), 0)]).expect_err("nothing could run");
    assert_eq!(
        none,
        QueueError::NoPlaces {
            name: "none".into()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_named_again_keeps_its_calls_and_only_grows() {
    let queues = Queues::new([("slow".into(), 1)]).expect("it is usable");
    let queue = queues.get(Some("slow")).expect("it is there");
    let _first = queue.enter().await;
    for (concurrent, expected) in [(1, 1), (3, 3), (2, 3)] {
        queues
            .extend([("slow".to_owned(), concurrent)])
            .expect("it is usable");
        assert_eq!(queue.concurrent(), expected);
    }
    let _second = queue.enter().await;
    let _third = queue.enter().await;
    let measures = queues.measures();
    let (name, measure) = measures.last().expect("there are two queues");
    assert_eq!((name.as_str(), measure.running), ("slow", 3));
    assert_eq!((measure.concurrent, measure.entered), (3, 3));
}

/// A tool that is bound to a queue, and writes down its calls.
struct Bound {
    spec: ToolSpec,
    queue: Queue,
    calls: Mutex<Vec<Value>>,
}

impl Tool for Bound {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn queue(&self) -> Option<&Queue> {
        Some(&self.queue)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move {
            self.calls.lock().expect("nobody panics").push(arguments);
            tokio::time::sleep(Duration::from_millis(80)).await;
            Ok(ToolValue::Text("\"as it is\"".into()))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_registry_makes_calls_wait_in_order_and_their_time_begins_after() {
    let bound = Arc::new(Bound {
        spec: ToolSpec {
            name: "bound".into(),
            description: "Waits.".into(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Read,
            sandbox: None,
            resource: None,
            deferred: false,
        },
        queue: Queue::new("q", 1).expect("it is usable"),
        calls: Mutex::default(),
    });
    let mut world = World::of(vec![bound.clone()]);
    world.limits.tool_timeout_ms = 100;
    let begun = tokio::time::Instant::now();
    let (first, second, third) = tokio::join!(
        world.call("bound", json!({ "n": 1 })),
        world.call("bound", json!({ "n": 2 })),
        world.call("bound", json!({ "n": 3 })),
    );
    assert_eq!(begun.elapsed().as_millis(), 3 * 80, "one after the other");
    for output in [first, second, third] {
        assert_eq!(output.outcome, Outcome::Ok, "{}", output.text);
        assert_eq!(
            (output.text.as_str(), output.latency_ms),
            ("\"as it is\"", 80)
        );
    }
    let calls = json!([{ "n": 1 }, { "n": 2 }, { "n": 3 }]);
    assert_eq!(json!(*bound.calls.lock().expect("nobody panics")), calls);
}
