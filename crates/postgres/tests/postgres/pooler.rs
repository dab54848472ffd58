//! Through a pooler in transaction mode every guarantee holds by what each transaction says, not by what a connection has.

use bonded_postgres::{Address, PostgresDatabase};
use bonded_state::database::{
    Committed, SchemaLayout, ServerDatabase as _, SessionUse, SqlFault, SqlValue,
};
use bonded_state::{ServerProblem, Store as _, StoreError};
use bonded_testkit::pooler::Pooler;
use bonded_testkit::postgres::PostgresServer;
use bonded_testkit::stores::logs::Log;

use crate::place::{Place, address, open};

const LAYOUT: SchemaLayout = SchemaLayout {
    schema: "shelf",
    migrations: &[
        "CREATE TABLE shelf.book (id bigint PRIMARY KEY, title text, is_lent boolean, weight float8, cover bytea); \
         GRANT USAGE ON SCHEMA shelf TO bonded_app; GRANT SELECT ON shelf.migration TO bonded_app; \
         GRANT SELECT, INSERT, UPDATE ON shelf.book TO bonded_app",
    ],
    usable_from: 1,
};

async fn pooled(ignored: &str) -> Option<(Place, Pooler)> {
    let place = Place::new().await?;
    let pooler = Pooler::start(place.database.server, ignored)?;
    Some((place, pooler))
}

#[tokio::test]
async fn a_pooler_is_recognised_whether_it_refuses_settings_or_drops_them() {
    for ignored in ["extra_float_digits", "options,extra_float_digits"] {
        let Some((place, pooler)) = pooled(ignored).await else {
            return;
        };
        let stores = [(); 3].map(|()| open(&pooler.address(&place.database, "app")));
        for (number, store) in stores.into_iter().enumerate() {
            let store = store.expect("it opens");
            let log = Log::with_turns(&format!("r{number}"), 3);
            log.append_all(&store).await;
            assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()), "{ignored}");
        }
    }
}

/// Has every connection that the pooler has to the server left with this.
fn leave_behind(server: &PostgresServer, address: &str, sql: &str) {
    let psql = server.programs().join("psql");
    let sessions: Vec<_> = (0..4)
        .map(|_| {
            let mut psql = std::process::Command::new(&psql);
            psql.args(["--no-psqlrc", "--quiet", "--dbname", address]);
            let text = format!("BEGIN; SELECT pg_sleep(0.3); COMMIT; {sql}");
            psql.args(["--command", &text])
                .stdout(std::process::Stdio::null());
            psql.spawn().expect("psql can be started")
        })
        .collect();
    for mut session in sessions {
        let ended = session.wait().expect("psql ends");
        assert!(ended.success(), "{ended}");
    }
}

#[tokio::test]
async fn what_other_clients_left_in_a_connection_does_not_count() {
    let Some((place, pooler)) = pooled("extra_float_digits").await else {
        return;
    };
    let through = pooler.address(&place.database, "app");
    // Who acts as what: written down by the server with each append.
    place.sql(
        "CREATE TABLE seen (who name, sync text); GRANT INSERT ON seen TO PUBLIC; \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            INSERT INTO public.seen VALUES (current_user, current_setting('synchronous_commit')); \
            PERFORM pg_sleep(0.1); RETURN new; END $$; \
         CREATE TRIGGER note BEFORE INSERT ON bonded.step FOR EACH ROW EXECUTE FUNCTION note(); \
         DROP ROLE IF EXISTS other; CREATE ROLE other; GRANT other TO app",
    );
    // The timeout comes last: it would hold for what follows. The beginning of a transaction has to be shorter, also on a
    // busy machine, and an append takes longer.
    leave_behind(
        place.database.server,
        &through,
        "SET synchronous_commit = off; SET search_path = pg_temp; SET default_transaction_isolation = serializable; \
         SET default_transaction_read_only = on; SET ROLE other; SET statement_timeout = 50",
    );
    let store = open(&through).expect("it opens");
    let log = Log::with_turns("r", 3);
    log.append_all(&store).await;
    assert_eq!(store.load(&log.id, 0).await, Ok(log.entries()));
    assert_eq!(
        place.sql("SELECT DISTINCT who, sync FROM seen"),
        "bonded_app|on"
    );
}

#[tokio::test]
async fn who_is_no_member_and_settings_that_lose_what_was_acknowledged_are_refused() {
    let Some((place, pooler)) = pooled("extra_float_digits").await else {
        return;
    };
    let through = pooler.address(&place.database, "app");
    let name = &place.database.name;
    place.sql(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = off"
    ));
    let found = open(&through).map(drop);
    let problem = ServerProblem::Unsynced {
        setting: "synchronous_commit = off".into(),
    };
    assert!(
        matches!(&found, Err(StoreError::Server { problem: it, .. }) if *it == problem),
        "{found:?}"
    );
    place.sql(&format!("ALTER DATABASE {name} RESET synchronous_commit"));
    place.sql("REVOKE USAGE ON SCHEMA bonded FROM bonded_app");
    let pooler = Pooler::start(place.database.server, "extra_float_digits");
    let pooler = pooler.expect("it is installed");
    let found = open(&pooler.address(&place.database, "app")).map(drop);
    assert!(
        matches!(
            &found,
            Err(StoreError::Server {
                problem: ServerProblem::Denied { .. },
                ..
            })
        ),
        "{found:?}"
    );
}

fn values() -> Vec<SqlValue> {
    vec![
        SqlValue::Integer(7),
        SqlValue::Text("a \\ 'b' \u{1f4d5}".into()),
        SqlValue::Integer(1),
        SqlValue::Real(1e-7),
        SqlValue::Bytes(vec![0, 1, 0xfe, 0xff]),
    ]
}

#[tokio::test]
async fn sessions_of_a_database_work_as_without_it() {
    let Some((place, pooler)) = pooled("extra_float_digits").await else {
        return;
    };
    let owner = address(&place.database.address("owner"));
    let made = bonded_postgres::initialise_schema(&owner, &["app".into()], LAYOUT).await;
    made.expect("it can be made");
    let through: Address = address(&pooler.address(&place.database, "app"));
    let work = move || {
        let database = PostgresDatabase::open(through, &LAYOUT).expect("it opens");
        let begin = |session_use| database.begin(session_use).expect("it begins");
        let session = begin(SessionUse::Write);
        let add = "INSERT INTO book VALUES ($1, $2, $3, $4, $5)";
        assert_eq!(session.execute(add, &values()), Ok(1));
        session.batch("SAVEPOINT s").expect("it is a savepoint");
        let again = session.execute(add, &values());
        assert!(matches!(again, Err(SqlFault::Constraint(_))), "{again:?}");
        session.batch("ROLLBACK TO s").expect("it goes back");
        assert_eq!(session.commit(), Committed::Yes);
        let undone = begin(SessionUse::Write);
        let none = [SqlValue::Integer(7), SqlValue::Null];
        let change = "UPDATE book SET title = $2 WHERE id = $1";
        assert_eq!(undone.execute(change, &none), Ok(1));
        drop(undone);
        for session_use in [SessionUse::Read, SessionUse::LookUp] {
            let session = begin(session_use);
            let one = [SqlValue::Integer(7)];
            let found = session.query("SELECT * FROM book WHERE id = $1", &one);
            assert_eq!(found, Ok(vec![values()]), "{session_use:?}");
        }
    };
    // Sessions block.
    tokio::task::spawn_blocking(work).await.expect("it works");
}
