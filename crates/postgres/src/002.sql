-- What a run waits for in the queue: a queue, the person or program that asked, and the labels that a worker must have.
-- Runs that have these in common are a lane. There are few lanes: where the tables are distributed by run, this one and that
-- of the queues and of the workers are on every node.
CREATE TABLE bonded.lane (
    lane      int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue     text NOT NULL,
    submitter text NOT NULL,
    needs     text[] NOT NULL,
    UNIQUE (queue, submitter, needs)
);

-- The queues that are bounded. Who takes a run from one of them holds its row.
CREATE TABLE bonded.queue (
    name       text PRIMARY KEY,
    concurrent int NOT NULL CHECK (concurrent >= 0)
);

-- state: 0 queued, 1 driven, 2 waits for a person, 3 ended, 4 driven by who began it and never taken from a queue.
-- ready: from when on it may be taken; of a run that waits, from when on it is looked at again.
-- taken: when it was last taken. why: what kept the last worker from driving it.
ALTER TABLE bonded.drive
    ADD COLUMN state smallint NOT NULL DEFAULT 4,
    ADD COLUMN lane  int,
    ADD COLUMN ready timestamptz,
    ADD COLUMN taken timestamptz,
    ADD COLUMN dir   text,
    ADD COLUMN why   text;

-- An append changes none of these columns, so that it touches no index.
CREATE INDEX queued ON bonded.drive (lane, ready) WHERE state = 0;
CREATE INDEX driven ON bonded.drive (lane) WHERE state = 1;
CREATE INDEX asked ON bonded.drive (ready) WHERE state = 2;
CREATE INDEX taken ON bonded.drive (lane, taken) WHERE taken IS NOT NULL;
CREATE INDEX held ON bonded.drive (worker) WHERE worker IS NOT NULL;

-- queues: what it takes runs from; none for a process that drives its own.
ALTER TABLE bonded.worker
    ADD COLUMN since      timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN queues     text[],
    ADD COLUMN labels     text[] NOT NULL DEFAULT '{}',
    ADD COLUMN concurrent int,
    ADD COLUMN missing    text[] NOT NULL DEFAULT '{}';

GRANT SELECT, INSERT ON bonded.lane TO bonded_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON bonded.queue TO bonded_app;
GRANT DELETE ON bonded.worker TO bonded_app;
