//! People, tokens and sessions.

use bonded_kernel::{Millis, UserId, WorkspaceId};
use bonded_workspace::store::{By, UserState, WorkspaceError, proof_id};
use bonded_workspace_rules::{Change, Role, WorkspaceState};

use crate::common::{by, world};

const NOW: Millis = Millis(1_700_000_000_000);

fn user(number: u8) -> UserId {
    UserId::from_bytes([number; 16])
}

fn code(error: &WorkspaceError) -> &'static str {
    error
        .refused()
        .map_or("the store failed", |refused| refused.code().as_str())
}

#[tokio::test]
async fn the_owner_is_made_once_and_registers_once() {
    let world = world().await;
    let store = &world.store;
    let made = store.owner(user(1), NOW).await.expect("it is made");
    let again = store.owner(user(2), NOW).await.expect("it is found");
    assert_eq!(made, again);
    assert!(made.is_owner && !made.has_password);
    let register = |name: &str| store.register_owner(By::Keeper, name.into(), "hash".into());
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
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    for name in ["", "  ", "a\nb", "bob", &"x".repeat(101)] {
        let refused = store.add_user(By::Keeper, user(2), name.into(), NOW).await;
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
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    let (token, session) = ("secret-token-of-bob", "secret-session-of-bob");
    let end = Millis(NOW.0 + 1000);
    store
        .add_token(By::Keeper, user(1), token, "laptop".into(), NOW)
        .await
        .expect("it is kept");
    store
        .add_session(user(1), None, session, "csrf".into(), NOW, end)
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
    store
        .revoke_access(user(1), NOW)
        .await
        .expect("it is revoked");
    assert_eq!(store.user_by_token(token).await, Ok(None));
    assert_eq!(store.session(session).await, Ok(None));
}

#[tokio::test]
async fn a_session_ends_at_logout_and_is_forgotten_after_its_time() {
    let world = world().await;
    let store = &world.store;
    store
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    let begin = |token: &'static str, now: u64| {
        store.add_session(
            user(1),
            None,
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

#[tokio::test]
async fn a_token_is_listed_by_its_id_and_once_revoked_it_never_opens_anything_again() {
    let world = world().await;
    let store = &world.store;
    store
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    store
        .add_user(By::Keeper, user(2), "Eve".into(), NOW)
        .await
        .expect("it is made");
    for token in ["one", "two"] {
        let added = store.add_token(By::Keeper, user(1), token, "laptop".into(), NOW);
        added.await.expect("it is kept");
    }
    store
        .note_use("one", Millis(NOW.0 + 5))
        .await
        .expect("it is noted");
    let listed = store.tokens(user(1)).await.expect("it reads");
    let used: Vec<_> = listed.iter().filter_map(|it| it.last_used_at).collect();
    assert_eq!((listed.len(), used), (2, vec![Millis(NOW.0 + 5)]));
    let id = proof_id("one");
    assert!(
        listed
            .iter()
            .any(|it| it.token_id == id && it.label == "laptop")
    );
    assert_eq!(
        store
            .revoke_token(By::Keeper, user(2), id.clone(), NOW)
            .await,
        Ok(false),
        "not hers"
    );
    assert_eq!(
        store
            .revoke_token(By::Keeper, user(1), id.clone(), NOW)
            .await,
        Ok(true)
    );
    assert_eq!(
        store.revoke_token(By::Keeper, user(1), id, NOW).await,
        Ok(false)
    );
    assert_eq!(store.user_by_token("one").await, Ok(None));
    let again = store
        .add_token(By::Keeper, user(1), "one", "again".into(), NOW)
        .await;
    again.expect("it stays as it is");
    assert_eq!(store.user_by_token("one").await, Ok(None));
    assert_eq!(store.is_revoked("one").await, Ok(true));
    assert!(
        store
            .user_by_token("two")
            .await
            .expect("it reads")
            .is_some()
    );
}

#[tokio::test]
async fn who_is_disabled_proves_nothing_until_they_are_enabled_and_the_owner_stays() {
    let world = world().await;
    let store = &world.store;
    store.owner(user(9), NOW).await.expect("it is made");
    store
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    store
        .add_token(By::Keeper, user(1), "token", "t".into(), NOW)
        .await
        .expect("it is kept");
    let end = Millis(NOW.0 + 1000);
    let begun = store.add_session(user(1), None, "session", "csrf".into(), NOW, end);
    begun.await.expect("it begins");
    store
        .set_state(By::Keeper, user(1), UserState::Disabled)
        .await
        .expect("it is disabled");
    assert_eq!(store.user_by_token("token").await, Ok(None));
    assert_eq!(store.session("session").await, Ok(None));
    store
        .set_state(By::Keeper, user(1), UserState::Active)
        .await
        .expect("it is enabled");
    assert!(
        store
            .user_by_token("token")
            .await
            .expect("it reads")
            .is_some()
    );
    assert_eq!(store.session("session").await, Ok(None), "sessions ended");
    for refused in [
        store
            .set_state(By::Keeper, user(9), UserState::Disabled)
            .await
            .map(|_| ()),
        store.delete_user(By::Keeper, user(9), NOW).await,
    ] {
        assert_eq!(code(&refused.expect_err("it is the owner")), "BAD_REQUEST");
    }
}

#[tokio::test]
async fn who_is_deleted_leaves_their_name_and_their_workspaces_to_others() {
    let world = world().await;
    let store = &world.store;
    let owner = store.owner(user(9), NOW).await.expect("it is made").user_id;
    store
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    store
        .add_token(By::Keeper, user(1), "token", "t".into(), NOW)
        .await
        .expect("it is kept");
    let (lone, shared) = (
        WorkspaceId::from_bytes([21; 16]),
        WorkspaceId::from_bytes([22; 16]),
    );
    for workspace_id in [lone, shared] {
        let name = "theirs".into();
        let create = Change::CreateWorkspace { workspace_id, name };
        world.send(by(user(1), create)).await.expect("it is made");
    }
    let join = Change::SetMember {
        workspace_id: shared,
        user_id: user(3),
        role: Role::Viewer,
    };
    world.send(by(user(1), join)).await.expect("it is a member");
    store
        .delete_user(By::Keeper, user(1), NOW)
        .await
        .expect("it is deleted");
    assert_eq!(store.user_by_token("token").await, Ok(None));
    let states = [
        (lone, WorkspaceState::Archived),
        (shared, WorkspaceState::Active),
    ];
    for (workspace, state) in states {
        let found = store
            .workspace(workspace)
            .await
            .expect("it reads")
            .expect("it is there");
        assert_eq!(found.state, state);
        assert_eq!(store.role(workspace, user(1)).await, Ok(None));
        assert_eq!(store.role(workspace, owner).await, Ok(Some(Role::Owner)));
    }
    assert_eq!(store.role(shared, user(3)).await, Ok(Some(Role::Viewer)));
    store
        .add_user(By::Keeper, user(4), "Bob".into(), NOW)
        .await
        .expect("the name is free");
    let names: Vec<String> = store
        .users()
        .await
        .expect("it reads")
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(names, ["Bob", "owner"]);
    let refused = store
        .add_token(By::Keeper, user(1), "other", "t".into(), NOW)
        .await;
    assert_eq!(
        code(&refused.expect_err("nobody is there")),
        "USER_NOT_FOUND"
    );
}

#[tokio::test]
async fn there_is_one_owner_and_whoever_takes_over_has_the_only_token_of_the_file() {
    let world = world().await;
    let store = &world.store;
    store.owner(user(9), NOW).await.expect("it is made");
    store
        .add_token(By::Keeper, user(9), "old file", "owner-token".into(), NOW)
        .await
        .expect("it is kept");
    store
        .add_token(By::Keeper, user(9), "own laptop", "laptop".into(), NOW)
        .await
        .expect("it is kept");
    store
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    store
        .add_user(By::Keeper, user(2), "Eve".into(), NOW)
        .await
        .expect("it is made");
    store
        .set_state(By::Keeper, user(2), UserState::Disabled)
        .await
        .expect("it is disabled");
    assert!(
        store.transfer(By::Keeper, user(2), "x", NOW).await.is_err(),
        "she is disabled"
    );
    let new = store
        .transfer(By::Keeper, user(1), "new file", NOW)
        .await
        .expect("it is handed over");
    assert!(new.is_owner);
    let owners = store.users().await.expect("it reads");
    let owners: Vec<_> = owners
        .iter()
        .filter(|it| it.is_owner)
        .map(|it| it.user_id)
        .collect();
    assert_eq!(owners, [user(1)]);
    assert_eq!(store.user_by_token("old file").await, Ok(None));
    let whose = |token: &'static str| async move {
        store
            .user_by_token(token)
            .await
            .expect("it reads")
            .map(|it| it.user_id)
    };
    assert_eq!(whose("own laptop").await, Some(user(9)));
    assert_eq!(whose("new file").await, Some(user(1)));
}

#[tokio::test]
async fn an_invitation_is_good_once_and_for_a_while() {
    let world = world().await;
    let store = &world.store;
    store
        .add_user(By::Keeper, user(1), "Bob".into(), NOW)
        .await
        .expect("it is made");
    let (soon, late) = (Millis(NOW.0 + 1000), Millis(NOW.0 + 2000));
    for invitation in ["first", "second"] {
        let added = store.add_invitation(By::Keeper, user(1), invitation, NOW, soon);
        added.await.expect("it is kept");
    }
    let accept =
        |invitation: &'static str, now| store.accept_invitation(invitation, "hash".into(), now);
    assert_eq!(
        accept("first", NOW).await,
        Ok(None),
        "the second took its place"
    );
    assert_eq!(accept("second", late).await, Ok(None), "it is over");
    assert_eq!(accept("other", NOW).await, Ok(None));
    let user = accept("second", NOW)
        .await
        .expect("it reads")
        .expect("it is good");
    assert!(user.has_password);
    assert_eq!(accept("second", NOW).await, Ok(None), "it was used");
}
