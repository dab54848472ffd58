//! What an append must look like before a store looks at its log: what every store, wherever it keeps its logs, begins
//! with.

use std::sync::Arc;

use bonded_kernel::{Blob, BlobRef, Entry, Event, GoalId, Hash, Head, RunId};

use crate::StoreError;

/// The most entries that the log of one run can hold.
pub const ENTRIES_MAX: u64 = (1 << 24) - 1;

/// Entries that follow one another, with the long texts and the images that lie beside the log.
#[derive(Clone, Debug)]
pub struct Append {
    /// The head that the entries follow.
    pub expected: Head,
    /// The head after them.
    pub head: Head,
    /// At least one.
    pub entries: Arc<[Entry]>,
    /// The long texts and the images of the entries; one that several refer to is here as often.
    pub blobs: Vec<(BlobRef, Blob)>,
}

impl Append {
    /// Checks what can be checked without the log: that the entries are of one run, consecutive and bound
    /// to `expected` and to each other by their hashes, and that every long text has its content.
    pub fn new(expected: Head, entries: Arc<[Entry]>) -> Result<Self, StoreError> {
        let refuse = |why: String| Err(StoreError::NotAppendable { why });
        let Some(first) = entries.first() else {
            return refuse("there are no entries".into());
        };
        if expected == Head::EMPTY && !matches!(first.event, Event::RunStarted(_)) {
            return refuse(format!("run {} does not begin with its start", first.run));
        }
        let mut head = expected;
        for entry in entries.iter() {
            let seq = entry.seq;
            if (&entry.run, &entry.goal) != (&first.run, &first.goal) {
                return refuse(format!(
                    "entry {seq} is of another run or goal than the first"
                ));
            }
            if seq != head.seq.saturating_add(1) || entry.prev != head.hash {
                return refuse(format!("entry {seq} does not follow entry {}", head.seq));
            }
            head = entry.head();
        }
        if head.seq > ENTRIES_MAX {
            return Err(StoreError::TooLong {
                run: first.run.clone(),
                entries_max: ENTRIES_MAX,
            });
        }
        let blobs = blobs(&entries)?;
        Ok(Self {
            expected,
            head,
            entries,
            blobs,
        })
    }

    /// Whose log it is.
    pub fn run(&self) -> &RunId {
        &self.entries[0].run
    }

    /// What the run was asked.
    pub fn goal(&self) -> &GoalId {
        &self.entries[0].goal
    }

    /// Whether the run begins with it.
    pub fn starts_run(&self) -> bool {
        self.expected == Head::EMPTY
    }

    /// Whether the run ends with it.
    pub fn ends_run(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry.event, Event::RunEnded(_)))
    }

    /// The hash that is stored with an entry: one an append. It covers the whole append, and what is cut
    /// inside of one is noticed.
    pub(crate) fn stored_hash(&self, entry: &Entry) -> Option<Hash> {
        (entry.seq == self.head.seq).then_some(entry.hash)
    }

    /// Says whether the entries follow `found`, the head that the log has.
    pub fn check_head(&self, found: Head) -> Result<(), StoreError> {
        if found == self.expected {
            return Ok(());
        }
        Err(StoreError::Conflict {
            run: self.run().clone(),
            expected: self.expected.seq,
            found: found.seq,
        })
    }

    /// Says whether the entries are of the goal that the run was started with.
    pub fn check_goal(&self, stored: &str) -> Result<(), StoreError> {
        if self.goal().as_str() == stored {
            return Ok(());
        }
        let why = format!("run {} has another goal than the entries", self.run());
        Err(StoreError::NotAppendable { why })
    }
}

fn blobs(entries: &[Entry]) -> Result<Vec<(BlobRef, Blob)>, StoreError> {
    const MARK: &[u8] = br#""blob":"#;
    let mut blobs = Vec::new();
    for entry in entries {
        // Most bodies refer to no blob, and looking is cheaper than cloning the event. A quotation mark
        // within a text is escaped, so the mark is never missed.
        if memchr::memmem::find(&entry.body, MARK).is_none() {
            continue;
        }
        let mut event = entry.event.clone();
        let texts = event.texts_mut().into_iter();
        let texts = texts.filter_map(|text| Some((text.blob()?, text.blob_content())));
        let mut named: Vec<(BlobRef, Option<Blob>)> = texts.collect();
        let images = event.images().iter();
        named.extend(images.map(|image| (image.blob(), image.blob_content())));
        for (reference, content) in named {
            let Some(content) = content else {
                let (seq, hash) = (entry.seq, reference.hash);
                let why = format!("entry {seq} has blob {hash} without its content");
                return Err(StoreError::NotAppendable { why });
            };
            blobs.push((reference, content));
        }
    }
    Ok(blobs)
}
