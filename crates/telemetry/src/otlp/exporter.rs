//! What sends spans: a task of its own, with a bounded queue before it.
//!
//! No run waits for it, and none fails for it. Where the queue is full or nobody takes the spans, they are dropped and
//! counted, and that is reported now and then.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bonded_outbound::{IDLE_TIMEOUT, Proxy, encrypted, plain};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;
use reqwest::Client;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::message::{ExportTraces, Span};
use super::settings::OtlpSettings;
use crate::metrics::Metrics;

/// How often a batch is offered to a receiver that is busy or away.
const TRIES: u32 = 4;
/// Doubled with each try.
const PAUSE: Duration = Duration::from_millis(500);
/// How long failures are only counted after one was reported.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(60);
/// What a receiver says that it may take later.
const LATER: [u16; 4] = [429, 502, 503, 504];

/// What goes through the queue.
enum Queued {
    Span(Box<Span>),
    /// Everything before it was sent, or dropped.
    Mark(oneshot::Sender<()>),
}

/// Sends spans. Cheap to clone: all clones have one queue.
#[derive(Clone, Debug)]
pub struct Exporter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: mpsc::Sender<Queued>,
    metrics: Option<Arc<Metrics>>,
    /// The process ends: a receiver that is away is not waited for.
    is_ending: Arc<AtomicBool>,
    ratio: f64,
}

impl Exporter {
    /// Starts the task on the current runtime.
    pub fn start(
        settings: OtlpSettings,
        version: &'static str,
        metrics: Option<Arc<Metrics>>,
    ) -> Result<Self, String> {
        let client = match settings.endpoint.scheme() {
            "http" => plain(),
            _ => encrypted(Proxy::FromEnvironment, IDLE_TIMEOUT),
        }?;
        let (queue, spans) = mpsc::channel(settings.queue_max);
        let is_ending = Arc::<AtomicBool>::default();
        let ratio = settings.ratio;
        let sender = Sender {
            client,
            settings,
            version,
            metrics: metrics.clone(),
            is_ending: is_ending.clone(),
            complaint: None,
            unreported: 0,
        };
        tokio::spawn(sender.work(spans));
        Ok(Self(Arc::new(Shared {
            queue,
            metrics,
            is_ending,
            ratio,
        })))
    }

    /// Takes a span, and returns at once.
    pub(crate) fn send(&self, span: Span) {
        if !span.is_part_of(self.0.ratio) {
            return;
        }
        let queued = self.0.queue.try_send(Queued::Span(Box::new(span)));
        if let (Err(_), Some(metrics)) = (queued, &self.0.metrics) {
            metrics.spans_dropped(1);
        }
    }

    /// Waits until everything was sent that was taken before, for so long at most.
    pub(crate) async fn flush(&self, patience: Duration) {
        self.0.is_ending.store(true, Ordering::Relaxed);
        let flushed = async {
            let (done, marked) = oneshot::channel();
            if self.0.queue.send(Queued::Mark(done)).await.is_ok() {
                // A task that is gone sends nothing more either.
                let _sent = marked.await;
            }
        };
        let _late = timeout(patience, flushed).await;
    }
}

/// The task.
struct Sender {
    client: Client,
    settings: OtlpSettings,
    version: &'static str,
    metrics: Option<Arc<Metrics>>,
    is_ending: Arc<AtomicBool>,
    /// When a failure was last reported.
    complaint: Option<Instant>,
    /// How many spans were lost since then.
    unreported: u64,
}

impl Sender {
    async fn work(mut self, mut queue: mpsc::Receiver<Queued>) {
        let mut is_open = true;
        while is_open {
            let mut spans = vec![];
            let mut mark = None;
            is_open = self.collect(&mut queue, &mut spans, &mut mark).await;
            if !spans.is_empty() {
                let count = spans.len() as u64;
                if let Err(why) = self.deliver(spans).await {
                    self.complain(count, &why);
                }
            }
            if let Some(mark) = mark {
                // Who waited may have left.
                let _left = mark.send(());
            }
        }
    }

    /// Takes spans until there are enough, or the first has waited long enough, or they are wanted. Whether there may be
    /// more.
    async fn collect(
        &self,
        queue: &mut mpsc::Receiver<Queued>,
        spans: &mut Vec<Span>,
        mark: &mut Option<oneshot::Sender<()>>,
    ) -> bool {
        let mut until = None;
        while spans.len() < self.settings.batch_max {
            let next = match until {
                None => queue.recv().await,
                Some(until) => match timeout_at(until, queue.recv()).await {
                    Ok(next) => next,
                    Err(_) => return true,
                },
            };
            match next {
                Some(Queued::Span(span)) => {
                    spans.push(*span);
                    until = until.or_else(|| Some(Instant::now() + self.settings.delay));
                }
                Some(Queued::Mark(done)) => {
                    *mark = Some(done);
                    return true;
                }
                None => return false,
            }
        }
        true
    }

    /// Offers a batch again where the receiver may take it later; the error is for people.
    async fn deliver(&self, spans: Vec<Span>) -> Result<(), String> {
        let resource = self.settings.resource.0.clone();
        let message = ExportTraces::new(resource, self.version, spans).encode_to_vec();
        let body = match self.settings.gzip {
            true => gzipped(&message).map_err(|error| error.to_string())?,
            false => message,
        };
        let mut tries = 1;
        loop {
            let (why, may_pass) = match self.post(body.clone()).await {
                Ok(status) if (200..300).contains(&status) => return Ok(()),
                Ok(status) => (format!("HTTP {status}"), LATER.contains(&status)),
                Err(why) => (why, true),
            };
            if !may_pass || tries == TRIES || self.is_ending.load(Ordering::Relaxed) {
                return Err(why);
            }
            sleep(PAUSE * 2_u32.pow(tries - 1)).await;
            tries += 1;
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<u16, String> {
        let mut request = self
            .client
            .post(self.settings.endpoint.clone())
            .timeout(self.settings.timeout)
            .headers(self.settings.headers.clone())
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(body);
        if self.settings.gzip {
            request = request.header(CONTENT_ENCODING, "gzip");
        }
        let response = request.send().await;
        let response = response.map_err(|error| bonded_host::with_causes(&error.without_url()))?;
        Ok(response.status().as_u16())
    }

    fn complain(&mut self, count: u64, why: &str) {
        if let Some(metrics) = &self.metrics {
            metrics.spans_dropped(count);
        }
        self.unreported += count;
        if self
            .complaint
            .is_some_and(|at| at.elapsed() < COMPLAINT_PAUSE)
        {
            return;
        }
        self.complaint = Some(Instant::now());
        let lost = std::mem::take(&mut self.unreported);
        // Where it is said, the path may hold a key.
        let host = self.settings.endpoint.host_str().unwrap_or_default();
        tracing::warn!("warning: {lost} spans could not be sent to {host}: {why}");
    }
}

fn gzipped(message: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(message)?;
    encoder.finish()
}
