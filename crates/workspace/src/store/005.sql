-- What rules want people to see. The row is that of the event.
CREATE TABLE notice (
    event     INTEGER PRIMARY KEY REFERENCES event (row),
    workspace INTEGER NOT NULL REFERENCES workspace (key)
) STRICT;
CREATE INDEX notice_of_workspace ON notice (workspace, event);
-- Each person's own marks; like accounts, they follow from no event.
CREATE TABLE notice_read (
    user   BLOB NOT NULL REFERENCES user (id),
    notice INTEGER NOT NULL REFERENCES notice (event),
    PRIMARY KEY (user, notice)
) STRICT, WITHOUT ROWID;

-- What rules sign with. It is kept as it is, because both sides of a signature need it, and is in no event.
CREATE TABLE rule_secret (
    rule    BLOB PRIMARY KEY,
    secret  TEXT NOT NULL,
    made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The row of the event that closed it.
ALTER TABLE issue ADD COLUMN closed INTEGER;
CREATE INDEX issue_open ON issue (workspace, event) WHERE closed IS NULL;

-- Files of notes, by the event that added them; their contents lie beside this file, under their hashes.
CREATE TABLE attachment (
    event   INTEGER PRIMARY KEY REFERENCES event (row),
    note    INTEGER NOT NULL REFERENCES note (key),
    removed INTEGER
) STRICT;
CREATE INDEX attachment_of_note ON attachment (note, event);
