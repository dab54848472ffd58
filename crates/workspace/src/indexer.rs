//! Keeps the vectors of all notes up to date.
//!
//! Which notes the model has not seen yet is kept by the store, and each batch is kept as it comes: a process that dies
//! loses at most the batch under way. While there is nothing to do, the indexer sleeps until the store has an event.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::store::{NoteVector, UnseenNote, WorkspaceError, WorkspaceStore};
use bonded_kernel::{Failure, FailureClass, NoteId};
use tokio_util::sync::CancellationToken;

use super::embeddings::Embedder;
use super::operator::OperatorSink;

/// Notes that are written one after the other are shown to the model together.
const GATHERING: Duration = Duration::from_millis(200);

/// How long a provider that fails is left alone, at first and at most.
/// The first pause; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// No pause is longer, whatever the provider asks for.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// More notes than this are never refused for their own sake.
const SET_ASIDE_MAX: usize = 1000;

/// A text that every embedding model takes.
const PLAIN_TEXT: &str = "a note";

/// Shows an embedding model every note that it has not seen as it is now.
pub struct Indexer {
    store: Arc<WorkspaceStore>,
    embedder: Arc<Embedder>,
    tell: OperatorSink,
    /// How many notes are shown at once; fewer while the provider is too slow for more.
    batch_size: usize,
    /// The versions of notes that the provider does not take. They are found by their words.
    set_aside: BTreeMap<NoteId, u64>,
}

/// Why the index does not grow until the next try.
enum Trouble {
    Store(WorkspaceError),
    Provider(Failure),
}

impl From<WorkspaceError> for Trouble {
    fn from(error: WorkspaceError) -> Self {
        Self::Store(error)
    }
}

impl std::fmt::Debug for Indexer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Indexer").finish_non_exhaustive()
    }
}

impl Indexer {
    /// An indexer that has shown the model nothing yet.
    pub fn new(store: Arc<WorkspaceStore>, embedder: Arc<Embedder>, tell: OperatorSink) -> Self {
        Self {
            batch_size: embedder.batch_size(),
            store,
            embedder,
            tell,
            set_aside: BTreeMap::new(),
        }
    }

    /// Works until it is told to stop.
    pub async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.work() => {}
        }
    }

    /// How far the streams go is read before the notes are: what is written meanwhile wakes it again.
    async fn work(&mut self) {
        let mut pause = None;
        loop {
            let seen = self.store.last_row().await.map_err(Trouble::from);
            let indexed = match seen {
                Ok(row) => self.catch_up(&mut pause).await.map(|()| row),
                Err(trouble) => Err(trouble),
            };
            let waited = match indexed {
                Ok(row) => self.store.changed_any(row).await.map_err(Trouble::from),
                Err(trouble) => Err(trouble),
            };
            match waited {
                Ok(()) => tokio::time::sleep(GATHERING).await,
                Err(trouble) => self.wait_out(&trouble, &mut pause).await,
            }
        }
    }

    /// Shows the model everything that it has not seen. What was wrong is over with the first batch.
    async fn catch_up(&mut self, pause: &mut Option<Duration>) -> Result<(), Trouble> {
        loop {
            let notes = self.unseen().await?;
            if notes.is_empty() {
                *pause = None;
                return Ok(());
            }
            self.show(notes).await?;
            if pause.take().is_some() {
                (self.tell)("the provider answers again; notes are being indexed");
            }
        }
    }

    /// Leaves the provider alone for a while, longer each time, and says so once.
    async fn wait_out(&mut self, trouble: &Trouble, pause: &mut Option<Duration>) {
        let (message, asked) = match trouble {
            Trouble::Store(error) => (error.to_string(), None),
            Trouble::Provider(failure) => {
                let asked = failure.retry_after_ms.map(Duration::from_millis);
                (failure.message.clone(), asked)
            }
        };
        if pause.is_none() {
            (self.tell)(&format!(
                "notes are not indexed until the next try succeeds: {message}"
            ));
        }
        let next = pause.map_or(PAUSE_MIN, |pause| (pause * 2).min(PAUSE_MAX));
        *pause = Some(next);
        tokio::time::sleep(next.max(asked.unwrap_or_default().min(PAUSE_MAX))).await;
    }

    /// The next notes to show.
    async fn unseen(&mut self) -> Result<Vec<UnseenNote>, Trouble> {
        let limit = self.batch_size + self.set_aside.len();
        let space = self.embedder.space();
        let mut notes = self.store.notes_without_vector(space, limit as u64).await?;
        if notes.len() < limit {
            // All of them: who is not among them was changed or is gone.
            let wanted: BTreeMap<_, _> = notes.iter().map(|it| (it.note_id, it.version)).collect();
            self.set_aside
                .retain(|id, version| wanted.get(id) == Some(version));
        }
        notes.retain(|note| self.set_aside.get(&note.note_id) != Some(&note.version));
        notes.truncate(self.batch_size);
        Ok(notes)
    }

    /// Shows notes to the model. Where it refuses many, it is asked about fewer, until those it does not take are
    /// found and set aside.
    async fn show(&mut self, notes: Vec<UnseenNote>) -> Result<(), Trouble> {
        let mut parts = vec![notes];
        let mut has_answered = false;
        while let Some(mut part) = parts.pop() {
            let texts: Vec<String> = part.iter().map(|note| note.text.clone()).collect();
            match self.embedder.embed_batch(&texts).await {
                Ok(vectors) => {
                    self.keep(part, vectors).await?;
                    has_answered = true;
                }
                Err(failure) if !may_blame_text(&failure) => return Err(self.given_up(failure)),
                Err(_) if part.len() > 1 => {
                    let rest = part.split_off(part.len() / 2);
                    parts.extend([rest, part]);
                }
                Err(failure) => {
                    has_answered = has_answered || self.answers_at_all().await;
                    if !has_answered || self.set_aside.len() >= SET_ASIDE_MAX {
                        return Err(Trouble::Provider(failure));
                    }
                    self.set_aside(&part, &failure);
                }
            }
        }
        self.batch_size = (self.batch_size * 2).min(self.embedder.batch_size());
        Ok(())
    }

    /// Before a text is to blame, the provider must show that it takes others.
    async fn answers_at_all(&self) -> bool {
        let plain = [PLAIN_TEXT.to_owned()];
        self.embedder.embed_batch(&plain).await.is_ok()
    }

    /// A batch that took too long is halved, so that a slow provider comes to an end with some batch.
    fn given_up(&mut self, failure: Failure) -> Trouble {
        if failure.class == FailureClass::Timeout {
            self.batch_size = (self.batch_size / 2).max(1);
        }
        Trouble::Provider(failure)
    }

    /// Until the note changes. It is told once for each version.
    fn set_aside(&mut self, notes: &[UnseenNote], failure: &Failure) {
        for note in notes {
            self.set_aside.insert(note.note_id, note.version);
            (self.tell)(&format!(
                "the provider rejects note {}, which can be found only by its words: {}",
                note.note_id, failure.message
            ));
        }
    }

    /// The vectors come in the order of the texts.
    async fn keep(&self, notes: Vec<UnseenNote>, vectors: Vec<Vec<f32>>) -> Result<(), Trouble> {
        let vector = |(note, numbers): (UnseenNote, Vec<f32>)| NoteVector {
            note_id: note.note_id,
            version: note.version,
            numbers,
        };
        let vectors = notes.into_iter().zip(vectors).map(vector).collect();
        Ok(self
            .store
            .put_vectors(self.embedder.space(), vectors)
            .await?)
    }
}

/// Whether one of the texts may be what the provider did not like.
/// Trouble of the connection, the key or the account is never a note's fault.
fn may_blame_text(failure: &Failure) -> bool {
    match failure.class {
        FailureClass::Overflow | FailureClass::Malformed => true,
        FailureClass::Model => matches!(failure.status, None | Some(400 | 413 | 422 | 500)),
        FailureClass::Auth
        | FailureClass::Quota
        | FailureClass::RateLimit
        | FailureClass::Network
        | FailureClass::Timeout
        | FailureClass::Interrupted => false,
    }
}
