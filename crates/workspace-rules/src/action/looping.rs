//! The action `kjxlkj_agent`: which prompt, which model, how fast, with which memory and in which scope.

use bonded_kernel::{Mistake, Mode, Scope, WorkspaceId, short};
use serde::Serialize;

use super::super::fault::{Fault, FaultKind, Fields};
use super::super::prompt_file::MODES;
use super::super::rule::Surroundings;
use super::super::scope;
use super::{PATH_BYTES_MAX, REQUEST_BYTES_MAX};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const TIMEOUT_MS_MAX: u64 = 60 * 60 * 1000;
const TOKENS_MAX: u64 = 1_000_000;
const ITERATIONS_MAX: u64 = 10_000;
const PAGING_BYTES_MAX: u64 = 1 << 20;
const URL_BYTES_MAX: usize = 2048;
const MODEL_BYTES_MAX: usize = 256;
const MEMORY_NAME_BYTES_MAX: usize = 100;
/// Whoever writes one of these means a file of the server, which no memory is.
const OWN_FILES: [&str; 6] = [
    "agent-prompt",
    "bonded.db",
    "config",
    "owner-token",
    "workspace",
    "workspace.db",
];

/// A run of the agent, one loop after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopAction {
    pub prompt_path: String,
    pub provider: ProviderChoice,
    /// `None` leaves it to the prompt file.
    pub mode: Option<Mode>,
    pub memory: MemoryPlace,
    #[serde(rename = "loop")]
    pub pace: Pace,
    pub scope: Scope,
    /// Whether anything but well-formed instructions fails a reply as a whole.
    pub strict_mode: bool,
    /// The memory, in bytes, at which the agent is told to put parts of it away.
    pub paging_bytes: u64,
    /// What the agent is asked; without it, it is told what the rule fired on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// Which model is asked, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProviderChoice {
    pub provider_kind: String,
    /// `None` is the place where a provider of this kind is usually found.
    pub base_url: Option<String>,
    pub model: String,
    pub timeout_ms: u64,
    pub max_tokens: u32,
    pub temperature: f64,
}

/// Where the memory lies, and whether replies are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPlace {
    pub kv_store_path: String,
    pub retain_full_conversation_logs: bool,
}

/// How long the agent waits between loops, and how many there are at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pace {
    pub loop_delay_ms: u64,
    pub idle_delay_ms: u64,
    pub max_iterations: u32,
}

/// What holds where an action says nothing. A host may have its own.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopDefaults {
    pub prompt_path: String,
    pub provider: ProviderChoice,
    pub mode: Option<Mode>,
    pub memory: MemoryPlace,
    pub pace: Pace,
    pub strict_mode: bool,
    pub paging_bytes: u64,
}

impl Default for LoopDefaults {
    fn default() -> Self {
        Self {
            prompt_path: "./data/agent-prompt.json".into(),
            provider: ProviderChoice {
                provider_kind: "lmstudio".into(),
                base_url: Some("http://127.0.0.1:1234/v1".into()),
                model: "nvidia/nemotron-3-nano".into(),
                timeout_ms: 300_000,
                max_tokens: 4096,
                temperature: 0.1,
            },
            mode: None,
            memory: MemoryPlace {
                kv_store_path: "./data/agent-kv-store.json".into(),
                retain_full_conversation_logs: false,
            },
            pace: Pace {
                loop_delay_ms: 1500,
                idle_delay_ms: 5000,
                max_iterations: 100,
            },
            strict_mode: false,
            paging_bytes: 8192,
        }
    }
}

impl LoopAction {
    /// The action that says nothing.
    pub fn usual(workspace: WorkspaceId, defaults: &LoopDefaults) -> Self {
        Self {
            prompt_path: defaults.prompt_path.clone(),
            provider: defaults.provider.clone(),
            mode: defaults.mode,
            memory: defaults.memory.clone(),
            pace: defaults.pace,
            scope: Scope::usual(workspace),
            strict_mode: defaults.strict_mode,
            paging_bytes: defaults.paging_bytes,
            request: None,
        }
    }

    /// The mode of a run: what the action says, else the host, else the prompt file.
    pub fn mode_with(&self, prompt: Option<Mode>) -> Mode {
        self.mode.or(prompt).unwrap_or(Mode::Yolo)
    }
}

const FIELDS: [&str; 11] = [
    "kind",
    "prompt_path",
    "prompt_json_path",
    "provider",
    "mode",
    "memory",
    "loop",
    "scope",
    "strict_mode",
    "paging_bytes",
    "request",
];
const PROVIDER_FIELDS: [&str; 6] = [
    "provider_kind",
    "base_url",
    "model",
    "timeout_ms",
    "max_tokens",
    "temperature",
];
const MEMORY_FIELDS: [&str; 4] = [
    "kv_store_path",
    "retain_full_conversation_logs",
    "type",
    "carry_over",
];
const LOOP_FIELDS: [&str; 3] = ["loop_delay_ms", "idle_delay_ms", "max_iterations"];

pub(super) fn read(
    fields: &mut Fields<'_, '_>,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> LoopAction {
    let usual = LoopAction::usual(*workspace, host.loop_defaults());
    fields.refuse_unknown(&FIELDS);
    let prompt = prompt_path(fields, "prompt_path", &usual.prompt_path, host);
    // An older form of the action has another name for it.
    let older = prompt_path(fields, "prompt_json_path", &usual.prompt_path, host);
    let request = fields.text("request", REQUEST_BYTES_MAX);
    LoopAction {
        prompt_path: prompt.or(older).unwrap_or(usual.prompt_path),
        provider: read_provider(fields, usual.provider, host),
        mode: fields.word("mode", &MODES).or(usual.mode),
        memory: read_memory(fields, usual.memory),
        pace: read_pace(fields, usual.pace),
        scope: scope::read(fields.object("scope"), workspace),
        strict_mode: fields.flag("strict_mode").unwrap_or(usual.strict_mode),
        paging_bytes: fields
            .whole("paging_bytes", 256..=PAGING_BYTES_MAX)
            .unwrap_or(usual.paging_bytes),
        request: request.map(str::to_owned),
    }
}

/// The host's own prompt, or another one that it lets rules use.
fn prompt_path(
    fields: &mut Fields<'_, '_>,
    field: &str,
    usual: &str,
    host: &dyn Surroundings,
) -> Option<String> {
    let written = fields.text(field, PATH_BYTES_MAX)?;
    if written != usual
        && let Err(why) = host.check_prompt(written)
    {
        fields.fault(field, FaultKind::Told { why });
    }
    Some(written.to_owned())
}

/// Written as an object, or as the name of its kind alone.
fn read_provider(
    fields: &mut Fields<'_, '_>,
    usual: ProviderChoice,
    host: &dyn Surroundings,
) -> ProviderChoice {
    let before = fields.faults().len();
    let (own_kind, own_url) = (usual.provider_kind.clone(), usual.base_url.clone());
    let (choice, at) = match fields.given("provider") {
        Some(given) if given.is_string() => {
            let kind = read_kind(fields, "provider", host);
            (of_kind(kind, usual), fields.at("provider"))
        }
        _ => match fields.object("provider") {
            Some(mut fields) => {
                let at = match fields.given("base_url") {
                    Some(_) => fields.at("base_url"),
                    None => fields.at("provider_kind"),
                };
                (read_provider_fields(&mut fields, usual, host), at)
            }
            None => return usual,
        },
    };
    let is_own = choice.provider_kind == own_kind && choice.base_url == own_url;
    let is_read = fields.faults().len() == before;
    if is_read
        && !is_own
        && let Err(why) = host.check_provider(&choice.provider_kind, choice.base_url.as_deref())
    {
        let kind = FaultKind::Told { why };
        fields.faults().push(Fault::new(at, kind));
    }
    choice
}

fn read_provider_fields(
    fields: &mut Fields<'_, '_>,
    usual: ProviderChoice,
    host: &dyn Surroundings,
) -> ProviderChoice {
    fields.refuse_unknown(&PROVIDER_FIELDS);
    let kind = read_kind(fields, "provider_kind", host);
    let usual = of_kind(kind, usual);
    let model = fields.text("model", MODEL_BYTES_MAX).map(str::to_owned);
    let tokens = fields.whole("max_tokens", 1..=TOKENS_MAX);
    let timeout_ms = fields.whole("timeout_ms", 1..=TIMEOUT_MS_MAX);
    ProviderChoice {
        base_url: read_url(fields, &usual.provider_kind, host).or(usual.base_url),
        provider_kind: usual.provider_kind,
        model: model.unwrap_or(usual.model),
        timeout_ms: timeout_ms.unwrap_or(usual.timeout_ms),
        max_tokens: tokens.map_or(usual.max_tokens, |it| it as u32),
        temperature: fields
            .number("temperature", 0, 2)
            .unwrap_or(usual.temperature),
    }
}

/// The usual place is that of the usual kind: no other kind is looked for there.
fn of_kind(kind: Option<String>, usual: ProviderChoice) -> ProviderChoice {
    match kind {
        Some(kind) if kind != usual.provider_kind => ProviderChoice {
            provider_kind: kind,
            base_url: None,
            ..usual
        },
        _ => usual,
    }
}

fn read_kind(fields: &mut Fields<'_, '_>, field: &str, host: &dyn Surroundings) -> Option<String> {
    let written = fields.text(field, 64)?;
    let known = host.provider_kinds();
    if !known.contains(&written) {
        fields.fault(field, Mistake::unknown_word(written, known.iter().copied()));
    }
    Some(written.to_owned())
}

fn read_url(fields: &mut Fields<'_, '_>, kind: &str, host: &dyn Surroundings) -> Option<String> {
    let written = fields.text("base_url", URL_BYTES_MAX)?;
    let rest = written
        .strip_prefix("http://")
        .or_else(|| written.strip_prefix("https://"));
    let authority = rest.and_then(|it| it.split(['/', '?', '#']).next());
    let is_url = authority.is_some_and(|it| !it.is_empty() && !it.contains('@'));
    if !is_url && !host.is_file_provider(kind) {
        let found = short(written);
        fields.fault("base_url", FaultKind::NotAnUrl { found });
    }
    Some(written.trim_end_matches('/').to_owned())
}

fn read_memory(fields: &mut Fields<'_, '_>, usual: MemoryPlace) -> MemoryPlace {
    let Some(mut fields) = fields.object("memory") else {
        return usual;
    };
    fields.refuse_unknown(&MEMORY_FIELDS);
    fields.word("type", &[("kv_store", ())]);
    if fields.flag("carry_over") == Some(false) {
        let why = "must be true: the memory of an agent outlives its loops; name another kv_store_path for a fresh one";
        fields.fault("carry_over", FaultKind::Told { why: why.into() });
    }
    let retained = fields.flag("retain_full_conversation_logs");
    MemoryPlace {
        kv_store_path: memory(&mut fields, &usual.kv_store_path).unwrap_or(usual.kv_store_path),
        retain_full_conversation_logs: retained.unwrap_or(usual.retain_full_conversation_logs),
    }
}

/// The host's own memory, or another one by its name.
fn memory(fields: &mut Fields<'_, '_>, usual: &str) -> Option<String> {
    let written = fields.text("kv_store_path", PATH_BYTES_MAX)?;
    if written != usual && memory_name(written).is_none() {
        let found = short(written);
        fields.fault("kv_store_path", FaultKind::NotAMemory { found });
    }
    Some(written.to_owned())
}

/// The name of a memory as a rule writes it: `inbox`, `inbox.json` and `./data/inbox.json` are the same. A name is no
/// path: nothing in it can lead to another directory.
pub fn memory_name(written: &str) -> Option<&str> {
    let name = written.strip_prefix("./").unwrap_or(written);
    let name = name.strip_prefix("data/").unwrap_or(name);
    let name = name.strip_suffix(".json").unwrap_or(name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = (1..=MEMORY_NAME_BYTES_MAX).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name.chars().all(is_plain)
        && !OWN_FILES.contains(&name);
    is_name.then_some(name)
}

fn read_pace(fields: &mut Fields<'_, '_>, usual: Pace) -> Pace {
    let Some(mut fields) = fields.object("loop") else {
        return usual;
    };
    fields.refuse_unknown(&LOOP_FIELDS);
    let iterations = fields.whole("max_iterations", 1..=ITERATIONS_MAX);
    let mut delay = |field, usual| fields.whole(field, 0..=DAY_MS).unwrap_or(usual);
    Pace {
        loop_delay_ms: delay("loop_delay_ms", usual.loop_delay_ms),
        idle_delay_ms: delay("idle_delay_ms", usual.idle_delay_ms),
        max_iterations: iterations.map_or(usual.max_iterations, |it| it as u32),
    }
}
