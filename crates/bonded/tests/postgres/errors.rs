//! What a person is told of a server that cannot be used.

use bonded_testkit::place::{Place, done};
use bonded_testkit::postgres::{PASSWORD, PostgresServer, free_port};

#[test]
fn what_is_wrong_with_a_server_has_a_code_and_no_password_is_shown() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let database = server.database();
    let on_port = |user: &str, password: &str| database.address_on_port(user, password);
    let nowhere = format!("postgres://app:{PASSWORD}@127.0.0.1:{}/d", free_port());
    let cases = [
        (nowhere, 3, "store-unreachable"),
        (on_port("app", "wrong-password"), 3, "store-denied"),
        (on_port("owner", PASSWORD), 3, "store-not-ready"),
        ("postgres://app@127.0.0.1/d?tea=1".into(), 4, "usage"),
    ];
    for (address, code, error) in cases {
        let place = Place::with_store(&address);
        for words in [
            &["runs"][..],
            &["run", "--model", &place.script(&[done("ok")]), "x"],
        ] {
            let ended = place.bonded(words);
            ended.fails_with(code, error);
            for secret in [PASSWORD, "wrong-password"] {
                assert!(!ended.stderr.contains(secret), "{ended:?}");
            }
        }
    }
}

#[test]
fn a_store_on_a_server_is_made_and_used_like_one_in_a_file() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let database = server.database();
    let owner = Place::with_store(&database.address_on_port("owner", PASSWORD));
    let made = owner.bonded(&["store", "init", "--grant", "app"]);
    made.succeeds();
    made.says("created, format 4");
    owner
        .bonded(&["store", "init"])
        .says("up to date, format 4");
    let place = Place::with_store(&database.address_on_port("app", PASSWORD));
    place.play(&[done("ok")]).succeeds();
    place.passes_the_audit("run");
    place
        .bonded(&["fork", "run", "--turn", "1", "--id", "second"])
        .succeeds();
    place.resume().succeeds();
    let ids: Vec<String> = place.listed().into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["second", "run"]);
    let stranger = Place::with_store(&server.database().address_on_port("app", PASSWORD));
    let denied = stranger.bonded(&["store", "init"]);
    denied.fails_with(3, "store-denied");
    let file = Place::new();
    file.bonded(&["store", "init"]).succeeds();
    file.bonded(&["store", "init", "--grant", "app"])
        .fails_with(4, "usage");
    assert!(file.path("store.db").exists());
}
