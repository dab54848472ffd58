-- What the person who launched a run asked, in place of what the rule asks.
ALTER TABLE run ADD COLUMN request TEXT;

-- How many notes have a keyword; deleted notes count for none. Kept by the triggers, so that no note need be read.
CREATE TABLE keyword (
    workspace INTEGER NOT NULL REFERENCES workspace (key),
    keyword   TEXT NOT NULL,
    notes     INTEGER NOT NULL,
    PRIMARY KEY (workspace, keyword)
) STRICT, WITHOUT ROWID;
CREATE INDEX keyword_by_use ON keyword (workspace, notes DESC, keyword);
INSERT INTO keyword (workspace, keyword, notes)
SELECT note.workspace, used.value, count(DISTINCT note.key) FROM note, json_each(note.keywords) AS used
WHERE note.deleted_at IS NULL GROUP BY note.workspace, used.value;

CREATE TRIGGER keywords_of_new_note AFTER INSERT ON note WHEN new.keywords <> '[]'
BEGIN
    INSERT INTO keyword (workspace, keyword, notes)
    SELECT DISTINCT new.workspace, value, 1 FROM json_each(new.keywords) WHERE new.deleted_at IS NULL
    ON CONFLICT (workspace, keyword) DO UPDATE SET notes = notes + 1;
END;
CREATE TRIGGER keywords_of_changed_note AFTER UPDATE OF keywords, deleted_at ON note
WHEN new.keywords <> old.keywords OR (new.deleted_at IS NULL) <> (old.deleted_at IS NULL)
BEGIN
    UPDATE keyword SET notes = notes - 1
    WHERE workspace = old.workspace AND old.deleted_at IS NULL
        AND keyword IN (SELECT value FROM json_each(old.keywords));
    DELETE FROM keyword
    WHERE workspace = old.workspace AND notes = 0 AND keyword IN (SELECT value FROM json_each(old.keywords));
    INSERT INTO keyword (workspace, keyword, notes)
    SELECT DISTINCT new.workspace, value, 1 FROM json_each(new.keywords) WHERE new.deleted_at IS NULL
    ON CONFLICT (workspace, keyword) DO UPDATE SET notes = notes + 1;
END;
