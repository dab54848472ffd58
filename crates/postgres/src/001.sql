-- The log. A run's goal and id are written once. Every table but that of the workers is keyed by the run first.
CREATE TABLE bonded.run (
    run  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id   text COLLATE "C" NOT NULL UNIQUE,
    goal text NOT NULL
);

-- One row an append: its entries one after the other, the hash of the last, and the hashes of the long texts that they
-- refer to, 32 bytes each.
CREATE TABLE bonded.step (
    run   bigint NOT NULL,
    first int NOT NULL,
    last  int NOT NULL,
    hash  bytea NOT NULL,
    blobs bytea,
    body  bytea NOT NULL,
    PRIMARY KEY (run, first)
);

-- Long texts by their hash.
CREATE TABLE bonded.blob (
    run   bigint NOT NULL,
    hash  bytea NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (run, hash)
);

-- Where the log of a run ends, and who drives it. The epoch grows with every claim; an append of a driver names it.
CREATE TABLE bonded.drive (
    run    bigint PRIMARY KEY,
    epoch  bigint NOT NULL,
    worker bigint,
    head   int NOT NULL,
    hash   bytea NOT NULL
);

-- The processes that drive runs, a new row for each. One that is dead stays dead.
CREATE TABLE bonded.worker (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    text NOT NULL,
    expires timestamptz NOT NULL,
    dead    boolean NOT NULL DEFAULT false
);

-- These two are updated all the time.
ALTER TABLE bonded.drive SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE bonded.worker SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- For owners of the tables too, whom no right is refused.
CREATE FUNCTION bonded.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bonded.run
    FOR EACH STATEMENT EXECUTE FUNCTION bonded.refuse();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bonded.step
    FOR EACH STATEMENT EXECUTE FUNCTION bonded.refuse();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bonded.blob
    FOR EACH STATEMENT EXECUTE FUNCTION bonded.refuse();

GRANT USAGE ON SCHEMA bonded TO bonded_app;
GRANT SELECT ON bonded.migration TO bonded_app;
GRANT SELECT, INSERT ON bonded.run, bonded.step, bonded.blob TO bonded_app;
GRANT SELECT, INSERT, UPDATE ON bonded.drive, bonded.worker TO bonded_app;
