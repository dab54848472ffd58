-- Each rule's queue is read by itself.
DROP INDEX run_queued;
CREATE INDEX run_queued ON run (workspace, rule, key) WHERE status = 'queued';

-- What a note was called before: links that were written then still lead to it. `row` is that of the event with which it
-- was called otherwise.
CREATE TABLE former_title (
    workspace INTEGER NOT NULL,
    folded    TEXT NOT NULL,
    note      INTEGER NOT NULL REFERENCES note (key),
    row       INTEGER NOT NULL,
    PRIMARY KEY (workspace, folded, note)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_title_of_note ON former_title (note);
-- Those of before follow from the events.
INSERT OR REPLACE INTO former_title (workspace, folded, note, row)
SELECT workspace, folded, note, row FROM (
    SELECT event.workspace AS workspace, event.note AS note, event.row AS row,
        lower(trim(lag(json_extract(event.body, '$.payload.title'))
            OVER (PARTITION BY event.note ORDER BY event.version))) AS folded,
        lower(trim(json_extract(event.body, '$.payload.title'))) AS now
    FROM event
    WHERE event.note IS NOT NULL AND json_extract(event.body, '$.payload.title') IS NOT NULL
) WHERE folded IS NOT NULL AND folded <> now ORDER BY row;
