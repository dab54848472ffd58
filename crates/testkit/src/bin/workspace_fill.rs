//! Fills the store of a workspace through its own door, for measuring.
//!
//! ```text
//! workspace_fill notes STORE NOTES PEOPLE    makes a workspace, its people and its notes
//! workspace_fill rules STORE RULES           adds rules that never fire while somebody measures
//! workspace_fill files DIR NOTES             writes the notes as files of another program, in directories
//! ```
//!
//! What it makes is the same each time, but for the times. The rule engine has looked at all of it, as it would have
//! where a server had made it.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use bonded_kernel::{Millis, RuleId};
use bonded_testkit::notes;
use bonded_workspace::store::{By, WorkspaceStore, Write};
use bonded_workspace_rules::{
    Actor, CatchUp, Chain, Change, NewNote, Overlap, Role, RuleDraft, Schedule, Trigger,
};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::json;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// How many writes wait at once: they share a sync.
const AT_ONCE: usize = 256;

/// The notes were made one after the other, the last one just now.
const APART_MS: u64 = 1000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match fill(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "workspace_fill: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn fill(words: &[&str]) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    match *words {
        ["notes", store, notes, people] => {
            let (notes, people) = (notes.parse()?, people.parse()?);
            runtime.block_on(fill_notes(Path::new(store), notes, people))
        }
        ["rules", store, rules] => {
            let rules = rules.parse()?;
            runtime.block_on(fill_rules(Path::new(store), rules))
        }
        ["files", dir, notes] => write_files(Path::new(dir), notes.parse()?),
        _ => Err("one of notes, rules, files is needed, with its arguments".into()),
    }
}

async fn fill_notes(path: &Path, notes: u64, people: u64) -> Result<(), Fault> {
    let store = WorkspaceStore::open(path)?;
    let now = now();
    for person in 0..people {
        let (id, name) = (notes::user_id(person), format!("client {person}"));
        store.add_user(By::Keeper, id, name, now).await?;
        let label = "measuring".to_owned();
        store
            .add_token(By::Keeper, id, &notes::token(person), label, now)
            .await?;
    }
    let workspace = Change::CreateWorkspace {
        workspace_id: notes::WORKSPACE,
        name: "Measured".to_owned(),
    };
    write(&store, workspace, now).await?;
    let members = (0..people).map(|person| Change::SetMember {
        workspace_id: notes::WORKSPACE,
        user_id: notes::user_id(person),
        role: Role::Editor,
    });
    write_all(&store, members.map(|change| (change, now))).await?;
    let made = (0..notes).map(|number| {
        let age_ms = (notes - number) * APART_MS;
        (new_note(number), Millis(now.0.saturating_sub(age_ms)))
    });
    write_all(&store, made).await?;
    considered(&store).await
}

async fn fill_rules(path: &Path, rules: u64) -> Result<(), Fault> {
    let store = WorkspaceStore::open_existing(path)?;
    let now = now();
    let made = (0..rules).map(|number| {
        let change = Change::CreateRule {
            rule_id: RuleId::derived(&[b"rule", &number.to_le_bytes()]),
            draft: Box::new(idle_rule(number)),
        };
        (change, now)
    });
    write_all(&store, made).await?;
    considered(&store).await
}

/// How many directories there are; each holds as many files as the others.
const DIRECTORIES: u64 = 100;

/// Every third file has fields before its text, as other programs write them.
fn write_files(dir: &Path, notes: u64) -> Result<(), Fault> {
    for place in 0..DIRECTORIES {
        std::fs::create_dir_all(dir.join(format!("area {place}")))?;
    }
    for number in 0..notes {
        let fields = match number.is_multiple_of(3) {
            true => format!(
                "---\ntags: [shelf{}, paper]\naliases: [number {number}]\n---\n",
                number % 100
            ),
            false => String::new(),
        };
        let name = format!("area {}/{}.md", number % DIRECTORIES, notes::title(number));
        std::fs::write(
            dir.join(name),
            format!("{fields}{}", notes::markdown(number)),
        )?;
    }
    Ok(())
}

fn new_note(number: u64) -> Change {
    Change::CreateNote(NewNote {
        note_id: notes::note_id(number),
        workspace_id: notes::WORKSPACE,
        title: Some(notes::title(number)),
        markdown: notes::markdown(number),
        note_kind: None,
        access_scope: Default::default(),
        keywords: vec![format!("shelf{}", number % 100)],
        metadata: Default::default(),
    })
}

/// Half of them wait for the next new year, half for notes that nobody makes.
fn idle_rule(number: u64) -> RuleDraft {
    let waits_for_clock = number.is_multiple_of(2);
    let schedule = Schedule {
        cron: format!("{} {} 1 1 *", number % 60, number / 60 % 24),
        timezone: "UTC".to_owned(),
        catch_up: CatchUp::default(),
        overlap: Overlap::default(),
    };
    RuleDraft {
        name: None,
        workspace_id: notes::WORKSPACE,
        trigger: match waits_for_clock {
            true => Trigger::Cron,
            false => Trigger::NoteChanged,
        },
        condition_json: json!({ "field": "note.keywords", "op": "contains", "value": format!("nobody {number}") }),
        action_json: json!({ "kind": "kjxlkj_agent", "request": "do nothing" }),
        enabled: true,
        schedule: waits_for_clock.then_some(schedule),
        max_chain_depth: 3,
    }
}

/// Says that the rule engine has looked at all events.
async fn considered(store: &WorkspaceStore) -> Result<(), Fault> {
    let change = Change::Considered {
        after: store.considered_row().await?,
        row: store.last_row().await?,
        firings: vec![],
    };
    write(store, change, now()).await
}

async fn write_all(
    store: &WorkspaceStore,
    changes: impl Iterator<Item = (Change, Millis)>,
) -> Result<(), Fault> {
    stream::iter(changes.map(|(change, at)| write(store, change, at)))
        .buffered(AT_ONCE)
        .try_collect()
        .await
}

async fn write(store: &WorkspaceStore, change: Change, at: Millis) -> Result<(), Fault> {
    let write = Write {
        actor: Actor::System,
        at,
        request_id: "fill".to_owned(),
        key: None,
        chain: Chain::default(),
        change,
    };
    store.write(write).await?;
    Ok(())
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Millis(since.map_or(0, |since| since.as_millis() as u64))
}
