//! `bonded doctor`: what to do next, what is here, what is missing, and how to get it.
//!
//! The first line is the conclusion; the rest is what it rests on.
//! It never changes anything: no store, no directory and no configuration is made, and no secret is shown. Each
//! check stands alone, so that one which fails hides no other. What is missing is no error, since most of it need
//! not be there; the exit code speaks of what is broken only.

mod models;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use bonded_host::agent::{Keyring, WINDOW_TOKENS};
use bonded_host::config::Config;
use bonded_host::sandbox::{Launcher, ProcessLimits, SandboxLevel, shortfalls};
use bonded_host::sandbox_trial::attempt;
use bonded_host::windows;
use bonded_kernel::{Target, WindowSource};
use bonded_state::ListFilter;
use bonded_transport::{Providers, Transport as _};
use bonded_work::tree::{Isolation, Isolations};
use bonded_work::{UnfinishedPublish, Workshop, unfinished_publishes};
use bonded_workspace::ProviderHealth;

use crate::args::{ConfigPlaceArgs, DoctorArgs};
use crate::commands::config;
use crate::error::{CliError, Code};

use crate::workspace::place;
use crate::{agents, masking, output, settings, trust};
use bonded_host::shapes::text::{counted, duration, grouped};
use bonded_serve::workspace::configured::Configured;
use bonded_serve::workspace::data_dir::DataDir;

/// One line of the report.
/// What is there; what is not, and how to get it; what is not and need not be; what is broken.
enum Finding {
    Good(String),
    Missing(String, String),
    Absent(String),
    /// The program cannot work like this.
    Bad(CliError),
}

/// The exit code is that of the last thing that is broken.
pub(crate) async fn doctor(args: &DoctorArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let models = models::check().await;
    let mut worst = ExitCode::SUCCESS;
    let mut sections = vec![
        ("models", models.findings),
        ("store", vec![check_store(store).await]),
        ("windows", check_windows().await),
        ("configuration", check_layers()),
        ("sandbox", check_sandbox().await),
        ("work items", check_work(store)),
        ("git", vec![check_git()]),
        ("secrets", check_secrets()),
    ];
    if let Some(data) = &args.data {
        sections.push(("workspace", check_workspace(data).await));
    }
    let all = sections.iter().flat_map(|(_, findings)| findings);
    output::stdout(&conclusion(all, models.next.as_deref()));
    output::stdout(&format!("bonded {}", env!("CARGO_PKG_VERSION")));
    for (title, findings) in sections {
        output::stdout(&format!("\n{title}"));
        for finding in findings {
            match finding {
                Finding::Good(what) => output::stdout(&format!("  ok       {what}")),
                Finding::Missing(what, how) => {
                    output::stdout(&format!("  missing  {what}\n           {how}"));
                }
                Finding::Absent(what) => output::stdout(&format!("  -        {what}")),
                Finding::Bad(error) => {
                    worst = ExitCode::from(error.exit_code());
                    output::stdout(&format!("  BROKEN   {}", error.render()));
                }
            }
        }
    }
    Ok(worst)
}

/// What a person should do next, in one sentence.
fn conclusion<'a>(all: impl Iterator<Item = &'a Finding>, next: Option<&str>) -> String {
    let broken: Vec<&CliError> = all
        .filter_map(|finding| match finding {
            Finding::Bad(error) => Some(error),
            Finding::Good(_) | Finding::Missing(..) | Finding::Absent(_) => None,
        })
        .collect();
    match (broken.as_slice(), next) {
        ([first, ..], _) => {
            let first = first.message().lines().next().unwrap_or_default();
            let count = counted(broken.len(), "thing");
            let verb = if broken.len() == 1 { "is" } else { "are" };
            format!("Not ready: {count} {verb} broken. First: {first}")
        }
        ([], Some(next)) => format!("Ready. Try: {next}"),
        ([], None) => "No model yet. Export OPENAI_API_KEY, or another key below, or start Ollama; then run `bonded doctor` \
                       again. Without any: bonded demo"
            .into(),
    }
}

/// Opened to read, so that a store on a disk that cannot be written is looked at too.
async fn check_store(argument: Option<&Path>) -> Finding {
    let path = match settings::store_path(argument) {
        Ok(path) => path,
        Err(error) => return Finding::Bad(error),
    };
    let address = match settings::store_address(argument) {
        Ok(address) => address,
        Err(error) => return Finding::Bad(error),
    };
    if address.is_none() && !path.exists() {
        let what = format!("{} does not exist yet", path.display());
        return Finding::Missing(what, "created by the first run".into());
    }
    let store = match settings::open_store_to_read(argument) {
        Ok(store) => store,
        Err(error) => return Finding::Bad(error),
    };
    let place = address.map_or_else(|| path.display().to_string(), |it| it.label().to_owned());
    match store.list(ListFilter::default()).await {
        Ok(runs) => {
            let count = counted(runs.len(), "run");
            Finding::Good(format!("{place}: {count}"))
        }
        Err(error) => Finding::Bad(error.into()),
    }
}

/// How much the models take in that are named here, and who says so. A server that could say is asked.
/// All at once, because a server that does not answer is waited for.
async fn check_windows() -> Vec<Finding> {
    let (named, workplace) = match settings::models_named() {
        Ok(named) => named,
        Err(error) => return vec![Finding::Bad(error)],
    };
    masking::mask_with(workplace.environment.secrets());
    let keyring = Keyring::new(workplace.environment).trusting(workplace.trust);
    let providers = Providers::new(move |target| keyring.credentials(target));
    let looked = named.into_iter().map(async |named| match named {
        Ok(mut target) => {
            if windows::may_be_asked(&target) {
                let tokens = providers.window(&target).await;
                windows::take(&mut target, tokens);
            }
            window_line(&target)
        }
        Err(error) => {
            Finding::Missing(error.message().to_owned(), "see bonded config check".into())
        }
    });
    let mut findings = futures_util::future::join_all(looked).await;
    if findings.is_empty() {
        findings.push(Finding::Good("no model is named here".into()));
    }
    findings
}

/// Without a window a run may send more than the model takes, and learn it from a refusal.
fn window_line(target: &Target) -> Finding {
    let name = format!("{}/{}", target.provider, target.model);
    let (Some(window), Some(source)) = (target.window, target.window_source) else {
        let how = format!(
            "set contextWindow; until then agents take it for {} tokens, and other runs send what they have",
            grouped(WINDOW_TOKENS)
        );
        return Finding::Missing(format!("{name}: the context window is not known"), how);
    };
    let whose = match source {
        WindowSource::Configured => "the configuration",
        WindowSource::Table => "the list of models",
        WindowSource::Asked => "the server",
        WindowSource::Assumed => "no source; most models have this much",
        WindowSource::Learned => "the provider",
    };
    let tokens = grouped(window.tokens);
    Finding::Good(format!(
        "{name}: {tokens} tokens, as {whose} says ({})",
        source.as_str()
    ))
}

/// The layers that hold here, and what does not count of those that were found.
/// Nothing that is found is asked about or refused here.
fn check_layers() -> Vec<Finding> {
    let mut findings = vec![match agents::trust_record().map(|it| (it.list(), it)) {
        None => Finding::Missing(
            "nothing can be recorded as trusted: the home directory is not known".into(),
            "set HOME".into(),
        ),
        Some((Ok(trusted), record)) => Finding::Good(format!(
            "{} trusted, as {} says",
            match trusted.len() {
                1 => "1 file is".to_owned(),
                count => format!("{count} files are"),
            },
            record.file().display()
        )),
        Some((Err(error), _)) => Finding::Bad(error.into()),
    }];
    match settings::looked_at() {
        Ok((layers, _)) => {
            findings.extend(layers.iter().map(|layer| match trust::is_left_out(layer) {
                None => Finding::Good(trust::layer_line(layer)),
                Some(how) => Finding::Missing(trust::layer_line(layer), how),
            }));
        }
        Err(error) => findings.push(Finding::Bad(error)),
    }
    findings
}

/// What holds for commands here: at each level one is started and looked at. For each part that the machine lacks, how to
/// get it.
/// What the machine claims to have is not believed: a command is started and tries what should be refused.
async fn check_sandbox() -> Vec<Finding> {
    let mut findings = vec![Finding::Good(
        "file tools stay inside the working directory".into(),
    )];
    let launcher = Launcher::own();
    for level in SandboxLevel::ALL {
        findings.push(try_level(level, &launcher).await);
    }
    if let Ok((_, defaults)) = settings::looked_at() {
        findings.push(Finding::Good(limits_text(&defaults.limits)));
    }
    let lacking = shortfalls(SandboxLevel::default(), &launcher);
    findings.extend(lacking.into_iter().map(|shortfall| {
        let (what, how) = shortfall.rsplit_once("; ").unwrap_or((&shortfall, ""));
        let how = format!("{how}; until then commands are refused without --sandbox-best-effort");
        Finding::Missing(what.to_owned(), how)
    }));
    findings
}

/// Trusts the attempt alone: a level at which something was possible is reported with what it was.
async fn try_level(level: SandboxLevel, launcher: &Launcher) -> Finding {
    let note = match level == SandboxLevel::default() {
        true => " (the default)",
        false => "",
    };
    match attempt(level, launcher).await {
        Ok(trial) if trial.possible.is_empty() => Finding::Good(format!(
            "commands, {}{note}; tried and refused: {}",
            trial.in_force,
            trial.refused.join(", ")
        )),
        Ok(trial) => Finding::Missing(
            format!(
                "commands, {}{note}: {} was possible",
                trial.in_force,
                trial.possible.join(", ")
            ),
            "see what is missing below".into(),
        ),
        Err(error) => {
            let message = format!("no command can be started at {}: {error}", level.as_str());
            Finding::Bad(CliError::new(Code::Sandbox, message))
        }
    }
}

fn limits_text(limits: &ProcessLimits) -> String {
    let size = |bytes: u64| match bytes % (1 << 30) {
        0 => format!("{} GiB", bytes >> 30),
        _ => format!("{bytes} bytes"),
    };
    format!(
        "limits per process: {} CPU, {} memory, {} per file; {} processes at a time",
        duration(limits.cpu_s.saturating_mul(1000)),
        size(limits.memory_bytes),
        size(limits.file_bytes),
        limits.processes,
    )
}

/// Nothing is mended here: the plan that left it so knows what it was about to do.
fn half_published(left: UnfinishedPublish) -> Finding {
    let UnfinishedPublish { root, plan } = left;
    let message = format!(
        "{}: an item was being published and has not been heard of since: the tree may be between two states",
        root.display()
    );
    let hint = format!("if no bonded works there now: bonded work --resume {plan}");
    Finding::Bad(CliError::new(Code::TreeFailed, message).hint(hint))
}

/// Which copies of trees can be made beside the store, tried on the current directory. A tree that was left half
/// published comes first: it may be in a state that nobody wants.
fn check_work(argument: Option<&Path>) -> Vec<Finding> {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            let message = format!("this program cannot be found: {error}");
            return vec![Finding::Bad(CliError::new(Code::Internal, message))];
        }
    };
    let beside = settings::store_path(argument).map(|store| Workshop::beside(&store));
    let left = beside
        .iter()
        .flat_map(|workshop| unfinished_publishes(workshop).unwrap_or_default());
    let mut findings: Vec<Finding> = left.map(half_published).collect();
    // A look at the machine makes no directory that was not there.
    let beside = beside.ok().map(|workshop| workshop.dir().to_owned());
    let copies = beside
        .filter(|dir| dir.exists())
        .unwrap_or_else(std::env::temp_dir);
    let found = Isolations::probe(&program, Path::new("."), &copies);
    findings.push(Finding::Good(match found.best() {
        Isolation::Overlay => "work copies: overlay (only changes use disk)".into(),
        Isolation::Reflink => "work copies: reflink (contents are shared until changed)".into(),
        Isolation::Copy => "work copies: whole (each uses as much disk as the tree)".into(),
    }));
    if let Err(why) = found.overlay {
        let how = "allow user namespaces and overlay mounts to make copies cheap";
        findings.push(Finding::Missing(format!("no overlay: {why}"), how.into()));
    }
    findings
}

/// The directory of a workspace, and the provider of its agent.
/// Only where `--data` names one; the provider is asked once, as a server would.
async fn check_workspace(data: &Path) -> Vec<Finding> {
    let (dir, provider) = match opened(data) {
        Ok(opened) => opened,
        Err(error) => return vec![Finding::Bad(error)],
    };
    let state = provider.look().await;
    let provider = match provider.trouble(&state) {
        None => Finding::Good(format!("{}: it answers and has it", provider.place())),
        Some((what, how)) => Finding::Missing(what, how),
    };
    let good = format!(
        "{}: configuration and prompt are valid",
        dir.path().display()
    );
    vec![Finding::Good(good), provider]
}

/// A directory whose files make sense.
fn opened(data: &Path) -> Result<(DataDir, Arc<ProviderHealth>), CliError> {
    let dir = place::open(data)?;
    let configured = Configured::read(&dir, agents::variables())?;
    dir.check_prompt(&configured.prompt_file)?;
    masking::mask_with(configured.variables.secrets());
    let silent = Arc::new(|_: &str| {});
    let provider = configured.provider(silent)?;
    Ok((dir, provider))
}

/// Names what is called a secret and cannot be hidden, and never shows it.
/// A secret that is a common word cannot be masked: every text with that word in it would be.
fn check_secrets() -> Vec<Finding> {
    let looked = config::place(&ConfigPlaceArgs::default());
    let (workplace, places) = match looked {
        Ok(looked) => looked,
        Err(error) => return vec![Finding::Bad(error)],
    };
    // What is wrong with the configuration is told by `config check`; what it names was met on the way.
    let _problems = Config::check(&places, workplace.environment.clone(), &workplace.trust);
    let weak = workplace.environment.secrets().weak();
    if weak.is_empty() {
        let good = "what is called a secret here is hidden from logs and screens";
        return vec![Finding::Good(good.into())];
    }
    let what = |name: &String| format!("{name} is too easy to guess to be hidden");
    let how =
        "logs and screens may show it: choose 12 drawn letters or more, if it guards something";
    let found = weak
        .iter()
        .map(|name| Finding::Missing(what(name), how.into()));
    found.collect()
}

fn check_git() -> Finding {
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            Finding::Good(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => Finding::Missing(
            "git is not found".into(),
            "install it with your package manager; runs work without it, the demo shows less"
                .into(),
        ),
    }
}
