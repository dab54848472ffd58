//! The action `kjxlkj_agent`: which prompt, which model, how fast, with which memory and in which scope.
//!
//! Every field has a default, which comes from the host. What names a place of the server (the prompt, the provider,
//! the memory) is either that default or something that the host permits: a rule is written by an admin of a workspace,
//! who need not be the operator of the machine.

use bonded_kernel::{Mistake, Mode, Scope, WorkspaceId, short};
use serde::Serialize;

use super::loop_form::{FORM, KIND_BYTES_MAX, MEMORY_TYPES, PROVIDER};
use super::rule_action::{ActionNeeds, NeedsNote, Resource, RuleAction};
use crate::fault::{Fault, FaultKind, RuleFields};
use crate::loop_settings::{LoopDefaults, MemoryChoice, Pace, ProviderChoice};
use crate::prompt_file::MODES;
use crate::scope;
use crate::surroundings::Surroundings;

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
    /// The host's own prompt, or one that the host lets rules use; read again when the rule fires.
    pub prompt_path: String,
    /// Which model answers; the host's own where the action names none.
    pub provider: ProviderChoice,
    /// `None` leaves it to the prompt file.
    pub mode: Option<Mode>,
    /// Named, never a path: two rules of a workspace that name the same memory share it, and take turns.
    pub memory: MemoryChoice,
    /// Written as `loop` in JSON.
    #[serde(rename = "loop")]
    pub pace: Pace,
    /// Its workspace is always that of the rule, whatever was written.
    pub scope: Scope,
    /// Whether anything but well-formed instructions fails a reply as a whole.
    pub strict_mode: bool,
    /// The memory, in bytes, at which the agent is told to put parts of it away.
    pub paging_bytes: u64,
    /// What the agent is asked; without it, it is told what the rule fired on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl LoopAction {
    /// The action that leaves everything open.
    /// A rule that says nothing but its kind means exactly this.
    pub fn from_defaults(workspace: WorkspaceId, defaults: &LoopDefaults) -> Self {
        Self {
            prompt_path: defaults.prompt_path.clone(),
            provider: defaults.provider.clone(),
            mode: defaults.mode,
            memory: defaults.memory.clone(),
            pace: defaults.pace,
            scope: Scope::default_of(workspace),
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

impl RuleAction for Box<LoopAction> {
    const IS_ASKED: bool = true;

    fn needs(&self) -> ActionNeeds<'_> {
        ActionNeeds {
            request: self.request.as_deref(),
            exclusive: Some(Resource::Memory(&self.memory.kv_store_path)),
            prompt_path: Some(&self.prompt_path),
            note: NeedsNote::No,
            is_signed: false,
        }
    }

    fn words(&self) -> String {
        match &self.request {
            Some(request) => format!("ask the workspace's agent: {:?}", short(request)),
            None => "let the workspace's agent do what its prompt says".into(),
        }
    }
}

/// Reads all fields, even after a fault, and fills what is missing or wrong with the default. The result is only used
/// if no fault was found, so a default never hides a mistake.
pub(super) fn read(
    fields: &mut RuleFields<'_, '_>,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<Box<LoopAction>> {
    let default = LoopAction::from_defaults(*workspace, host.loop_defaults());
    fields.hold_to(FORM);
    let prompt = prompt_path(fields, "prompt_path", &default.prompt_path, host);
    // An older form of the action has another name for it.
    let older = prompt_path(fields, "prompt_json_path", &default.prompt_path, host);
    let request = fields.text_row("request");
    Some(Box::new(LoopAction {
        prompt_path: prompt.or(older).unwrap_or(default.prompt_path),
        provider: read_provider(fields, default.provider, host),
        mode: fields.word("mode", &MODES).or(default.mode),
        memory: read_memory(fields, default.memory),
        pace: read_pace(fields, default.pace),
        scope: scope::read(fields.object_row("scope"), workspace),
        strict_mode: fields.flag("strict_mode").unwrap_or(default.strict_mode),
        paging_bytes: fields
            .whole_row("paging_bytes")
            .unwrap_or(default.paging_bytes),
        request: request.map(str::to_owned),
    }))
}

/// The host's own prompt, or another one that it lets rules use.
/// The default is taken without asking: the operator chose it. Anything else the host judges, because a rule must not
/// read any file of the machine.
fn prompt_path(
    fields: &mut RuleFields<'_, '_>,
    field: &str,
    default: &str,
    host: &dyn Surroundings,
) -> Option<String> {
    let written = fields.text_row(field)?;
    if written != default
        && let Err(why) = host.check_prompt(written)
    {
        fields.fault(field, FaultKind::Reason { why });
    }
    Some(written.to_owned())
}

/// Written as an object, or as the name of its kind alone.
/// The host judges the kind and the address together, and only once both were read without a fault: what differs from
/// the host's own provider could send notes, or a key, to a place of the rule's author.
fn read_provider(
    fields: &mut RuleFields<'_, '_>,
    default: ProviderChoice,
    host: &dyn Surroundings,
) -> ProviderChoice {
    let before = fields.faults().len();
    let (own_kind, own_url) = (default.provider_kind.clone(), default.base_url.clone());
    let (choice, at) = match fields.given("provider") {
        Some(given) if given.is_string() => {
            let kind = read_kind(fields, "provider", host);
            (of_kind(kind, default), fields.at("provider"))
        }
        _ => match provider_object(fields) {
            Some(mut fields) => {
                let at = match fields.given("base_url") {
                    Some(_) => fields.at("base_url"),
                    None => fields.at("provider_kind"),
                };
                (read_provider_fields(&mut fields, default, host), at)
            }
            None => return default,
        },
    };
    let is_own = choice.provider_kind == own_kind && choice.base_url == own_url;
    let is_read = fields.faults().len() == before;
    if is_read
        && !is_own
        && let Err(why) = host.check_provider(&choice.provider_kind, choice.base_url.as_deref())
    {
        let kind = FaultKind::Reason { why };
        fields.faults().push(Fault::new(at, kind));
    }
    choice
}

/// The provider as an object, held to its form.
fn provider_object<'a, 'f>(fields: &'f mut RuleFields<'a, '_>) -> Option<RuleFields<'a, 'f>> {
    let mut fields = fields.object("provider")?;
    fields.hold_to(PROVIDER);
    Some(fields)
}

/// The kind is read first, because it decides which address is the default one.
fn read_provider_fields(
    fields: &mut RuleFields<'_, '_>,
    default: ProviderChoice,
    host: &dyn Surroundings,
) -> ProviderChoice {
    let kind = read_kind(fields, "provider_kind", host);
    let default = of_kind(kind, default);
    let model = fields.text_row("model").map(str::to_owned);
    let tokens = fields.measured_row("max_tokens");
    let timeout_ms = fields.measured_row("timeout_ms");
    ProviderChoice {
        base_url: read_url(fields, &default.provider_kind, host).or(default.base_url),
        provider_kind: default.provider_kind,
        model: model.unwrap_or(default.model),
        timeout_ms: timeout_ms.unwrap_or(default.timeout_ms),
        max_tokens: tokens.map_or(default.max_tokens, |it| it as u32),
        temperature: fields
            .number_row("temperature")
            .unwrap_or(default.temperature),
    }
}

/// The default address is that of the default kind: no other kind is looked for there.
fn of_kind(kind: Option<String>, default: ProviderChoice) -> ProviderChoice {
    match kind {
        Some(kind) if kind != default.provider_kind => ProviderChoice {
            provider_kind: kind,
            base_url: None,
            ..default
        },
        _ => default,
    }
}

/// An unknown kind is a fault and is returned nevertheless, so that the other fields are still looked at.
fn read_kind(
    fields: &mut RuleFields<'_, '_>,
    field: &str,
    host: &dyn Surroundings,
) -> Option<String> {
    let written = fields.text(field, KIND_BYTES_MAX)?;
    let known = host.provider_kinds();
    if !known.contains(&written) {
        fields.fault(field, Mistake::unknown_word(written, known.iter().copied()));
    }
    Some(written.to_owned())
}

/// An address with a user name in it is refused: it would be kept and shown with the rule. A provider that replays
/// a file has a path in place of an address, which the host judges. A slash at the end is dropped.
fn read_url(
    fields: &mut RuleFields<'_, '_>,
    kind: &str,
    host: &dyn Surroundings,
) -> Option<String> {
    let written = fields.text_row("base_url")?;
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

/// `type` and `carry_over` are read for the sake of rules that were written elsewhere: they can only say what holds
/// anyway.
fn read_memory(fields: &mut RuleFields<'_, '_>, default: MemoryChoice) -> MemoryChoice {
    let Some(mut fields) = fields.object_row("memory") else {
        return default;
    };
    fields.word("type", &MEMORY_TYPES);
    if fields.flag("carry_over") == Some(false) {
        let why = "must be true: the memory of an agent outlives its loops; name another kv_store_path for a fresh one";
        fields.fault("carry_over", FaultKind::Reason { why: why.into() });
    }
    let retained = fields.flag("retain_full_conversation_logs");
    MemoryChoice {
        kv_store_path: memory(&mut fields, &default.kv_store_path).unwrap_or(default.kv_store_path),
        retain_full_conversation_logs: retained.unwrap_or(default.retain_full_conversation_logs),
    }
}

/// The host's own memory, or another one by its name.
fn memory(fields: &mut RuleFields<'_, '_>, default: &str) -> Option<String> {
    let written = fields.text_row("kv_store_path")?;
    if written != default && memory_name(written).is_none() {
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

/// Delays are milliseconds or texts such as `5s`, up to a day.
fn read_pace(fields: &mut RuleFields<'_, '_>, default: Pace) -> Pace {
    let Some(mut fields) = fields.object_row("loop") else {
        return default;
    };
    let iterations = fields.whole_row("max_iterations");
    let mut delay = |field, default| fields.measured_row(field).unwrap_or(default);
    Pace {
        loop_delay_ms: delay("loop_delay_ms", default.loop_delay_ms),
        idle_delay_ms: delay("idle_delay_ms", default.idle_delay_ms),
        max_iterations: iterations.map_or(default.max_iterations, |it| it as u32),
    }
}
