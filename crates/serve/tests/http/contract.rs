//! Answers held against the OpenAPI document that the server serves.

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::http::Reply;
use crate::server::Server;

struct Document(Value);

impl Document {
    /// Checks an answer against what the document says of it.
    fn check(&self, method: &str, template: &str, reply: &Reply) {
        let pointer = template.replace('~', "~0").replace('/', "~1");
        let operation = format!("/paths/{pointer}/{}", method.to_ascii_lowercase());
        let operation = self
            .0
            .pointer(&operation)
            .unwrap_or_else(|| panic!("{method} {template}"));
        let answer = &operation["responses"][reply.status.to_string()];
        assert!(
            answer.is_object(),
            "{method} {template} may not answer {}: {reply:?}",
            reply.status
        );
        let schema = &answer["content"]["application/json"]["schema"];
        if schema.is_null() {
            assert_eq!(reply.body, "", "{method} {template} answers nothing");
            return;
        }
        let mut whole = json!({ "$ref": schema["$ref"], "components": self.0["components"] });
        if schema["$ref"].is_null() {
            whole = schema.clone();
        }
        let validator: Validator =
            jsonschema::validator_for(&whole).expect("the document's schemas are schemas");
        let body = reply.json();
        let errors: Vec<String> = validator
            .iter_errors(&body)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            errors.is_empty(),
            "{method} {template}: {errors:?} in {body:#}"
        );
    }
}

#[test]
fn every_kind_of_answer_has_the_shape_that_the_document_promises() {
    let server = Server::start();
    let document = Document(server.nobody().get("/api/openapi.json").json());
    let workspace = server.workspace();
    let note = server.note("One", "see [[Two]]");
    let two = server.note("Two", "walrus");
    let id = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (note, two) = (id(&note, "note_id"), id(&two, "note_id"));
    let rule = json!({
        "workspace_id": workspace, "trigger": "automation_schedule.cron",
        "action_json": { "kind": "kjxlkj_agent" }, "schedule": { "cron": "0 9 * * *", "timezone": "Europe/Berlin" },
    });
    let rule = server.owner.post("/api/automation/rules", &rule);
    document.check("POST", "/api/automation/rules", &rule);
    let rule = id(&rule.json(), "rule_id");
    let launched = server
        .owner
        .post(&format!("/api/automation/rules/{rule}/launch"), &json!({}));
    document.check("POST", "/api/automation/rules/{rule_id}/launch", &launched);
    let run = id(&launched.json(), "run_id");
    let gets = [
        ("/healthz", "/healthz".to_owned()),
        ("/api/readyz", "/api/readyz".to_owned()),
        ("/api/openapi.json", "/api/openapi.json".to_owned()),
        ("/api/auth/session", "/api/auth/session".to_owned()),
        ("/api/workspaces", "/api/workspaces".to_owned()),
        (
            "/api/workspaces/{workspace_id}/members",
            format!("/api/workspaces/{workspace}/members"),
        ),
        (
            "/api/notes",
            format!("/api/notes?workspace_id={workspace}&limit=1"),
        ),
        ("/api/notes", "/api/notes".to_owned()),
        ("/api/notes/{note_id}", format!("/api/notes/{note}")),
        ("/api/notes/{note_id}", "/api/notes/x".to_owned()),
        ("/api/notes/{note_id}", format!("/api/notes/{workspace}")),
        (
            "/api/notes/{note_id}/history",
            format!("/api/notes/{note}/history"),
        ),
        (
            "/api/notes/{note_id}/history/{version}",
            format!("/api/notes/{note}/history/1"),
        ),
        (
            "/api/notes/{note_id}/backlinks",
            format!("/api/notes/{two}/backlinks"),
        ),
        (
            "/api/search",
            format!("/api/search?q=walrus&workspace_id={workspace}"),
        ),
        (
            "/api/search",
            format!("/api/search?q=a&mode=semantic&workspace_id={workspace}"),
        ),
        (
            "/api/automation/rules",
            format!("/api/automation/rules?workspace_id={workspace}"),
        ),
        (
            "/api/automation/rules/{rule_id}",
            format!("/api/automation/rules/{rule}"),
        ),
        (
            "/api/automation/runs",
            format!("/api/automation/runs?workspace_id={workspace}"),
        ),
        (
            "/api/automation/runs/{run_id}",
            format!("/api/automation/runs/{run}"),
        ),
        (
            "/api/issues",
            format!("/api/issues?workspace_id={workspace}"),
        ),
    ];
    for (template, path) in gets {
        document.check("GET", template, &server.owner.get(&path));
    }
    let writes = [
        (
            "POST",
            "/api/workspaces",
            "/api/workspaces".to_owned(),
            json!({ "name": "More" }),
        ),
        (
            "POST",
            "/api/users",
            "/api/users".to_owned(),
            json!({ "name": "ada" }),
        ),
        (
            "POST",
            "/api/users",
            "/api/users".to_owned(),
            json!({ "name": "ada" }),
        ),
        (
            "PATCH",
            "/api/workspaces/{workspace_id}",
            format!("/api/workspaces/{workspace}"),
            json!({ "name": "x" }),
        ),
        (
            "PATCH",
            "/api/notes/{note_id}",
            format!("/api/notes/{note}"),
            json!({ "base_version": 1, "markdown": "x" }),
        ),
        (
            "PATCH",
            "/api/notes/{note_id}",
            format!("/api/notes/{note}"),
            json!({ "base_version": 1, "markdown": "y" }),
        ),
        (
            "PATCH",
            "/api/notes/{note_id}/title",
            format!("/api/notes/{note}/title"),
            json!({ "base_version": 2, "title": "y" }),
        ),
        (
            "PUT",
            "/api/notes/{note_id}/metadata/{key}",
            format!("/api/notes/{note}/metadata/a"),
            json!({ "value": 1 }),
        ),
        (
            "POST",
            "/api/notes/{note_id}/undelete",
            format!("/api/notes/{note}/undelete"),
            json!({}),
        ),
        (
            "PATCH",
            "/api/automation/rules/{rule_id}",
            format!("/api/automation/rules/{rule}"),
            json!({ "enabled": true }),
        ),
        (
            "PATCH",
            "/api/automation/rules/{rule_id}",
            format!("/api/automation/rules/{rule}"),
            json!({ "trigger": "x" }),
        ),
        (
            "POST",
            "/api/automation/runs/{run_id}/review",
            format!("/api/automation/runs/{run}/review"),
            json!({ "decisions": [] }),
        ),
        (
            "POST",
            "/api/automation/runs/{run_id}/cancel",
            format!("/api/automation/runs/{run}/cancel"),
            json!({}),
        ),
        (
            "POST",
            "/api/setup/register",
            "/api/setup/register".to_owned(),
            json!({ "username": "o", "password": "12345678" }),
        ),
        (
            "POST",
            "/api/auth/login",
            "/api/auth/login".to_owned(),
            json!({ "username": "o", "password": "12345678" }),
        ),
        (
            "POST",
            "/api/auth/login",
            "/api/auth/login".to_owned(),
            json!({ "username": "o", "password": "123456789" }),
        ),
        (
            "POST",
            "/api/auth/logout",
            "/api/auth/logout".to_owned(),
            json!({}),
        ),
        (
            "DELETE",
            "/api/notes/{note_id}/metadata/{key}",
            format!("/api/notes/{note}/metadata/a"),
            Value::Null,
        ),
        (
            "DELETE",
            "/api/notes/{note_id}",
            format!("/api/notes/{note}"),
            Value::Null,
        ),
        (
            "DELETE",
            "/api/notes/{note_id}",
            format!("/api/notes/{note}"),
            Value::Null,
        ),
        (
            "DELETE",
            "/api/automation/rules/{rule_id}",
            format!("/api/automation/rules/{rule}"),
            Value::Null,
        ),
    ];
    for (method, template, path, body) in writes {
        let reply = match body {
            Value::Null => server.owner.delete(&path),
            body => server.owner.json(method, &path, &body),
        };
        document.check(method, template, &reply);
        document.check(
            method,
            template,
            &server.nobody().json(method, &path, &json!({})),
        );
    }
}
