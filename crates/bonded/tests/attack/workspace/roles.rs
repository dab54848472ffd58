//! What each role reaches by each route: a table, held to the routes that the server has.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::house::{Guest, House, text};

/// Who asks, in the order of the columns.
const ROLES: [&str; 7] = [
    "nobody",
    "stranger",
    "viewer",
    "editor",
    "admin",
    "owner of the workspace",
    "owner of all, and an admin of the workspace",
];

/// One route, what is sent, and what comes of it for each role: `-` is 401, `x` is 403, `o` is let through.
type Row = (
    &'static str,
    &'static str,
    fn(&Things) -> Value,
    &'static str,
);

const MEMBER: &str = "-xooooo";
const WRITER: &str = "-xxoooo";
const ADMIN: &str = "-xxxooo";
const OWNS: &str = "-xxxxox";
const OWNER_OF_ALL: &str = "-xxxxxo";
const ANYBODY_KNOWN: &str = "-oooooo";
const ANYBODY: &str = "ooooooo";

fn nothing(_: &Things) -> Value {
    Value::Null
}

fn empty(_: &Things) -> Value {
    json!({})
}

fn rows() -> Vec<Row> {
    let password: fn(&Things) -> Value = |_| json!({ "password": "correct horse" });
    vec![
        ("GET", "/healthz", nothing, ANYBODY),
        ("GET", "/readyz", nothing, ANYBODY),
        ("GET", "/api/healthz", nothing, ANYBODY),
        ("GET", "/api/readyz", nothing, ANYBODY),
        ("GET", "/api/openapi.json", nothing, ANYBODY),
        (
            "POST",
            "/api/setup/register",
            |_| json!({ "username": "owner", "password": "correct horse" }),
            OWNER_OF_ALL,
        ),
        // Who has no right name and password, or invitation, is nobody, whoever they are.
        (
            "POST",
            "/api/auth/login",
            |_| json!({ "username": "x", "password": "correct horse" }),
            "-------",
        ),
        (
            "POST",
            "/api/auth/invitation",
            |_| json!({ "invitation": "x", "password": "correct horse" }),
            "-------",
        ),
        ("POST", "/api/auth/logout", empty, ANYBODY_KNOWN),
        ("GET", "/api/auth/session", nothing, ANYBODY_KNOWN),
        (
            "POST",
            "/api/owner",
            |it| json!({ "user_id": it.owner }),
            OWNER_OF_ALL,
        ),
        ("GET", "/api/users", nothing, OWNER_OF_ALL),
        (
            "POST",
            "/api/users",
            |it| json!({ "name": it.fresh }),
            OWNER_OF_ALL,
        ),
        (
            "PATCH",
            "/api/users/{victim}",
            |_| json!({ "state": "active" }),
            OWNER_OF_ALL,
        ),
        ("DELETE", "/api/users/{victim}", nothing, OWNER_OF_ALL),
        (
            "POST",
            "/api/users/{victim}/invitation",
            empty,
            OWNER_OF_ALL,
        ),
        (
            "PUT",
            "/api/users/{victim}/password",
            password,
            OWNER_OF_ALL,
        ),
        ("GET", "/api/users/{victim}/tokens", nothing, OWNER_OF_ALL),
        ("POST", "/api/users/{victim}/tokens", empty, OWNER_OF_ALL),
        (
            "DELETE",
            "/api/users/{victim}/tokens/{token}",
            nothing,
            OWNER_OF_ALL,
        ),
        ("GET", "/api/users/{victim}/sessions", nothing, OWNER_OF_ALL),
        (
            "DELETE",
            "/api/users/{victim}/sessions",
            nothing,
            OWNER_OF_ALL,
        ),
        (
            "DELETE",
            "/api/users/{victim}/sessions/0011223344556677",
            nothing,
            OWNER_OF_ALL,
        ),
        ("GET", "/api/users/{self}/tokens", nothing, ANYBODY_KNOWN),
        ("POST", "/api/users/{self}/tokens", empty, ANYBODY_KNOWN),
        ("GET", "/api/users/{self}/sessions", nothing, ANYBODY_KNOWN),
        (
            "DELETE",
            "/api/users/{self}/sessions",
            nothing,
            ANYBODY_KNOWN,
        ),
        ("GET", "/api/workspaces", nothing, ANYBODY_KNOWN),
        (
            "POST",
            "/api/workspaces",
            |_| json!({ "name": "own" }),
            ANYBODY_KNOWN,
        ),
        (
            "PATCH",
            "/api/workspaces/{workspace}",
            |_| json!({ "name": "Notes" }),
            OWNS,
        ),
        (
            "GET",
            "/api/workspaces/{workspace}/members",
            nothing,
            MEMBER,
        ),
        (
            "POST",
            "/api/workspaces/{workspace}/members",
            |it| json!({ "user_id": it.victim, "role": "viewer" }),
            ADMIN,
        ),
        (
            "POST",
            "/api/workspaces/{workspace}/members",
            |it| json!({ "user_id": it.holder, "role": "admin" }),
            OWNS,
        ),
        (
            "DELETE",
            "/api/workspaces/{workspace}/members/{victim}",
            nothing,
            ADMIN,
        ),
        (
            "GET",
            "/api/notes?workspace_id={workspace}",
            nothing,
            MEMBER,
        ),
        (
            "POST",
            "/api/notes",
            |it| json!({ "workspace_id": it.workspace, "title": "t", "markdown": "" }),
            WRITER,
        ),
        ("GET", "/api/notes/{note}", nothing, MEMBER),
        (
            "PATCH",
            "/api/notes/{note}",
            |_| json!({ "base_version": 1, "markdown": "x" }),
            WRITER,
        ),
        ("DELETE", "/api/notes/{note}", nothing, WRITER),
        (
            "PATCH",
            "/api/notes/{note}/title",
            |_| json!({ "base_version": 1, "title": "x" }),
            WRITER,
        ),
        ("POST", "/api/notes/{note}/undelete", empty, WRITER),
        ("GET", "/api/notes/{note}/history", nothing, MEMBER),
        ("GET", "/api/notes/{note}/history/1", nothing, MEMBER),
        ("GET", "/api/notes/{note}/backlinks", nothing, MEMBER),
        (
            "PUT",
            "/api/notes/{note}/metadata/k",
            |_| json!({ "value": 1 }),
            WRITER,
        ),
        ("DELETE", "/api/notes/{note}/metadata/k", nothing, WRITER),
        (
            "GET",
            "/api/search?workspace_id={workspace}&q=x",
            nothing,
            MEMBER,
        ),
        (
            "GET",
            "/api/automation/rules?workspace_id={workspace}",
            nothing,
            MEMBER,
        ),
        ("POST", "/api/automation/rules", |it| it.rule_body(), ADMIN),
        ("GET", "/api/automation/rules/{rule}", nothing, MEMBER),
        (
            "PATCH",
            "/api/automation/rules/{rule}",
            |_| json!({ "max_chain_depth": 2 }),
            ADMIN,
        ),
        ("DELETE", "/api/automation/rules/{rule}", nothing, ADMIN),
        ("POST", "/api/automation/rules/{rule}/launch", empty, WRITER),
        (
            "GET",
            "/api/automation/runs?workspace_id={workspace}",
            nothing,
            MEMBER,
        ),
        ("GET", "/api/automation/runs/{run}", nothing, MEMBER),
        ("POST", "/api/automation/runs/{run}/cancel", empty, WRITER),
        (
            "POST",
            "/api/automation/runs/{run}/review",
            |_| json!({ "decisions": [] }),
            WRITER,
        ),
        (
            "GET",
            "/api/issues?workspace_id={workspace}",
            nothing,
            MEMBER,
        ),
        ("GET", "/api/notes/{note}/diff?from=1&to=1", nothing, MEMBER),
        (
            "POST",
            "/api/notes/{note}/rollback",
            |_| json!({ "version": 1, "base_version": 1 }),
            WRITER,
        ),
        ("GET", "/api/notes/{note}/attachments", nothing, MEMBER),
        (
            "POST",
            "/api/notes/{note}/attachments?name=a",
            empty,
            WRITER,
        ),
        ("GET", "/api/attachments/{file}", nothing, MEMBER),
        ("DELETE", "/api/attachments/{file}", nothing, WRITER),
        (
            "GET",
            "/api/keywords?workspace_id={workspace}",
            nothing,
            MEMBER,
        ),
        (
            "POST",
            "/api/automation/rules/check",
            |it| it.rule_body(),
            ADMIN,
        ),
        (
            "POST",
            "/api/automation/rules/dry-run",
            |it| json!({ "rule_id": it.rule }),
            ADMIN,
        ),
        (
            "GET",
            "/api/automation/rules/{rule}/firings",
            nothing,
            MEMBER,
        ),
        (
            "GET",
            "/api/automation/rules/{rule}/memory",
            nothing,
            MEMBER,
        ),
        ("POST", "/api/automation/rules/{rule}/secret", empty, ADMIN),
        // A message that is not signed is nobody's, whoever sends it.
        ("POST", "/api/hooks/{rule}", empty, "-------"),
        (
            "GET",
            "/api/notices?workspace_id={workspace}",
            nothing,
            MEMBER,
        ),
        (
            "POST",
            "/api/notices/read",
            |it| json!({ "workspace_id": it.workspace, "all": true }),
            MEMBER,
        ),
        ("GET", "/api/automation/runs/{run}/loops", nothing, MEMBER),
        (
            "GET",
            "/api/automation/operations?workspace_id={workspace}",
            nothing,
            MEMBER,
        ),
        // There is no such issue, for anybody; who may close one is in the tests of the server.
        ("POST", "/api/issues/{note}/close", empty, ANYBODY_KNOWN),
        ("GET", "/api/settings", nothing, OWNER_OF_ALL),
        (
            "DELETE",
            "/api/users/{victim}/invitation",
            nothing,
            OWNER_OF_ALL,
        ),
        ("GET", "/ws", nothing, ANYBODY_KNOWN),
    ]
}

/// What a request is about; made anew for each, because many of them take it away.
struct Things {
    owner: String,
    /// Who owns the workspace.
    holder: String,
    workspace: String,
    victim: String,
    token: String,
    note: String,
    rule: String,
    run: String,
    file: String,
    fresh: String,
}

impl Things {
    fn new(house: &House, workspace: &str, number: usize) -> Self {
        let owner = &house.owner;
        let mut things = Self {
            owner: owner.user_id.clone(),
            holder: String::new(),
            workspace: workspace.to_owned(),
            victim: String::new(),
            token: String::new(),
            note: String::new(),
            rule: String::new(),
            run: String::new(),
            file: String::new(),
            fresh: format!("fresh {number}"),
        };
        let members = format!("/api/workspaces/{workspace}/members");
        let members = owner.get(&members).is(200);
        let members = members["members"].as_array().expect("a list");
        let holder = members.iter().find(|it| it["role"] == "owner");
        things.holder = text(&holder.expect("a workspace has an owner")["user_id"]);
        let victim = house.user(&format!("victim {number}"), Some("viewer"));
        let tokens = owner
            .get(&format!("/api/users/{}/tokens", victim.user_id))
            .is(200);
        things.token = text(&tokens["tokens"][0]["token_id"]);
        things.victim = victim.user_id;
        let note = json!({ "workspace_id": workspace, "title": "t", "markdown": "text" });
        things.note = text(&owner.post("/api/notes", &note).is(201)["note_id"]);
        let files = format!("/api/notes/{}/attachments?name=a", things.note);
        things.file = text(&owner.post(&files, &json!({})).is(201)["attachment_id"]);
        let rule = owner
            .post("/api/automation/rules", &things.rule_body())
            .is(201);
        things.rule = text(&rule["rule_id"]);
        things.run = owner.launch(&rule);
        things
    }

    fn rule_body(&self) -> Value {
        let action = json!({ "kind": "kjxlkj_agent", "memory": { "kv_store_path": self.fresh.replace(' ', "-") } });
        json!({ "workspace_id": self.workspace, "trigger": "manual", "action_json": action })
    }

    fn path(&self, template: &str, guest: &Guest) -> String {
        let own = if guest.user_id.is_empty() {
            &self.victim
        } else {
            &guest.user_id
        };
        [
            ("{workspace}", &self.workspace),
            ("{victim}", &self.victim),
            ("{self}", own),
            ("{token}", &self.token),
            ("{note}", &self.note),
            ("{rule}", &self.rule),
            ("{run}", &self.run),
            ("{file}", &self.file),
        ]
        .iter()
        .fold(template.to_owned(), |path, (name, value)| {
            path.replace(name, value)
        })
    }
}

#[test]
fn each_role_reaches_by_each_route_what_the_table_says_and_no_more() {
    let house = House::open(&json!({ "server": { "writes_per_second_max": 100_000 } }));
    let workspace = house.workspace();
    let roles = [
        None,
        Some("viewer"),
        Some("editor"),
        Some("admin"),
        Some("owner"),
    ];
    let users = roles
        .iter()
        .zip(&ROLES[1..])
        .map(|(role, name)| house.user(name, *role));
    let mut guests = vec![house.nobody()];
    guests.extend(users);
    guests.push(house.owner.clone());
    for (number, (method, template, body, expected)) in rows().into_iter().enumerate() {
        let things = Things::new(&house, &workspace, number);
        // From nobody to the owner: who may do it does it after those who may not have tried.
        for (place, (guest, expected)) in guests.iter().zip(expected.chars()).enumerate() {
            let role = ROLES[place];
            let path = things.path(template, guest);
            let body = Some(body(&things)).filter(|body| !body.is_null());
            // Each from a place of their own, so that the wrong passwords of one do not slow down the next.
            let from = u8::try_from(place).map_or(1, |place| place + 1);
            let said = guest.from(from).ask(method, &path, body.as_ref(), "");
            let found = match said.status {
                401 => '-',
                403 => 'x',
                // What the one before has done is done, and what is not there is not there for those who may ask.
                200..300 | 400 | 404 | 409 | 422 => 'o',
                _ => '?',
            };
            assert_eq!(found, expected, "{method} {path} by {role}: {said:?}");
        }
    }
}

#[test]
fn the_table_of_roles_has_every_route() {
    let house = House::open(&json!({}));
    let document = house.nobody().get("/api/openapi.json").is(200);
    let paths = document["paths"].as_object().expect("paths").iter();
    let served: BTreeSet<(String, String)> = paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            methods.map(move |method| (method.to_uppercase(), general(path)))
        })
        .chain([("GET".to_owned(), "/ws".to_owned())])
        .collect();
    let listed: BTreeSet<(String, String)> = rows()
        .iter()
        .map(|(method, path, ..)| ((*method).to_owned(), general(path)))
        .collect();
    assert_eq!(served, listed);
}

/// A path whose parts that name something are all written alike.
fn general(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let names = ["1", "k", "0011223344556677"];
    let parts = path.split('/').map(|part| match part {
        part if part.starts_with('{') || names.contains(&part) => "*",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}
