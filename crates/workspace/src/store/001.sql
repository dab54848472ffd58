-- The stream of events is the truth; all other tables but those of accounts, keys and cursors follow from it.
CREATE TABLE workspace (
    key        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq   INTEGER NOT NULL
) STRICT;

CREATE TABLE event (
    row        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    workspace  INTEGER NOT NULL REFERENCES workspace (key),
    seq        INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    note       INTEGER,
    version    INTEGER,
    depth      INTEGER NOT NULL,
    cause      BLOB,
    request_id TEXT NOT NULL,
    actor      TEXT NOT NULL,
    body       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_of_workspace ON event (workspace, seq);
CREATE UNIQUE INDEX event_of_note ON event (note, version) WHERE note IS NOT NULL;

-- Long texts by their hash; packed ones are deflated.
CREATE TABLE blob (
    hash   BLOB NOT NULL UNIQUE,
    packed INTEGER NOT NULL,
    bytes  BLOB NOT NULL
) STRICT;

CREATE TRIGGER event_not_updated BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER event_not_deleted BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER blob_not_updated BEFORE UPDATE ON blob
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER blob_not_deleted BEFORE DELETE ON blob
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- INSERT OR REPLACE deletes without firing the triggers above unless the connection asked for that.
CREATE TRIGGER event_not_replaced BEFORE INSERT ON event
WHEN EXISTS (SELECT 1 FROM event WHERE row = NEW.row) OR EXISTS (SELECT 1 FROM event WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER blob_not_replaced BEFORE INSERT ON blob
WHEN EXISTS (SELECT 1 FROM blob WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM blob WHERE hash = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE member (
    workspace INTEGER NOT NULL REFERENCES workspace (key),
    user      BLOB NOT NULL,
    role      TEXT NOT NULL,
    PRIMARY KEY (workspace, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_of_user ON member (user);

-- A short text lies in the row, a long one is named by its hash.
CREATE TABLE note (
    key        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    workspace  INTEGER NOT NULL REFERENCES workspace (key),
    title      TEXT NOT NULL,
    folded     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    keywords   TEXT NOT NULL,
    metadata   TEXT NOT NULL,
    text       TEXT,
    blob       TEXT,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
-- Each index holds all that is needed to skip a row.
CREATE INDEX note_by_update ON note (workspace, updated_at DESC, id, deleted_at, kind);
CREATE INDEX note_by_creation ON note (workspace, created_at DESC, id, deleted_at, kind);
CREATE INDEX note_by_title ON note (workspace, folded, id, deleted_at, kind);
CREATE INDEX note_by_kind ON note (workspace, kind, updated_at DESC, id, deleted_at);

-- A note at some of its versions, so that no history is long to fold.
CREATE TABLE snapshot (
    note    INTEGER NOT NULL REFERENCES note (key),
    version INTEGER NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (note, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE link (
    source    INTEGER NOT NULL REFERENCES note (key),
    workspace INTEGER NOT NULL,
    folded    TEXT NOT NULL,
    target    TEXT NOT NULL,
    PRIMARY KEY (source, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_by_target ON link (workspace, folded, source);

-- It keeps no texts, only where words are. The row id is the workspace's key, shifted left by 32 bits, plus the note's,
-- so that a workspace is searched without a look at the others.
CREATE VIRTUAL TABLE words USING fts5 (
    title, headings, body, keywords,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

-- What an embedding model makes of each note, and for which notes it has not said so yet.
CREATE TABLE model (
    key  INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE vector (
    model     INTEGER NOT NULL REFERENCES model (key),
    workspace INTEGER NOT NULL,
    note      INTEGER NOT NULL REFERENCES note (key),
    numbers   BLOB NOT NULL,
    PRIMARY KEY (model, workspace, note)
) STRICT, WITHOUT ROWID;
CREATE TABLE wanted (
    model INTEGER NOT NULL REFERENCES model (key),
    note  INTEGER NOT NULL REFERENCES note (key),
    PRIMARY KEY (model, note)
) STRICT, WITHOUT ROWID;

CREATE TABLE rule (
    key       INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE,
    workspace INTEGER NOT NULL REFERENCES workspace (key),
    enabled   INTEGER NOT NULL,
    deleted   INTEGER NOT NULL,
    body      TEXT NOT NULL
) STRICT;
CREATE INDEX rule_of_workspace ON rule (workspace) WHERE deleted = 0;
CREATE INDEX rule_enabled ON rule (workspace) WHERE enabled = 1 AND deleted = 0;

CREATE TABLE run (
    key         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    rule        BLOB NOT NULL,
    workspace   INTEGER NOT NULL REFERENCES workspace (key),
    event       BLOB NOT NULL,
    status      TEXT NOT NULL,
    depth       INTEGER NOT NULL,
    queued_at   INTEGER NOT NULL,
    started_at  INTEGER,
    finished_at INTEGER,
    error_code  TEXT,
    result      TEXT NOT NULL,
    audit       TEXT,
    UNIQUE (rule, event)
) STRICT;
CREATE INDEX run_of_workspace ON run (workspace, key);
CREATE INDEX run_by_status ON run (status, key);
CREATE INDEX run_open ON run (rule) WHERE status IN ('queued', 'running');

CREATE TABLE operation (
    key       INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE,
    run       TEXT NOT NULL,
    workspace INTEGER NOT NULL REFERENCES workspace (key),
    place     INTEGER NOT NULL,
    status    TEXT NOT NULL,
    body      TEXT NOT NULL
) STRICT;
CREATE INDEX operation_of_run ON operation (run, place);
CREATE INDEX operation_pending ON operation (workspace, key) WHERE status = 'pending';

CREATE TABLE issue (
    event     INTEGER PRIMARY KEY REFERENCES event (row),
    workspace INTEGER NOT NULL REFERENCES workspace (key)
) STRICT;
CREATE INDEX issue_of_workspace ON issue (workspace, event);

-- How far the rule engine has looked: at events, and at the instants of each schedule.
CREATE TABLE cursor (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE schedule (
    rule  BLOB PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Writes that may be asked for again, and what they came to.
CREATE TABLE answer (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    at          INTEGER NOT NULL,
    first_row   INTEGER NOT NULL,
    rows        INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_by_age ON answer (at);

CREATE TABLE user (
    id         BLOB PRIMARY KEY,
    name       TEXT NOT NULL,
    folded     TEXT NOT NULL UNIQUE,
    is_owner   INTEGER NOT NULL,
    password   TEXT,
    created_at INTEGER NOT NULL
) STRICT;
-- Only hashes: who reads this file cannot log in with it.
CREATE TABLE token (
    hash       BLOB PRIMARY KEY,
    user       BLOB NOT NULL REFERENCES user (id),
    label      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX token_of_user ON token (user);
CREATE TABLE session (
    hash       BLOB PRIMARY KEY,
    user       BLOB NOT NULL REFERENCES user (id),
    csrf       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_end ON session (expires_at);
