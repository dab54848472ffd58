-- The tables of a workspace's store as they are in a file, where the same statements are sent to them. All texts are
-- compared byte by byte, as in a file. `head` is the row that whoever writes locks first; it says which event was the last.
CREATE TABLE head (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    row     bigint NOT NULL
);
INSERT INTO head (row) VALUES (0);

-- Events are numbered without gap, also where one is taken back: a sequence would leave gaps.
CREATE FUNCTION next_row() RETURNS bigint LANGUAGE sql AS
$$ UPDATE bonded_workspace.head SET row = row + 1 RETURNING row $$;

CREATE TABLE workspace (
    key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         bytea NOT NULL UNIQUE,
    name       text COLLATE "C" NOT NULL,
    state      text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_seq   bigint NOT NULL
);

CREATE TABLE event (
    row        bigint PRIMARY KEY DEFAULT next_row(),
    id         bytea NOT NULL UNIQUE,
    workspace  bigint NOT NULL REFERENCES workspace (key),
    seq        bigint NOT NULL,
    at         bigint NOT NULL,
    note       bigint,
    version    bigint,
    depth      bigint NOT NULL,
    cause      bytea,
    request_id text COLLATE "C" NOT NULL,
    actor      text COLLATE "C" NOT NULL,
    body       text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX event_of_workspace ON event (workspace, seq);
CREATE UNIQUE INDEX event_of_note ON event (note, version) WHERE note IS NOT NULL;

-- Long texts by their hash; packed ones are deflated.
CREATE TABLE blob (
    hash   bytea PRIMARY KEY,
    packed smallint NOT NULL,
    bytes  bytea NOT NULL
);
ALTER TABLE blob ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- For owners of the tables too, whom no right is refused.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON blob
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();

CREATE TABLE member (
    workspace bigint NOT NULL REFERENCES workspace (key),
    "user"    bytea NOT NULL,
    role      text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, "user")
);
CREATE INDEX member_of_user ON member ("user");

-- A short text lies in the row, a long one is named by its hash. `written` is the row of the note's last event.
CREATE TABLE note (
    key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         bytea NOT NULL UNIQUE,
    workspace  bigint NOT NULL REFERENCES workspace (key),
    title      text COLLATE "C" NOT NULL,
    folded     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    scope      text COLLATE "C" NOT NULL,
    keywords   text COLLATE "C" NOT NULL,
    metadata   text COLLATE "C" NOT NULL,
    text       text COLLATE "C",
    blob       text COLLATE "C",
    version    bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    written    bigint
);
CREATE INDEX note_by_update ON note (workspace, updated_at DESC, id);
CREATE INDEX note_by_creation ON note (workspace, created_at DESC, id);
CREATE INDEX note_by_title ON note (workspace, folded, id);
CREATE INDEX note_by_kind ON note (workspace, kind, updated_at DESC, id);
CREATE INDEX note_by_written ON note (written);

-- A note at some of its versions, so that no history is long to fold.
CREATE TABLE snapshot (
    note    bigint NOT NULL REFERENCES note (key),
    version bigint NOT NULL,
    body    text COLLATE "C" NOT NULL,
    PRIMARY KEY (note, version)
);

CREATE TABLE link (
    source    bigint NOT NULL REFERENCES note (key),
    workspace bigint NOT NULL,
    folded    text COLLATE "C" NOT NULL,
    target    text COLLATE "C" NOT NULL,
    PRIMARY KEY (source, target)
);
CREATE INDEX link_by_target ON link (workspace, folded, source);

-- What a note was called before: links that were written then still lead to it. `row` is that of the event with which it
-- was called otherwise.
CREATE TABLE former_title (
    workspace bigint NOT NULL,
    folded    text COLLATE "C" NOT NULL,
    note      bigint NOT NULL REFERENCES note (key),
    row       bigint NOT NULL,
    PRIMARY KEY (workspace, folded, note)
);
CREATE INDEX former_title_of_note ON former_title (note);

-- Where words are, by the row of the note's last event: their places, in the title (weight A), in headings (B), in the
-- keywords (C) and in the text (D). A kind and a workspace are words too, which no text can hold. `tokens` is how many words
-- there are, and `word_total` how many in all notes.
CREATE TABLE words (
    written   bigint PRIMARY KEY,
    workspace bigint NOT NULL,
    tokens    bigint NOT NULL,
    words     tsvector NOT NULL,
    titles    tsvector NOT NULL,
    headings  tsvector NOT NULL
);
CREATE INDEX words_of_workspace ON words (workspace, written DESC);
CREATE INDEX words_by_word ON words USING gin (words);
CREATE INDEX words_by_title ON words USING gin (titles);
CREATE INDEX words_by_heading ON words USING gin (headings);
CREATE TABLE word_total (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    notes   bigint NOT NULL,
    tokens  bigint NOT NULL
);
INSERT INTO word_total (notes, tokens) VALUES (0, 0);
CREATE FUNCTION count_words() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE bonded_workspace.word_total SET notes = notes + 1, tokens = tokens + new.tokens;
    ELSE
        UPDATE bonded_workspace.word_total SET notes = notes - 1, tokens = tokens - old.tokens;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER count_words AFTER INSERT OR DELETE ON words FOR EACH ROW EXECUTE FUNCTION count_words();

-- What an embedding model makes of each note, and for which notes it has not said so yet.
CREATE TABLE model (
    key  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE vector (
    model     bigint NOT NULL REFERENCES model (key),
    workspace bigint NOT NULL,
    note      bigint NOT NULL REFERENCES note (key),
    numbers   bytea NOT NULL,
    PRIMARY KEY (model, workspace, note)
);
CREATE TABLE wanted (
    model bigint NOT NULL REFERENCES model (key),
    note  bigint NOT NULL REFERENCES note (key),
    PRIMARY KEY (model, note)
);

CREATE TABLE rule (
    key       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id        bytea NOT NULL UNIQUE,
    workspace bigint NOT NULL REFERENCES workspace (key),
    enabled   smallint NOT NULL,
    deleted   smallint NOT NULL,
    body      text COLLATE "C" NOT NULL
);
CREATE INDEX rule_of_workspace ON rule (workspace) WHERE deleted = 0;
CREATE INDEX rule_enabled ON rule (workspace) WHERE enabled = 1 AND deleted = 0;

-- One run for each rule and event, or instant, whichever process saw it.
CREATE TABLE run (
    key         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL UNIQUE,
    rule        bytea NOT NULL,
    workspace   bigint NOT NULL REFERENCES workspace (key),
    event       bytea NOT NULL,
    status      text COLLATE "C" NOT NULL,
    depth       bigint NOT NULL,
    queued_at   bigint NOT NULL,
    started_at  bigint,
    finished_at bigint,
    error_code  text COLLATE "C",
    result      text COLLATE "C" NOT NULL,
    audit       text COLLATE "C",
    request     text COLLATE "C",
    UNIQUE (rule, event)
);
CREATE INDEX run_of_workspace ON run (workspace, key);
CREATE INDEX run_by_status ON run (status, key);
CREATE INDEX run_open ON run (rule) WHERE status IN ('queued', 'running');
CREATE INDEX run_queued ON run (workspace, rule, key) WHERE status = 'queued';

CREATE TABLE operation (
    key       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id        bytea NOT NULL UNIQUE,
    run       text COLLATE "C" NOT NULL,
    workspace bigint NOT NULL REFERENCES workspace (key),
    place     bigint NOT NULL,
    status    text COLLATE "C" NOT NULL,
    body      text COLLATE "C" NOT NULL
);
CREATE INDEX operation_of_run ON operation (run, place);
CREATE INDEX operation_pending ON operation (workspace, key) WHERE status = 'pending';

-- `closed` is the row of the event that closed it.
CREATE TABLE issue (
    event     bigint PRIMARY KEY REFERENCES event (row),
    workspace bigint NOT NULL REFERENCES workspace (key),
    closed    bigint
);
CREATE INDEX issue_of_workspace ON issue (workspace, event);
CREATE INDEX issue_open ON issue (workspace, event) WHERE closed IS NULL;

-- How far the rule engine has looked: at events, and at the instants of each schedule.
CREATE TABLE cursor (
    name  text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL
);
CREATE TABLE schedule (
    rule  bytea PRIMARY KEY,
    until bigint NOT NULL
);

-- Which process fires the rules, and until when others leave that to it.
CREATE TABLE lease (
    name   text COLLATE "C" PRIMARY KEY,
    holder text COLLATE "C" NOT NULL,
    until  timestamptz NOT NULL
);

-- Writes that may be asked for again, and what they came to.
CREATE TABLE answer (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    at          bigint NOT NULL,
    first_row   bigint NOT NULL,
    rows        bigint NOT NULL,
    outcome     text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX answer_by_age ON answer (at);

CREATE TABLE "user" (
    id         bytea PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    folded     text COLLATE "C" NOT NULL UNIQUE,
    is_owner   smallint NOT NULL,
    password   text COLLATE "C",
    created_at bigint NOT NULL,
    state      text COLLATE "C" NOT NULL DEFAULT 'active'
);
CREATE UNIQUE INDEX one_owner ON "user" (is_owner) WHERE is_owner = 1;
-- Only hashes: who reads these cannot log in with them. A token that was revoked stays known.
CREATE TABLE token (
    hash         bytea PRIMARY KEY,
    "user"       bytea NOT NULL REFERENCES "user" (id),
    label        text COLLATE "C" NOT NULL,
    created_at   bigint NOT NULL,
    last_used_at bigint,
    revoked_at   bigint
);
CREATE INDEX token_of_user ON token ("user");
CREATE TABLE session (
    hash       bytea PRIMARY KEY,
    "user"     bytea NOT NULL REFERENCES "user" (id),
    csrf       text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX session_by_end ON session (expires_at);
CREATE INDEX session_of_user ON session ("user");
CREATE TABLE invitation (
    hash       bytea PRIMARY KEY,
    "user"     bytea NOT NULL REFERENCES "user" (id),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX invitation_of_user ON invitation ("user");

-- What rules want people to see, and what each person has read of it.
CREATE TABLE notice (
    event     bigint PRIMARY KEY REFERENCES event (row),
    workspace bigint NOT NULL REFERENCES workspace (key)
);
CREATE INDEX notice_of_workspace ON notice (workspace, event);
CREATE TABLE notice_read (
    "user" bytea NOT NULL REFERENCES "user" (id),
    notice bigint NOT NULL REFERENCES notice (event),
    PRIMARY KEY ("user", notice)
);

-- What rules sign with. It is kept as it is, because both sides of a signature need it, and is in no event.
CREATE TABLE rule_secret (
    rule    bytea PRIMARY KEY,
    secret  text COLLATE "C" NOT NULL,
    made_at bigint NOT NULL
);

CREATE TABLE attachment (
    event   bigint PRIMARY KEY REFERENCES event (row),
    note    bigint NOT NULL REFERENCES note (key),
    removed bigint
);
CREATE INDEX attachment_of_note ON attachment (note, event);

-- Functions that SQLite has. No value of the server holds a NUL, which JSON may name: it is written as the program writes
-- NULs in texts, and what stands for it too.
CREATE FUNCTION hex(bytes bytea) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT upper(encode(bytes, 'hex')) $$;
CREATE FUNCTION without_nul(text text) RETURNS json LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN strpos(text, '\u000') = 0 THEN text::json ELSE
    regexp_replace(
        regexp_replace(text, '(?<!\\)((?:\\\\)*)\\u0001', '\1\\u00011', 'g'),
        '(?<!\\)((?:\\\\)*)\\u0000', '\1\\u00010', 'g')::json END $$;
CREATE FUNCTION json_extract(text text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE json_typeof(found) WHEN 'string' THEN found #>> '{}' END
   FROM (SELECT bonded_workspace.without_nul(text) #> string_to_array(substr(path, 3), '.')) AS it (found) $$;
CREATE FUNCTION json_each(text text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE AS
$$ SELECT json_array_elements_text(bonded_workspace.without_nul(text)) $$;

-- How many notes have a keyword; deleted notes count for none. Kept by the triggers, so that no note need be read.
CREATE TABLE keyword (
    workspace bigint NOT NULL REFERENCES workspace (key),
    keyword   text COLLATE "C" NOT NULL,
    notes     bigint NOT NULL,
    PRIMARY KEY (workspace, keyword)
);
CREATE INDEX keyword_by_use ON keyword (workspace, notes DESC, keyword);
CREATE FUNCTION count_keywords() RETURNS trigger LANGUAGE plpgsql SET search_path = bonded_workspace AS
$$ BEGIN
    IF TG_OP = 'UPDATE' AND old.deleted_at IS NULL THEN
        UPDATE keyword SET notes = notes - 1
        WHERE workspace = old.workspace AND keyword IN (SELECT value FROM json_each(old.keywords));
        DELETE FROM keyword
        WHERE workspace = old.workspace AND notes = 0 AND keyword IN (SELECT value FROM json_each(old.keywords));
    END IF;
    IF new.deleted_at IS NULL THEN
        INSERT INTO keyword (workspace, keyword, notes)
        SELECT DISTINCT new.workspace, value, 1 FROM json_each(new.keywords)
        ON CONFLICT (workspace, keyword) DO UPDATE SET notes = keyword.notes + 1;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER keywords_of_new_note AFTER INSERT ON note
    FOR EACH ROW WHEN (new.keywords <> '[]') EXECUTE FUNCTION count_keywords();
CREATE TRIGGER keywords_of_changed_note AFTER UPDATE OF keywords, deleted_at ON note
    FOR EACH ROW WHEN (new.keywords <> old.keywords OR (new.deleted_at IS NULL) <> (old.deleted_at IS NULL))
    EXECUTE FUNCTION count_keywords();

-- Counts what can take something away from somebody who listens: whoever was let in at a count need not be asked again
-- until it has grown. Kept by the triggers, so that no way to write passes it by; when a token was used last is not counted.
CREATE TABLE access_version (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version bigint NOT NULL
);
INSERT INTO access_version (version) VALUES (1);
CREATE FUNCTION count_access() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN UPDATE bonded_workspace.access_version SET version = version + 1; RETURN NULL; END $$;
CREATE TRIGGER access_by_user AFTER UPDATE OF id, state ON "user" FOR EACH ROW EXECUTE FUNCTION count_access();
CREATE TRIGGER access_by_deleted_user AFTER DELETE ON "user" FOR EACH ROW EXECUTE FUNCTION count_access();
CREATE TRIGGER access_by_session AFTER UPDATE OR DELETE ON session FOR EACH ROW EXECUTE FUNCTION count_access();
CREATE TRIGGER access_by_token AFTER UPDATE OF hash, "user", revoked_at ON token
    FOR EACH ROW EXECUTE FUNCTION count_access();
CREATE TRIGGER access_by_deleted_token AFTER DELETE ON token FOR EACH ROW EXECUTE FUNCTION count_access();
CREATE TRIGGER access_by_member AFTER INSERT OR UPDATE OR DELETE ON member
    FOR EACH ROW EXECUTE FUNCTION count_access();
CREATE TRIGGER access_by_workspace AFTER UPDATE OF id, state ON workspace
    FOR EACH ROW WHEN (new.id <> old.id OR new.state <> old.state) EXECUTE FUNCTION count_access();
CREATE TRIGGER access_by_deleted_workspace AFTER DELETE ON workspace FOR EACH ROW EXECUTE FUNCTION count_access();

-- How often somebody asked lately, and who guessed passwords. It may be lost: nothing of it is synced.
CREATE UNLOGGED TABLE rate (
    name  text COLLATE "C" PRIMARY KEY,
    times timestamptz[] NOT NULL
);
CREATE UNLOGGED TABLE guess (
    guesser text COLLATE "C" PRIMARY KEY,
    count   bigint NOT NULL,
    last_at bigint NOT NULL,
    next_at bigint NOT NULL
);

-- Rows that are updated all the time.
ALTER TABLE head SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE access_version SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE word_total SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

GRANT USAGE ON SCHEMA bonded_workspace TO bonded_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bonded_workspace TO bonded_app;
REVOKE INSERT, UPDATE, DELETE ON migration FROM bonded_app;
REVOKE UPDATE, DELETE ON event, blob FROM bonded_app;
