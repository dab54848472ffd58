-- The agent whose runs they are, which may be bounded too; empty where a run has none.
ALTER TABLE bonded.lane ADD COLUMN agent text NOT NULL DEFAULT '';
ALTER TABLE bonded.lane DROP CONSTRAINT lane_queue_submitter_needs_key;
ALTER TABLE bonded.lane ADD UNIQUE (queue, submitter, needs, agent);

-- The agents that are bounded. Who takes a run of one of them holds its row, after that of the queue.
CREATE TABLE bonded.agent (
    name       text PRIMARY KEY,
    concurrent int NOT NULL CHECK (concurrent >= 0)
);

-- What its worker must have at hand beside the directory, in words.
ALTER TABLE bonded.drive ADD COLUMN at_hand text[] NOT NULL DEFAULT '{}';

GRANT SELECT, INSERT, UPDATE, DELETE ON bonded.agent TO bonded_app;
