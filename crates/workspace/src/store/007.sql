-- Counts what can take something away from somebody who listens: whoever was let in at a count need not be asked again
-- until it has grown. Kept by the triggers, so that no way to write passes it by; when a token was used last is not counted.
CREATE TABLE access_version (
    version INTEGER NOT NULL
) STRICT;
INSERT INTO access_version (version) VALUES (1);

CREATE TRIGGER access_by_user AFTER UPDATE OF id, state ON user
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_deleted_user AFTER DELETE ON user
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_session AFTER UPDATE ON session
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_ended_session AFTER DELETE ON session
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_token AFTER UPDATE OF hash, user, revoked_at ON token
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_deleted_token AFTER DELETE ON token
BEGIN UPDATE access_version SET version = version + 1; END;
-- A role is set with INSERT OR REPLACE, which is no update.
CREATE TRIGGER access_by_new_member AFTER INSERT ON member
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_member AFTER UPDATE ON member
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_removed_member AFTER DELETE ON member
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_workspace AFTER UPDATE OF id, state ON workspace
WHEN new.id <> old.id OR new.state <> old.state
BEGIN UPDATE access_version SET version = version + 1; END;
CREATE TRIGGER access_by_deleted_workspace AFTER DELETE ON workspace
BEGIN UPDATE access_version SET version = version + 1; END;
