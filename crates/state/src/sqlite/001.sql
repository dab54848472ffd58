-- The log. A run's goal and id are written once; its entries carry them only in their hashes.
CREATE TABLE run (
    key  INTEGER PRIMARY KEY,
    id   TEXT NOT NULL UNIQUE,
    goal TEXT NOT NULL
) STRICT;

-- id is the run's key shifted left by 24 bits, plus the sequence number, so that a run's entries lie
-- together and no index is needed. The last entry of each append has the hash of the chain up to it; the
-- hashes between follow from the entries.
CREATE TABLE entry (
    id     INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    turn   INTEGER NOT NULL,
    body   BLOB NOT NULL,
    hash   BLOB
) STRICT;

-- Long texts by their hash.
CREATE TABLE blob (
    hash  BLOB NOT NULL UNIQUE,
    bytes BLOB NOT NULL
) STRICT;

-- Who drives a run. This is not part of the log: it comes and goes.
CREATE TABLE lease (
    run_key INTEGER PRIMARY KEY REFERENCES run (key),
    worker  TEXT NOT NULL
) STRICT;

CREATE TRIGGER run_not_updated BEFORE UPDATE ON run
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER run_not_deleted BEFORE DELETE ON run
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER entry_not_updated BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER entry_not_deleted BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER blob_not_updated BEFORE UPDATE ON blob
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER blob_not_deleted BEFORE DELETE ON blob
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

-- INSERT OR REPLACE deletes without firing the triggers above unless the connection asked for that.
CREATE TRIGGER run_not_replaced BEFORE INSERT ON run
WHEN EXISTS (SELECT 1 FROM run WHERE key = NEW.key) OR EXISTS (SELECT 1 FROM run WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER entry_not_replaced BEFORE INSERT ON entry
WHEN EXISTS (SELECT 1 FROM entry WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER blob_not_replaced BEFORE INSERT ON blob
WHEN EXISTS (SELECT 1 FROM blob WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM blob WHERE hash = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
