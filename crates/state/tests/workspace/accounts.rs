//! People, tokens and sessions.

use bonded_kernel::Millis;
use bonded_kernel::workspace::UserId;
use bonded_state::workspace::WorkspaceError;

use crate::common::world;

const NOW: Millis = Millis(1_700_000_000_000);

fn user(number: u8) -> UserId {
    UserId::from_bytes([number; 16])
}

fn code(error: &WorkspaceError) -> &'static str {
    error
        .refused()
        .map_or("the store failed", |refused| refused.code())
}

#[tokio::test]
async fn the_owner_is_made_once_and_registers_once() {
    let world = world().await;
    let store = &world.store;
    let made = store.owner(user(1), NOW).await.expect("it is made");
    let again = store.owner(user(2), NOW).await.expect("it is found");
    assert_eq!(made, again);
    assert!(made.is_owner && !made.has_password);
    let register = |name: &str| store.register_owner(name.into(), "hash".into());
    let named = register("Ada").await.expect("it is registered");
    assert_eq!((named.user_id, named.name.as_str()), (user(1), "Ada"));
    let refused = register("Eve").await.expect_err("only once");
    assert_eq!(code(&refused), "SETUP_ALREADY_COMPLETED");
    let (found, password) = store
        .user_named("ADA".into())
        .await
        .expect("it reads")
        .expect("the case does not matter");
    assert_eq!((found, password.as_deref()), (named, Some("hash")));
}

#[tokio::test]
async fn names_are_lines_and_taken_once() {
    let world = world().await;
    let store = &world.store;
    store
        .add_user(user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    for name in ["", "  ", "a\nb", "bob", &"x".repeat(101)] {
        let refused = store.add_user(user(2), name.into(), NOW).await;
        assert_eq!(code(&refused.expect_err(name)), "BAD_REQUEST", "{name:?}");
    }
    let names: Vec<String> = store
        .users()
        .await
        .expect("it reads")
        .into_iter()
        .map(|u| u.name)
        .collect();
    assert_eq!(names, ["Bob"]);
}

#[tokio::test]
async fn a_token_is_known_until_it_is_revoked_and_is_never_in_the_file() {
    let world = world().await;
    let store = &world.store;
    store
        .add_user(user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    let (token, session) = ("secret-token-of-bob", "secret-session-of-bob");
    let end = Millis(NOW.0 + 1000);
    store
        .add_token(user(1), token, "laptop".into(), NOW)
        .await
        .expect("it is kept");
    store
        .add_session(user(1), session, "csrf".into(), NOW, end)
        .await
        .expect("it begins");
    let whose = store.user_by_token(token).await.expect("it reads");
    assert_eq!(whose.map(|user| user.user_id), Some(user(1)));
    assert_eq!(store.user_by_token("other").await, Ok(None));
    let found = store
        .session(session)
        .await
        .expect("it reads")
        .expect("it is there");
    assert_eq!((found.csrf_token.as_str(), found.expires_at), ("csrf", end));
    for file in store.files().into_iter().filter(|file| file.exists()) {
        let bytes = std::fs::read(&file).expect("the file is readable");
        for secret in [token, session] {
            let is_there = bytes
                .windows(secret.len())
                .any(|at| at == secret.as_bytes());
            assert!(!is_there, "{secret} is in {}", file.display());
        }
    }
    store.revoke_access(user(1)).await.expect("it is revoked");
    assert_eq!(store.user_by_token(token).await, Ok(None));
    assert_eq!(store.session(session).await, Ok(None));
}

#[tokio::test]
async fn a_session_ends_at_logout_and_is_forgotten_after_its_time() {
    let world = world().await;
    let store = &world.store;
    store
        .add_user(user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    let begin = |token: &'static str, now: u64| {
        store.add_session(
            user(1),
            token,
            "csrf".into(),
            Millis(now),
            Millis(now + 1000),
        )
    };
    begin("one", 0).await.expect("it begins");
    begin("two", 500).await.expect("it begins");
    store.end_session("two").await.expect("it ends");
    assert_eq!(store.session("two").await, Ok(None));
    assert!(store.session("one").await.expect("it reads").is_some());
    begin("three", 1000).await.expect("it begins");
    assert_eq!(store.session("one").await, Ok(None));
}
