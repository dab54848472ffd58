//! Notes as files: any text is a note or refused, and what a note is written as is read back as that note.

#![no_main]

use bonded_kernel::{Millis, NoteId, WorkspaceId};
use bonded_workspace_rules::{Note, check_metadata};
use bonded_workspace::front_matter::{self, NoteFile};
use libfuzzer_sys::fuzz_target;

/// The last moment that a file can name.
const MILLIS_MAX: u64 = 253_370_764_800_000;

fn note(file: &NoteFile) -> Note {
    let fields = file.fields.clone();
    let at = |time: Option<Millis>| Millis(time.map_or(0, |time| time.0).min(MILLIS_MAX));
    Note {
        note_id: fields.id.unwrap_or(NoteId::from_bytes([7; 16])),
        workspace_id: WorkspaceId::from_bytes([1; 16]),
        title: fields.title.unwrap_or_default(),
        markdown: file.markdown.as_str().into(),
        note_kind: fields.kind.unwrap_or_default(),
        access_scope: fields.access.unwrap_or_default(),
        keywords: fields.keywords,
        metadata: fields.metadata,
        version: 1,
        created_at: at(file.created),
        updated_at: at(file.updated),
        deleted_at: None,
    }
}

fuzz_target!(|text: &str| {
    let Ok(file) = front_matter::read(text) else {
        return;
    };
    assert!(text.ends_with(&file.markdown), "the text is taken as it is");
    let note = note(&file);
    // Only what a note can be is ever written.
    if check_metadata(&note.metadata).is_err() {
        return;
    }
    let written = front_matter::write(&note);
    let read = front_matter::read(&written);
    let read = read.unwrap_or_else(|why| panic!("{why}\n{written}"));
    assert_eq!(self::note(&read), note);
    assert_eq!(front_matter::write(&self::note(&read)), written);
    let name = front_matter::file_name(&note);
    assert!(name.ends_with(".md") && !name.contains(['/', '\0']) && !name.starts_with('.'));
});
