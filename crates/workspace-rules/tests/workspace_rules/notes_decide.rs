//! Who may change what, and what a change comes to.

use bonded_kernel::{Millis, NoteId, RunId, Text, UserId, WorkspaceId};
use bonded_workspace_rules::{
    AccessScope, Actor, Change, METADATA_KEYS_MAX, MemberSet, NewNote, Note, NoteEdit, NoteWrite,
    Permission, Role, View, Workspace, WorkspaceEvent, WorkspaceState, decide,
};
use proptest::prelude::*;
use serde_json::json;

const NOW: Millis = Millis(1_700_000_000_000);
const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([1; 16]);
const NOTE: NoteId = NoteId::from_bytes([2; 16]);
const USER: UserId = UserId::from_bytes([3; 16]);

fn person() -> Actor {
    Actor::User { user_id: USER }
}

fn view(role: Option<Role>) -> View {
    View {
        workspace: Some(Workspace {
            workspace_id: WORKSPACE,
            name: "home".into(),
            state: WorkspaceState::Active,
            created_at: NOW,
            updated_at: NOW,
        }),
        role,
        ..View::default()
    }
}

fn with_note(role: Role) -> View {
    let note = Note {
        note_id: NOTE,
        workspace_id: WORKSPACE,
        title: "title".into(),
        markdown: Text::new("text"),
        note_kind: "note".into(),
        access_scope: AccessScope::Workspace,
        keywords: vec![],
        metadata: Default::default(),
        version: 3,
        created_at: NOW,
        updated_at: NOW,
        deleted_at: None,
    };
    View {
        note: Some(note),
        ..view(Some(role))
    }
}

fn new_note() -> NewNote {
    NewNote {
        note_id: NOTE,
        workspace_id: WORKSPACE,
        title: Some("title".into()),
        markdown: "text".into(),
        note_kind: None,
        access_scope: AccessScope::Workspace,
        keywords: vec![],
        metadata: Default::default(),
    }
}

fn edited(edit: NoteEdit) -> Change {
    Change::UpdateNote(NoteWrite {
        note_id: NOTE,
        base_version: 3,
        edit,
    })
}

fn code(view: &View, change: &Change) -> Option<&'static str> {
    decide(view, change, &person(), NOW)
        .err()
        .map(|refused| refused.code().as_str())
}

#[test]
fn each_role_may_what_the_one_before_it_may_and_more() {
    use Permission::{
        LaunchRules, ManageMembers, ManageRules, ManageWorkspace, ReadNotes, ReviewOperations,
        WriteNotes,
    };
    let table = [
        (ReadNotes, Role::Viewer),
        (WriteNotes, Role::Editor),
        (LaunchRules, Role::Editor),
        (ReviewOperations, Role::Editor),
        (ManageRules, Role::Admin),
        (ManageMembers, Role::Admin),
        (ManageWorkspace, Role::Owner),
    ];
    for (permission, least) in table {
        for role in [Role::Viewer, Role::Editor, Role::Admin, Role::Owner] {
            assert_eq!(role.may(permission), role >= least, "{role} {permission:?}");
        }
    }
}

#[test]
fn what_a_new_note_must_not_be_is_refused() {
    let long = "x".repeat(501);
    let note = |change: fn(&mut NewNote)| {
        let mut note = new_note();
        change(&mut note);
        note
    };
    let mut long_title = new_note();
    long_title.title = Some(long.clone());
    let mut long_keyword = new_note();
    long_keyword.keywords = vec![long];
    let mut many_keys = new_note();
    many_keys.metadata = (0..=METADATA_KEYS_MAX)
        .map(|n| (format!("k{n}"), json!(n)))
        .collect();
    let mut deep = json!(1);
    for _ in 0..40 {
        deep = json!([deep]);
    }
    let mut many_keywords = new_note();
    many_keywords.keywords = (0..101).map(|n| format!("k{n}")).collect();
    let about = |key: &str, value| {
        let mut note = new_note();
        note.metadata.insert(key.into(), value);
        note
    };
    let table = [
        (long_title, "BAD_REQUEST"),
        (long_keyword, "BAD_REQUEST"),
        (many_keys, "BAD_REQUEST"),
        (many_keywords, "BAD_REQUEST"),
        (about("deep", deep), "BAD_REQUEST"),
        (about("system.x", json!(1)), "BAD_REQUEST"),
        (about("Upper", json!(1)), "BAD_REQUEST"),
        (about("big", json!("x".repeat(70_000))), "BAD_REQUEST"),
        (note(|note| note.title = Some("a\nb".into())), "BAD_REQUEST"),
        (
            note(|note| note.note_kind = Some("No".into())),
            "BAD_REQUEST",
        ),
        (
            note(|note| note.note_kind = Some(String::new())),
            "BAD_REQUEST",
        ),
        (
            note(|note| note.access_scope = AccessScope::Private),
            "BAD_REQUEST",
        ),
        (
            note(|note| note.access_scope = AccessScope::Public),
            "BAD_REQUEST",
        ),
        (
            note(|note| note.markdown = "x".repeat((4 << 20) + 1)),
            "NOTE_TOO_LARGE",
        ),
    ];
    for (note, expected) in table {
        let found = code(&view(Some(Role::Editor)), &Change::CreateNote(note));
        assert_eq!(found, Some(expected));
    }
    let twice = code(&with_note(Role::Editor), &Change::CreateNote(new_note()));
    assert_eq!(twice, Some("BAD_REQUEST"));
}

#[test]
fn a_changed_title_alone_is_its_own_event() {
    let title = NoteEdit {
        title: Some(" new ".into()),
        ..NoteEdit::default()
    };
    let view = with_note(Role::Editor);
    let events = decide(&view, &edited(title.clone()), &person(), NOW).expect("it fits");
    let expected = WorkspaceEvent::NoteTitleChanged {
        note_id: NOTE,
        title: "new".into(),
    };
    assert_eq!(events, [expected]);
    let both = NoteEdit {
        markdown: Some("text".into()),
        ..title
    };
    let events = decide(&view, &edited(both.clone()), &person(), NOW).expect("it fits");
    assert_eq!(events[0].name(), "note.updated");
    let unclear = NoteEdit {
        patch: Some(vec![]),
        ..both
    };
    assert_eq!(code(&view, &edited(unclear)), Some("BAD_REQUEST"));
}

#[test]
fn an_archived_workspace_is_read_only_and_a_deleted_one_is_gone() {
    let table = [
        (WorkspaceState::Active, None),
        (WorkspaceState::Archived, Some("WORKSPACE_FORBIDDEN")),
        (WorkspaceState::Deleted, Some("WORKSPACE_NOT_FOUND")),
    ];
    for (state, expected) in table {
        let mut view = view(Some(Role::Owner));
        view.workspace
            .iter_mut()
            .for_each(|workspace| workspace.state = state);
        assert_eq!(
            code(&view, &Change::CreateNote(new_note())),
            expected,
            "{state:?}"
        );
        let revive = Change::UpdateWorkspace {
            workspace_id: WORKSPACE,
            name: None,
            state: Some(WorkspaceState::Active),
        };
        assert_eq!(
            code(&view, &revive),
            None,
            "its owner has it back: {state:?}"
        );
        view.role = Some(Role::Admin);
        let refused = match state {
            WorkspaceState::Deleted => "WORKSPACE_NOT_FOUND",
            _ => "ROLE_FORBIDDEN",
        };
        assert_eq!(code(&view, &revive), Some(refused), "{state:?}");
    }
}

#[test]
fn ownership_is_handed_over_by_the_owner_alone_and_is_never_lost() {
    let set = |role| Change::SetMember {
        workspace_id: WORKSPACE,
        user_id: UserId::from_bytes([9; 16]),
        role,
    };
    let seen = |role, member, owners: u8| View {
        member,
        owners: (0..owners)
            .map(|it| UserId::from_bytes([9 - it; 16]))
            .collect(),
        ..view(Some(role))
    };
    use Role::{Admin, Editor, Owner, Viewer};
    let table = [
        (Admin, None, 1, Editor, None),
        (Admin, Some(Editor), 1, Viewer, None),
        (Admin, None, 1, Owner, Some("ROLE_FORBIDDEN")),
        (Admin, Some(Owner), 2, Viewer, Some("ROLE_FORBIDDEN")),
        (Owner, Some(Owner), 2, Viewer, None),
        (Owner, Some(Owner), 1, Viewer, Some("BAD_REQUEST")),
        (Owner, None, 1, Owner, None),
        (Editor, None, 1, Viewer, Some("ROLE_FORBIDDEN")),
    ];
    for (role, member, owners, to, expected) in table {
        let found = code(&seen(role, member, owners), &set(to));
        assert_eq!(found, expected, "{role} {member:?} -> {to}");
    }
    let other = UserId::from_bytes([1; 16]);
    let handed = View {
        member: Some(Editor),
        owners: vec![other],
        ..view(Some(Owner))
    };
    let set_to = |user_id, role| WorkspaceEvent::MemberSet(MemberSet { user_id, role });
    assert_eq!(
        decide(&handed, &set(Owner), &person(), NOW),
        Ok(vec![
            set_to(other, Admin),
            set_to(UserId::from_bytes([9; 16]), Owner)
        ]),
        "who owned it before is an admin then"
    );
    let again = seen(Admin, Some(Editor), 1);
    let events = decide(&again, &set(Editor), &person(), NOW);
    assert_eq!(events, Ok(vec![]), "a role that is set already is no event");
}

#[test]
fn an_agent_may_write_notes_where_it_runs_and_nothing_else() {
    let agent = Actor::Agent {
        run_id: RunId::new("r1").expect("it is a run's name"),
        rule_id: bonded_kernel::RuleId::from_bytes([5; 16]),
    };
    let at = |workspace| View {
        agent_workspace: workspace,
        ..view(None)
    };
    let other = Some(WorkspaceId::from_bytes([8; 16]));
    let member = Change::SetMember {
        workspace_id: WORKSPACE,
        user_id: USER,
        role: Role::Owner,
    };
    let create = Change::CreateNote(new_note());
    let table = [
        (at(Some(WORKSPACE)), create.clone(), None),
        (at(other), create.clone(), Some("CROSS_WORKSPACE_REJECTED")),
        (at(None), create, Some("CROSS_WORKSPACE_REJECTED")),
        (at(Some(WORKSPACE)), member, Some("ROLE_FORBIDDEN")),
    ];
    for (view, change, expected) in table {
        let result = decide(&view, &change, &agent, NOW);
        assert_eq!(
            result.err().map(|refused| refused.code().as_str()),
            expected
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_accepted_keeps_its_bounds(
        title in any::<Option<String>>(),
        markdown in any::<String>(),
        kind in any::<Option<String>>(),
        keywords in prop::collection::vec(any::<String>(), 0..5),
        key in any::<String>(),
    ) {
        let note = NewNote {
            title,
            markdown,
            note_kind: kind.filter(|kind| kind.len() % 2 == 0),
            keywords,
            metadata: [(key, json!(1))].into_iter().filter(|(key, _)| key.len() % 2 == 0).collect(),
            ..new_note()
        };
        let change = Change::CreateNote(note);
        let events = decide(&view(Some(Role::Editor)), &change, &person(), NOW);
        if let Ok([WorkspaceEvent::NoteCreated(created)]) = events.as_deref() {
            prop_assert!((1..=500).contains(&created.title.chars().count()));
            prop_assert!(!created.title.contains(char::is_control));
            prop_assert!(created.keywords.len() <= 100);
            prop_assert!(created.keywords.iter().all(|keyword| !keyword.trim().is_empty()));
            prop_assert!(created.metadata.keys().all(|key| key.len() <= 64 && key.is_ascii()));
        }
    }
}

#[test]
fn a_note_is_for_its_workspace_and_does_not_become_anything_else() {
    for (scope, expected) in [
        (AccessScope::Workspace, None),
        (AccessScope::Private, Some("BAD_REQUEST")),
        (AccessScope::Public, Some("BAD_REQUEST")),
    ] {
        let edit = NoteEdit {
            access_scope: Some(scope),
            ..NoteEdit::default()
        };
        let found = code(&with_note(Role::Owner), &edited(edit));
        assert_eq!(found, expected, "{scope:?}");
    }
}
