-- Words are kept in the order in which their notes were written last, so that the newest of many are found without a
-- look at the others. A row id in the tables of words is the workspace's key, shifted left by 32 bits, plus `written`.
-- The old rows went by the notes' keys; the notes in `unindexed` have none yet and get theirs when the file is opened.
DROP TABLE words;

-- The row of the note's last event.
ALTER TABLE note ADD COLUMN written INTEGER;
UPDATE note SET written = (SELECT row FROM event WHERE event.note = note.key ORDER BY version DESC LIMIT 1);
CREATE INDEX note_by_written ON note (written, updated_at, id);

-- They keep no texts, only where words are. Each row also holds the note's kind as a word that no text can hold. The
-- words of titles and of headings are there once more by themselves: to look for a word in one column of `words` is to
-- read every place where it stands in any.
CREATE VIRTUAL TABLE words USING fts5 (
    title, headings, body, keywords,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE titles USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE headings USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE unindexed (
    workspace INTEGER NOT NULL,
    written   INTEGER NOT NULL,
    note      INTEGER NOT NULL REFERENCES note (key),
    PRIMARY KEY (workspace, written)
) STRICT, WITHOUT ROWID;
INSERT INTO unindexed SELECT workspace, written, key FROM note WHERE deleted_at IS NULL;
