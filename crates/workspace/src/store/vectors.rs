//! Search by meaning: what an embedding model makes of each note.
//!
//! A vector is kept as one byte for each number and a factor, a quarter of what it would be in full, because a search
//! reads all vectors of a workspace.

use super::connection::Connection;
use super::dialect::Dialect;
use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace_rules::meaning_text;
use rusqlite::params;

use super::codes::{count, number};
use super::error::{StoreFault, WorkspaceError};
use super::transaction::Transaction;
use super::workspace_store::WorkspaceStore;
use super::{blobs, rows};

/// A model's vector for a note at a version.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteVector {
    /// The note that it is of.
    pub note_id: NoteId,
    /// The version that the model was shown.
    pub version: u64,
    /// As the model gave them; they are brought to length 1 before they are kept.
    pub numbers: Vec<f32>,
}

/// A note that a model has not seen yet as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenNote {
    /// The note that waits.
    pub note_id: NoteId,
    /// The version to name when its vector comes.
    pub version: u64,
    /// As it stands; the text to show begins with it.
    pub title: String,
    /// What the model is to be shown.
    pub text: String,
}

/// A note that is near to what was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// The note that is near.
    pub note_id: NoteId,
    /// From -1 to 1.
    pub cosine: f32,
}

impl WorkspaceStore {
    /// Notes that a model has not seen yet as they are now.
    pub async fn notes_without_vector(
        &self,
        model: String,
        limit: u64,
    ) -> Result<Vec<UnseenNote>, WorkspaceError> {
        let name = model.clone();
        let known = self
            .read(move |connection| model_key(connection, &name))
            .await?;
        let key = match known {
            Some(key) => key,
            None => {
                self.change(move |transaction| add_model(transaction, &model))
                    .await?
            }
        };
        self.read(move |connection| wanted(connection, key, limit))
            .await
    }

    /// Keeps a model's vectors. One for a version that is no longer the note's is kept too, until a newer one comes.
    pub async fn put_vectors(
        &self,
        model: String,
        vectors: Vec<NoteVector>,
    ) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            let model = add_model(transaction, &model)?;
            for vector in &vectors {
                put(transaction.connection, model, vector)?;
            }
            Ok(())
        })
        .await
    }

    /// The notes of a workspace that are nearest in meaning, the nearest first, equal ones by id.
    pub async fn nearest(
        &self,
        workspace: WorkspaceId,
        model: String,
        numbers: Vec<f32>,
        limit: usize,
    ) -> Result<Vec<Nearest>, WorkspaceError> {
        self.read(move |connection| nearest(connection, workspace, &model, &numbers, limit))
            .await
    }
}

/// None for a model that was never asked for.
fn model_key(connection: Connection<'_>, model: &str) -> Result<Option<i64>, StoreFault> {
    let sql = "SELECT key FROM model WHERE name = ?1";
    rows::one(connection, sql, [model], |row| row.get(0))
}

/// The key of a model; a new one wants all notes.
fn add_model(transaction: &Transaction<'_>, model: &str) -> Result<i64, StoreFault> {
    let connection = transaction.connection;
    if let Some(key) = model_key(connection, model)? {
        return Ok(key);
    }
    let key = connection.insert("key", "INSERT INTO model (name) VALUES (?1)", [model])?;
    connection.execute(
        "INSERT INTO wanted (model, note) SELECT ?1, key FROM note WHERE deleted_at IS NULL",
        [key],
    )?;
    Ok(key)
}

/// In the order of their keys, so that a look which is cut off goes on where it was.
fn wanted(
    connection: Connection<'_>,
    model: i64,
    limit: u64,
) -> Result<Vec<UnseenNote>, StoreFault> {
    let sql = format!(
        "{} WHERE note.key IN (SELECT note FROM wanted WHERE model = ?1 ORDER BY note LIMIT ?2) ORDER BY note.key",
        rows::NOTE
    );
    // Long texts are let go of one by one, so that many of them are no burden.
    rows::all(connection, &sql, params![model, number(limit)], |row| {
        let (_, mut note) = rows::note(row)?;
        blobs::resolve(connection, &mut note.markdown)?;
        Ok(UnseenNote {
            note_id: note.note_id,
            version: note.version,
            text: meaning_text(&note.title, &note.markdown),
            title: note.title,
        })
    })
}

/// A vector of a note that is gone, or without a direction, is dropped. One that is late is kept, and the note stays
/// wanted.
fn put(connection: Connection<'_>, model: i64, vector: &NoteVector) -> Result<(), StoreFault> {
    let sql = "SELECT key, workspace, version FROM note WHERE id = ?1 AND deleted_at IS NULL";
    let found = rows::one(connection, sql, [vector.note_id.as_bytes()], |row| {
        let (key, workspace): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok((key, workspace, count(row.get(2)?)))
    })?;
    let (Some((key, workspace, version)), Some(numbers)) = (found, packed(&vector.numbers)) else {
        return Ok(());
    };
    connection.execute(
        "INSERT INTO vector (model, workspace, note, numbers) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (model, workspace, note) DO UPDATE SET numbers = excluded.numbers",
        params![model, workspace, key, numbers],
    )?;
    if version == vector.version {
        connection.execute(
            "DELETE FROM wanted WHERE model = ?1 AND note = ?2",
            [model, key],
        )?;
    }
    Ok(())
}

/// So many vectors of a server are in memory at once.
const VECTORS_AT_ONCE: i64 = 2000;

/// Reads every vector of the workspace once and keeps only the best, so that memory is bounded whatever there is.
fn nearest(
    connection: Connection<'_>,
    workspace: WorkspaceId,
    model: &str,
    numbers: &[f32],
    limit: usize,
) -> Result<Vec<Nearest>, StoreFault> {
    let place = rows::workspace_key(connection, workspace)?.zip(model_key(connection, model)?);
    let (Some((workspace, model)), Some(wanted)) = (place, normal(numbers)) else {
        return Ok(vec![]);
    };
    let at_once = match connection.dialect() {
        Dialect::Sqlite => i64::MAX,
        Dialect::Postgres => VECTORS_AT_ONCE,
    };
    let sql = "SELECT note, numbers FROM vector WHERE model = ?1 AND workspace = ?2 AND note > ?3 \
               ORDER BY note LIMIT ?4";
    let mut best = Best::new(limit);
    let (mut last, mut read) = (0, at_once);
    while read == at_once {
        read = 0;
        connection.each(sql, [model, workspace, last, at_once], |row| {
            (last, read) = (row.get(0)?, read + 1);
            let kept = row.get_ref(1)?.as_blob_or_null().unwrap_or_default();
            if let Some(cosine) = kept.and_then(|kept| cosine(kept, &wanted)) {
                best.offer(cosine, last);
            }
            Ok(())
        })?;
    }
    let mut notes = Vec::with_capacity(limit.min(1000));
    for (cosine, key) in best.ranked {
        let sql = "SELECT id FROM note WHERE key = ?1";
        let id = rows::one(connection, sql, [key], |row| row.get(0))?;
        notes.extend(id.map(|id| Nearest {
            note_id: NoteId::from_bytes(id),
            cosine,
        }));
    }
    notes.sort_by(|a, b| {
        b.cosine
            .total_cmp(&a.cosine)
            .then(a.note_id.cmp(&b.note_id))
    });
    Ok(notes)
}

/// The best so far, the best first; of equal ones those with the smaller keys.
struct Best {
    limit: usize,
    ranked: Vec<(f32, i64)>,
}

impl Best {
    /// Nothing is kept where nothing is wanted.
    fn new(limit: usize) -> Self {
        Self {
            limit,
            ranked: Vec::new(),
        }
    }

    /// Keeps the list sorted; one that is equal to the worst does not displace it.
    fn offer(&mut self, cosine: f32, key: i64) {
        let is_full = self.ranked.len() >= self.limit;
        let is_better = self.ranked.last().is_none_or(|(worst, _)| cosine > *worst);
        if self.limit == 0 || is_full && !is_better {
            return;
        }
        let at = self.ranked.partition_point(|(better, _)| *better >= cosine);
        self.ranked.insert(at, (cosine, key));
        self.ranked.truncate(self.limit);
    }
}

/// The vector with the length 1; `None` if it has no direction.
fn normal(numbers: &[f32]) -> Option<Vec<f32>> {
    let length = numbers.iter().map(|n| n * n).sum::<f32>().sqrt();
    let is_usable = length.is_finite() && length > 0.0;
    is_usable.then(|| numbers.iter().map(|n| n / length).collect())
}

/// A factor, then one byte for each number.
fn packed(numbers: &[f32]) -> Option<Vec<u8>> {
    let normal = normal(numbers)?;
    let largest = normal.iter().fold(0.0_f32, |most, n| most.max(n.abs()));
    let factor = largest / 127.0;
    let mut bytes = factor.to_le_bytes().to_vec();
    bytes.extend(normal.iter().map(|n| (n / factor).round() as i8 as u8));
    Some(bytes)
}

/// The cosine of the angle between a kept vector and a normal one; `None` if they are of different kinds.
fn cosine(kept: &[u8], wanted: &[f32]) -> Option<f32> {
    let (factor, kept) = kept.split_first_chunk::<4>()?;
    if kept.len() != wanted.len() {
        return None;
    }
    let product: f32 = kept
        .iter()
        .zip(wanted)
        .map(|(byte, n)| f32::from(*byte as i8) * n)
        .sum();
    Some((product * f32::from_le_bytes(*factor)).clamp(-1.0, 1.0))
}
