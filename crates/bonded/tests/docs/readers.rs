//! The readers of what people write, each as a function from a value to what is wrong with it.

use std::collections::BTreeSet;
use std::path::Path;

use bonded_host::agent_file::{AgentFile, IncludePolicy};
use bonded_host::config::options::{Sources, resolve};
use bonded_host::config::{Config, ConfigDirs, Environment};
use bonded_host::trust::Trust;
use bonded_kernel::WorkspaceId;
use bonded_work_rules::{Constraints, PlanContext, WorkPlan};
use bonded_workspace_rules::{BadSchedule, LoopDefaults, RuleDraft, Surroundings};
use serde_json::{Value, json};

pub(crate) type Reader = fn(&Value) -> Result<(), String>;

fn joined(faults: &[impl ToString]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

pub(crate) fn plan(written: &Value) -> Result<(), String> {
    let context = PlanContext {
        root: None,
        done: &BTreeSet::new(),
        defaults: Constraints::default(),
    };
    let read = WorkPlan::from_value(written, &context);
    read.map(drop).map_err(|faults| joined(&faults))
}

/// As `bonded rule add` reads it, on a host that permits everything.
pub(crate) fn rule(written: &Value) -> Result<(), String> {
    let mut written = written.clone();
    if let Value::Object(fields) = &mut written {
        let own = json!("6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11");
        fields.entry("workspace_id").or_insert(own);
    }
    let read = RuleDraft::check(&written, &Anywhere(LoopDefaults::default()));
    read.map(drop).map_err(|faults| joined(&faults))
}

struct Anywhere(LoopDefaults);

impl Surroundings for Anywhere {
    fn check_cron(&self, _: &str, _: &str) -> Result<(), BadSchedule> {
        Ok(())
    }

    fn check_place(&self, _: &WorkspaceId, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn check_prompt(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn check_provider(&self, _: &str, _: Option<&str>) -> Result<(), String> {
        Ok(())
    }

    fn check_webhook(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn provider_kinds(&self) -> &[&str] {
        &["lmstudio", "script"]
    }

    fn is_file_provider(&self, kind: &str) -> bool {
        kind == "script"
    }

    fn loop_defaults(&self) -> &LoopDefaults {
        &self.0
    }
}

/// The front matter, with what its options come to.
pub(crate) fn agent(written: &Value) -> Result<(), String> {
    let text = format!("---\n{written}\n---\nYou are tested.\n");
    let (path, dir) = (Path::new("a.ai"), Path::new("."));
    let file = AgentFile::from_text(&text, path, dir, IncludePolicy::InsideTree);
    let file = file.map_err(|error| error.to_string())?;
    let sources = Sources {
        front_matter: file.options,
        ..Sources::default()
    };
    resolve(&sources)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// A file that is the whole configuration. An unknown key counts as a mistake, though a run only warns of it.
pub(crate) fn config(written: &Value) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let file = dir.path().join("config.json");
    std::fs::write(&file, written.to_string()).expect("a file can be written");
    std::fs::write(dir.path().join("shop.json"), SHOP).expect("a file can be written");
    let places = ConfigDirs {
        explicit: Some(file),
        cwd: dir.path().into(),
        agent_dir: None,
        binary_dir: None,
        home: None,
        etc: None,
    };
    let environment: Environment = [("KEY".to_owned(), "high".to_owned())]
        .into_iter()
        .collect();
    let found = Config::check(&places, environment, &Trust::once());
    let warnings = found.warnings.iter().map(ToString::to_string);
    let unknown = warnings.filter(|warning| warning.contains("unknown key"));
    let problems = found.problems.iter().map(ToString::to_string);
    let all: Vec<String> = problems.chain(unknown).collect();
    match all.is_empty() {
        true => Ok(()),
        false => Err(all.join("\n")),
    }
}

/// The smallest OpenAPI document with an operation.
const SHOP: &str = r#"{"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"},
  "servers": [{"url": "https://shop.example.org/v1"}],
  "paths": {"/orders": {"get": {"operationId": "orders", "tags": ["orders"], "responses": {}}}}}"#;
