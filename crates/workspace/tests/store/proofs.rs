//! What somebody showed when they began to ask, and lost before the change is made.

use bonded_kernel::{Millis, UserId, WorkspaceId};
use bonded_workspace::store::{By, Proof, UserState, WorkspaceError, WorkspaceStore};
use bonded_workspace_rules::{Change, Role, WorkspaceState};

use crate::common::{World, by, new_note, world};

const NOW: Millis = Millis(1_700_000_000_000);
const LATER: Millis = Millis(1_700_000_001_000);
const CHIEF: UserId = UserId::from_bytes([9; 16]);
const BOB: UserId = UserId::from_bytes([31; 16]);
const EVE: UserId = UserId::from_bytes([32; 16]);

/// Somebody owns the installation, and two people are in it; each has a token that is called like them.
async fn people() -> World {
    let world = world().await;
    let store = &world.store;
    store.owner(CHIEF, NOW).await.expect("it is made");
    for (id, name) in [(BOB, "bob"), (EVE, "eve")] {
        let added = store.add_user(By::Keeper, id, name.into(), NOW);
        added.await.expect("it is made");
    }
    for (id, token) in [(CHIEF, "chief"), (BOB, "bob"), (EVE, "eve")] {
        let added = store.add_token(By::Keeper, id, token, "laptop".into(), NOW);
        added.await.expect("it is kept");
    }
    world
}

fn with_token(token: &str) -> By {
    By::Asker(Proof::token(token))
}

fn code<T>(done: Result<T, WorkspaceError>) -> &'static str {
    match done {
        Ok(_) => "done",
        Err(error) => error
            .refused()
            .map_or("the store failed", |refused| refused.code().as_str()),
    }
}

/// What comes of everything that only the owner does, and that somebody does for another.
async fn codes_of_the_owners(store: &WorkspaceStore, by: By) -> Vec<&'static str> {
    let new = UserId::from_bytes([40; 16]);
    vec![
        code(store.register_owner(by, "me".into(), "hash".into()).await),
        code(store.add_user(by, new, "new".into(), NOW).await),
        code(store.set_state(by, BOB, UserState::Active).await),
        code(
            store
                .add_invitation(by, BOB, "invitation", NOW, LATER)
                .await,
        ),
        code(store.set_password(by, BOB, "hash".into()).await),
        code(store.add_token(by, BOB, "more", "x".into(), NOW).await),
        code(store.revoke_token(by, BOB, "none".into(), NOW).await),
        code(store.end_session_of(by, BOB, "none".into()).await),
        code(store.end_sessions(by, BOB).await),
        code(store.replace_tokens(by, BOB, "only", "x".into(), NOW).await),
        code(store.delete_user(by, BOB, NOW).await),
        code(store.transfer(by, EVE, "file", NOW).await),
    ]
}

/// The same of what people do for themselves.
async fn codes_of_ones_own(store: &WorkspaceStore, by: By, id: UserId) -> Vec<&'static str> {
    vec![
        code(store.revoke_token(by, id, "none".into(), NOW).await),
        code(store.end_session_of(by, id, "none".into()).await),
        code(store.end_sessions(by, id).await),
        code(store.change_password(by, id, None, "hash".into()).await),
        code(store.add_token(by, id, "more", "x".into(), NOW).await),
        code(store.replace_tokens(by, id, "only", "x".into(), NOW).await),
    ]
}

#[track_caller]
fn are_all(codes: &[&str], expected: &str) {
    assert!(codes.iter().all(|code| *code == expected), "{codes:?}");
}

#[tokio::test]
async fn the_owner_does_all_of_it_and_whoever_is_not_any_more_nothing() {
    let world = people().await;
    are_all(
        &codes_of_the_owners(&world.store, with_token("eve")).await,
        "ROLE_FORBIDDEN",
    );
    are_all(
        &codes_of_the_owners(&world.store, with_token("chief")).await,
        "done",
    );
    // The last of it made somebody else the owner; the token is as good as before.
    are_all(
        &codes_of_the_owners(&world.store, with_token("chief")).await,
        "ROLE_FORBIDDEN",
    );
}

#[tokio::test]
async fn a_token_that_was_revoked_makes_no_other_and_changes_nobody() {
    let world = people().await;
    let store = &world.store;
    let (chief, bob) = (with_token("chief"), with_token("bob"));
    are_all(&codes_of_ones_own(store, bob, BOB).await, "done");
    // It replaced itself by the last of it.
    are_all(
        &codes_of_ones_own(store, bob, BOB).await,
        "INVALID_CREDENTIALS",
    );
    store
        .revoke_access(CHIEF, NOW)
        .await
        .expect("it is revoked");
    are_all(
        &codes_of_the_owners(store, chief).await,
        "INVALID_CREDENTIALS",
    );
    are_all(
        &codes_of_ones_own(store, chief, CHIEF).await,
        "INVALID_CREDENTIALS",
    );
    let tokens = store.tokens(BOB).await.expect("it reads");
    assert_eq!(tokens.len(), 1, "{tokens:?}");
}

#[tokio::test]
async fn who_is_disabled_and_whose_session_ended_prove_nothing() {
    let world = people().await;
    let store = &world.store;
    let begun = store.add_session(EVE, None, "session", "csrf".into(), NOW, LATER);
    begun.await.expect("it begins");
    let (bob, eve) = (with_token("bob"), By::Asker(Proof::session("session")));
    let added = store.add_token(eve, EVE, "another", "x".into(), NOW).await;
    added.expect("the session is good");
    store.end_session("session").await.expect("it ends");
    let disabled = store.set_state(By::Keeper, BOB, UserState::Disabled);
    disabled.await.expect("it is disabled");
    are_all(&codes_of_ones_own(store, eve, EVE).await, "AUTH_REQUIRED");
    are_all(
        &codes_of_ones_own(store, bob, BOB).await,
        "INVALID_CREDENTIALS",
    );
}

#[tokio::test]
async fn a_note_is_written_only_as_long_as_the_token_is_good_and_in_its_owners_name() {
    let world = people().await;
    let store = &world.store;
    let join = |user_id| Change::SetMember {
        workspace_id: crate::common::WORKSPACE,
        user_id,
        role: Role::Editor,
    };
    for id in [BOB, EVE] {
        world.write(join(id)).await.expect("it is a member");
    }
    let note = |number| by(BOB, Change::CreateNote(new_note(number, "x", "y")));
    let written = store.write_by(with_token("bob"), note(1)).await;
    written.expect("it is written");
    let as_another = store.write_by(with_token("eve"), note(2)).await;
    assert_eq!(code(as_another), "ROLE_FORBIDDEN");
    let replaced = store.replace_tokens(By::Keeper, BOB, "fresh", "x".into(), NOW);
    replaced.await.expect("it is replaced");
    let revoked = store.write_by(with_token("bob"), note(2)).await;
    assert_eq!(code(revoked), "INVALID_CREDENTIALS");
    let fresh = store.write_by(with_token("fresh"), note(2)).await;
    fresh.expect("nothing was written before");
}

#[tokio::test]
async fn a_password_opens_and_is_changed_only_as_long_as_it_is_the_one_that_is_kept() {
    let world = people().await;
    let store = &world.store;
    let log_in = |hash: &str, session: &'static str| {
        let hash = Some(hash.to_owned());
        store.add_session(BOB, hash, session, "csrf".into(), NOW, LATER)
    };
    let change = |old: &str, new: &str| {
        let (old, new) = (Some(old.to_owned()), new.to_owned());
        store.change_password(with_token("bob"), BOB, old, new)
    };
    let set = store.set_password(By::Keeper, BOB, "first".into()).await;
    set.expect("it is set");
    log_in("first", "one").await.expect("it is the password");
    change("first", "second").await.expect("it is the password");
    assert_eq!(code(log_in("first", "two").await), "INVALID_CREDENTIALS");
    assert_eq!(code(change("first", "third").await), "INVALID_CREDENTIALS");
    let unasked = store.change_password(with_token("bob"), BOB, None, "third".into());
    assert_eq!(code(unasked.await), "INVALID_CREDENTIALS");
    let disabled = store.set_state(By::Keeper, BOB, UserState::Disabled);
    disabled.await.expect("it is disabled");
    assert_eq!(code(log_in("second", "three").await), "INVALID_CREDENTIALS");
}

#[tokio::test]
async fn nobody_who_is_kept_out_or_has_gone_becomes_a_member() {
    let world = people().await;
    let store = &world.store;
    let disabled = store.set_state(By::Keeper, BOB, UserState::Disabled);
    disabled.await.expect("it is disabled");
    let deleted = store.delete_user(By::Keeper, EVE, NOW);
    deleted.await.expect("it is deleted");
    for (user_id, expected) in [(BOB, "CONFLICT"), (EVE, "USER_NOT_FOUND")] {
        for role in [Role::Owner, Role::Viewer] {
            let change = Change::SetMember {
                workspace_id: crate::common::WORKSPACE,
                user_id,
                role,
            };
            let refused = world.write(change).await.expect_err("it is refused");
            assert_eq!(refused.code().as_str(), expected, "{role}");
        }
    }
}

#[tokio::test]
async fn a_deleted_workspace_of_somebody_who_goes_is_the_owners_to_have_back() {
    let world = people().await;
    let store = &world.store;
    let workspace_id = WorkspaceId::from_bytes([21; 16]);
    let name = "theirs".into();
    let create = Change::CreateWorkspace { workspace_id, name };
    world.send(by(BOB, create)).await.expect("it is made");
    let to = |state| Change::UpdateWorkspace {
        workspace_id,
        name: None,
        state: Some(state),
    };
    let deleted = world.send(by(BOB, to(WorkspaceState::Deleted))).await;
    deleted.expect("it is deleted");
    let gone = store.delete_user(By::Keeper, BOB, NOW).await;
    gone.expect("it is deleted");
    let found = store.workspace(workspace_id).await.expect("it reads");
    assert_eq!(
        found.map(|it| it.state),
        Some(WorkspaceState::Deleted),
        "nobody wants it back yet"
    );
    assert_eq!(store.role(workspace_id, BOB).await, Ok(None));
    let back = world.send(by(CHIEF, to(WorkspaceState::Active))).await;
    back.expect("the owner has it back");
}

/// What happened, and whether the version of what decides who may listen has grown with it.
struct Access<'a> {
    store: &'a WorkspaceStore,
    version: u64,
}

impl Access<'_> {
    async fn has_grown(&mut self) -> bool {
        let before = self.version;
        self.version = self.store.access_version().await.expect("it reads");
        self.version > before
    }
}

#[tokio::test]
async fn whatever_takes_something_from_somebody_is_another_version_and_nothing_else_is() {
    let world = people().await;
    let store = &world.store;
    let version = store.access_version().await.expect("it reads");
    let mut access = Access { store, version };
    let begun =
        |token: &'static str| store.add_session(EVE, None, token, "csrf".into(), NOW, LATER);
    begun("session").await.expect("it begins");
    begun("another").await.expect("it begins");
    let noted = store.note_use("bob", LATER).await;
    noted.expect("it is noted");
    let added = store.add_token(By::Keeper, BOB, "more", "x".into(), NOW);
    added.await.expect("it is kept");
    let note = Change::CreateNote(new_note(1, "x", "y"));
    world.write(note).await.expect("it is written");
    let renamed = Change::UpdateWorkspace {
        workspace_id: crate::common::WORKSPACE,
        name: Some("house".into()),
        state: None,
    };
    world.write(renamed).await.expect("it is renamed");
    assert!(!access.has_grown().await, "nobody has lost anything");
    for role in [Role::Editor, Role::Viewer] {
        let workspace_id = crate::common::WORKSPACE;
        let member = Change::SetMember {
            workspace_id,
            user_id: BOB,
            role,
        };
        world.write(member).await.expect("it is a member");
        assert!(access.has_grown().await, "{role}");
    }
    let removed = Change::RemoveMember {
        workspace_id: crate::common::WORKSPACE,
        user_id: BOB,
    };
    world.write(removed).await.expect("it is removed");
    assert!(access.has_grown().await, "a member was removed");
    store.end_session("session").await.expect("it ends");
    assert!(access.has_grown().await, "a session has ended");
    let ended = store.end_sessions(By::Keeper, EVE).await;
    ended.expect("they end");
    assert!(access.has_grown().await, "all sessions have ended");
    let replaced = store.replace_tokens(By::Keeper, BOB, "only", "x".into(), NOW);
    replaced.await.expect("it is replaced");
    assert!(access.has_grown().await, "a token was revoked");
    let disabled = store.set_state(By::Keeper, BOB, UserState::Disabled);
    disabled.await.expect("it is disabled");
    assert!(access.has_grown().await, "somebody was disabled");
    let deleted = store.delete_user(By::Keeper, EVE, NOW).await;
    deleted.expect("it is deleted");
    assert!(access.has_grown().await, "somebody has gone");
    let deleted = Change::UpdateWorkspace {
        workspace_id: crate::common::WORKSPACE,
        name: None,
        state: Some(WorkspaceState::Deleted),
    };
    world.write(deleted).await.expect("it is deleted");
    assert!(access.has_grown().await, "a workspace was deleted");
}
