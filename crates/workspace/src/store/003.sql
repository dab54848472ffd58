-- People can be disabled and deleted; who is deleted leaves a row behind, because events name them.
ALTER TABLE user ADD COLUMN state TEXT NOT NULL DEFAULT 'active';
CREATE UNIQUE INDEX one_owner ON user (is_owner) WHERE is_owner = 1;

-- A token that was revoked stays known, so that it never opens anything again.
ALTER TABLE token ADD COLUMN last_used_at INTEGER;
ALTER TABLE token ADD COLUMN revoked_at INTEGER;
CREATE INDEX session_of_user ON session (user);

-- Lets somebody who has it set a password once. Only hashes, as with tokens.
CREATE TABLE invitation (
    hash       BLOB PRIMARY KEY,
    user       BLOB NOT NULL REFERENCES user (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invitation_of_user ON invitation (user);

-- Each workspace's queue is read by itself.
CREATE INDEX run_queued ON run (workspace, key) WHERE status = 'queued';
