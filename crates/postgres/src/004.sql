-- The contents that the items of a plan travel with, each by its BLAKE3 hash and in pieces. They are no part of the log, and
-- are removed when their plan has ended. Keyed by the plan first: no statement needs two plans.
CREATE TABLE bonded.object (
    plan   text COLLATE "C" NOT NULL,
    hash   bytea NOT NULL,
    number int NOT NULL,
    count  int NOT NULL,
    bytes  bytea NOT NULL CHECK (length(bytes) <= 1048576),
    PRIMARY KEY (plan, hash, number)
);

-- In what state the copy of a run was after its calls: the hash of a list of changes, which is an object of its plan.
CREATE TABLE bonded.copy_state (
    run    bigint NOT NULL,
    number int NOT NULL,
    hash   bytea NOT NULL,
    PRIMARY KEY (run, number)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bonded.copy_state
    FOR EACH STATEMENT EXECUTE FUNCTION bonded.refuse();

-- What was put there stays as it was put until all of the plan goes. Who uses the store can remove nothing but that, and not
-- while a run of the plan waits for a worker or has one. The ids of a plan's runs begin with its own and a dot.
CREATE FUNCTION bonded.remove_objects(of_plan text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF EXISTS (SELECT 1 FROM bonded.run r JOIN bonded.drive d USING (run)
        WHERE r.id >= (of_plan || '.') COLLATE "C" AND r.id < (of_plan || '/') COLLATE "C"
            AND d.lane IS NOT NULL AND d.state < 3) THEN
        RETURN false;
    END IF;
    DELETE FROM bonded.object WHERE plan = of_plan;
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION bonded.remove_objects(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bonded.remove_objects(text) TO bonded_app;
GRANT SELECT, INSERT ON bonded.object, bonded.copy_state TO bonded_app;
