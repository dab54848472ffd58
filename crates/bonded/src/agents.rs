//! Where agents are found, and what the machine and the clock say to them.
//!
//! This is where the command line composes a host: the place with its configuration and trust, the tools with their
//! confinement, the keys, the clock and the transport. Commands differ in the place and in what they trust: one
//! that starts runs asks the person, one that only looks asks nobody, one that goes on with a run takes what its
//! log says. Secrets are made known to the output first, before anything that could show one is read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bonded_host::agent::{AgentTools, Keyring, Moment, Workplace};
use bonded_host::agent_file::IncludePolicy;
use bonded_host::changes::records_of;
use bonded_host::config::Environment;
use bonded_host::config::options::Options;
use bonded_host::sandbox::{Launcher, OnShortfall};
use bonded_host::trust::{OwnPlaces, Stance, Trust, TrustRecord};
use bonded_host::{CancellationToken, Confinement, Host, SystemClock, WorkplaceChildren};
use bonded_state::Store;
use bonded_transport::{Providers, Transport};
use bonded_work::Workshop;

use crate::args::{AgentArgs, variable};
use crate::error::CliError;
use crate::render::servers;
use crate::traced::Traced;
use crate::{dirs, masking, options, output, signals, telemetry, trust};

/// The place that a command line speaks of. `dir` is the working directory, absolute.
/// Trust is asked for while files are read, so that a person at the terminal may be asked here.
pub(crate) fn workplace(args: &AgentArgs, dir: &Path) -> Result<Workplace, CliError> {
    let environment = environment();
    // Before a configuration is read: what is wrong with one is told, and may be put on record.
    masking::mask_with(environment.secrets());
    let own = own_places();
    Ok(Workplace {
        config_file: args.config.clone(),
        dir: dir.to_owned(),
        binary_dir: own.binary_dir.clone(),
        home: own.home.clone(),
        etc: own.etc.clone(),
        trust: Arc::new(Trust::new(own, trust_record(), trust::stance(args))),
        variables: options::given_by_variables(variable),
        overrides: options::overrides(&args.overrides)?,
        command_line: args.options.given.clone(),
        includes: match args.includes_anywhere {
            true => IncludePolicy::Anywhere,
            false => IncludePolicy::InsideTree,
        },
        ..Workplace::bare(environment)
    })
}

/// The same for whoever only looks: nobody is asked, and nothing of what is found is refused.
/// It must never start what it finds: nobody has agreed to that.
pub(crate) fn looking(args: &AgentArgs, dir: &Path) -> Result<Workplace, CliError> {
    let stance = match args.trust {
        true => Stance::Once,
        false => Stance::Look,
    };
    Ok(Workplace {
        trust: Arc::new(Trust::new(own_places(), trust_record(), stance)),
        ..workplace(args, dir)?
    })
}

/// The place of a run that its log describes: only what counted when it began, or is trusted, counts.
pub(crate) fn bare_workplace(stance: Stance) -> Workplace {
    Workplace {
        trust: Arc::new(Trust::new(own_places(), trust_record(), stance)),
        ..Workplace::bare(environment())
    }
}

/// Where the person's own files lie.
/// What lies there needs no trust: whoever can write it is the person already.
fn own_places() -> OwnPlaces {
    let program = std::env::current_exe().ok();
    OwnPlaces {
        // An empty one would make files of the working directory the person's own.
        home: std::env::var_os("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute()),
        etc: Some("/etc".into()),
        binary_dir: program.and_then(|path| path.parent().map(Path::to_owned)),
    }
}

/// What the person trusts; `None` where there is no home.
pub(crate) fn trust_record() -> Option<TrustRecord> {
    dirs::config_dir().map(|dir| TrustRecord::at(dir.join("trust.json")))
}

/// The variables of this process, for what reads secrets out of them.
pub(crate) fn environment() -> Environment {
    variables().collect()
}

/// The variables of this process; one that is no UTF-8 can be named by nobody.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// What is shown on stderr beyond the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verbosity {
    /// What goes to models and comes back.
    pub(crate) models: bool,
    /// What tool servers say about their progress.
    pub(crate) progress: bool,
    /// The calls that had to wait in a queue. It is no part of the log, which would differ each time.
    pub(crate) queues: bool,
}

impl Verbosity {
    /// As the options of one agent say.
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            models: options.trace_llm,
            progress: options.trace_mcp,
            queues: options.verbose,
        }
    }

    /// What either of them wants: several agents of one server share stderr.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            models: self.models || other.models,
            progress: self.progress || other.progress,
            queues: self.queues || other.queues,
        }
    }
}

/// A host that runs agents of a place, and every other run too.
pub(crate) fn host(
    store: Arc<dyn Store>,
    workplace: Workplace,
    shown: Verbosity,
) -> (Host, Arc<AgentTools>) {
    host_apart(store, workplace, shown, vec![])
}

/// The same, with directories whose runs see nothing of each other.
/// After the seal nothing that was not seen before is trusted by an answer or for once, so that an agent cannot
/// write a configuration and have it count in the same process.
pub(crate) fn host_apart(
    store: Arc<dyn Store>,
    workplace: Workplace,
    shown: Verbosity,
    apart: Vec<PathBuf>,
) -> (Host, Arc<AgentTools>) {
    // From here on agents work, and what they write is nobody's word.
    workplace.trust.seal();
    unsealed_host(store, workplace, shown, apart)
}

/// The same for a run that its log describes: what it uses is read when its tools are opened.
/// The caller must not have let an agent work before: there is no seal that would keep what it wrote from counting.
pub(crate) fn unsealed_host(
    store: Arc<dyn Store>,
    workplace: Workplace,
    shown: Verbosity,
    apart: Vec<PathBuf>,
) -> (Host, Arc<AgentTools>) {
    let environment = workplace.environment.clone();
    masking::mask_with(environment.secrets());
    let keyring = Keyring::new(environment.clone()).trusting(workplace.trust.clone());
    let token_dir = dirs::token_dir();
    let mut tools = AgentTools::new(environment, Some(workplace.clone()))
        .confined(Confinement {
            apart,
            ..confinement(&*store)
        })
        .warning(|warning| output::stderr(&format!("warning: {warning}")))
        .starting(servers::note);
    if let Some(token_dir) = token_dir {
        tools = tools.logged_in(token_dir);
    }
    if let Some(records) = records_of(&*store) {
        tools = tools.recording(records);
    }
    if shown.progress {
        tools = tools.tracing(|text| output::stderr(&format!("trace: progress of {text}")));
    }
    if shown.queues {
        tools = tools.waiting(|waited| {
            output::stderr(&format!(
                "queue {}: {} waited {} ms, {} before it",
                waited.queue, waited.tool, waited.waited_ms, waited.before
            ));
        });
    }
    let tools = Arc::new(tools);
    let providers: Arc<dyn Transport> =
        Arc::new(Providers::new(move |target| keyring.credentials(target)));
    let host = Host {
        store,
        transport: match shown.models {
            true => Arc::new(Traced(providers)),
            false => providers,
        },
        tools: tools.clone(),
        clock: Arc::new(SystemClock::new()),
        secrets: workplace.environment.secrets().clone(),
        children: Some(Arc::new(WorkplaceChildren::new(workplace, moment))),
        live: None,
        watch: telemetry::watch(),
        interrupt: signals::interrupt(),
        drain: CancellationToken::new(),
    };
    (host, tools)
}

/// What holds for every command that a run of this store starts.
/// The copies of trees lie beside the store; their real path counts, where it can be found.
pub(crate) fn confinement(store: &dyn Store) -> Confinement {
    Confinement {
        launcher: Launcher::own(),
        hidden_paths: hidden_paths(store),
        kept: Arc::default(),
        apart: vec![],
        homes: dirs::homes_dir(),
        copies: store.files().first().map(|file| {
            let copies = Workshop::beside(file).dir().to_owned();
            copies.canonicalize().unwrap_or(copies)
        }),
        on_shortfall: Some(warn_once()),
    }
}

/// Names the data directory to a process that works for a server.
pub(crate) const DATA_VARIABLE: &str = "BONDED_DATA";

/// The data directory of the workspaces that this process serves.
/// Set when a workspace is opened to be served; empty in every other process.
static DATA_DIR: OnceLock<PathBuf> = OnceLock::new();

/// Keeps a data directory from every command: the owner's token and everybody's memories are in it.
pub(crate) fn hide_data(dir: &Path) {
    if let Ok(dir) = dir.canonicalize() {
        // A process serves one.
        let _same = DATA_DIR.set(dir);
    }
}

/// That directory; a process that a server starts for a plan is told it.
fn data_dir() -> Option<PathBuf> {
    let from_variable =
        || std::env::var_os(DATA_VARIABLE).and_then(|dir| Path::new(&dir).canonicalize().ok());
    DATA_DIR.get().cloned().or_else(from_variable)
}

/// The store, the tokens of logins, what is trusted, the key that receipts are signed with, and the workspaces' data directory.
/// The sandbox hides these from commands: one that had them could forge the log, speak for the person, trust itself
/// or sign receipts. What is added to the data of the person must be added here.
fn hidden_paths(store: &dyn Store) -> Vec<PathBuf> {
    let files = store.files();
    let keys = files.first().map(|file| Workshop::beside(file).keys_dir());
    files
        .into_iter()
        .chain(dirs::token_dir())
        .chain(dirs::homes_dir())
        .chain(dirs::serve_token_file())
        .chain(dirs::config_dir())
        .chain(keys)
        .chain(data_dir())
        .collect()
}

/// What a machine lacks is the same for every run.
/// A server would repeat it with every run otherwise.
fn warn_once() -> OnShortfall {
    let shown = Mutex::new(BTreeSet::new());
    Arc::new(move |lacking| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.insert(lacking.to_owned()) {
            output::stderr(&format!("warning: {lacking}"));
        }
    })
}

/// What prompts may ask of the machine and the clock.
/// Read anew for each run. What cannot be found out is empty, and the zone is UTC then.
pub(crate) fn moment() -> Moment {
    let now = jiff::Zoned::now();
    let read = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().to_owned()
    };
    let user = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    Moment {
        datetime: now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        day: now.strftime("%A").to_string(),
        timezone: now.time_zone().iana_name().unwrap_or("UTC").to_owned(),
        hostname: read("/proc/sys/kernel/hostname"),
        user: user.unwrap_or_default(),
        kernel: read("/proc/sys/kernel/osrelease"),
    }
}
