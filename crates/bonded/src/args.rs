//! The command line: one struct for each command. The doc comments are the help text.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::options::OptionArgs;

/// Runs LLM agents under guarantees.
///
/// What an agent may do, spend and change is enforced by code; everything it did can be replayed and
/// checked; a crash at any moment loses nothing and repeats nothing.
#[derive(Debug, Parser)]
#[command(
    name = "bonded",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "\
Examples:
  bonded demo                                        watch an agent work; needs no key
  bonded run --model openai/gpt-5-mini \"fix the failing test\"
  bonded run --model llama3 --base-url http://127.0.0.1:11434/v1 @goal.txt
  bonded runs                                        list the runs
  bonded show 3f2a                                   step through one, by a prefix of its id
  bonded replay 3f2a                                 check every step of it, offline

Exit codes: 0 success, 1 the run failed or a check found a difference, 3 the store or the start-up
failed, 4 bad arguments or configuration, 5 a schema that does not fit, 6 a call waits for a person.
`bonded explain CODE` says more about an error.")]
pub(crate) struct Cli {
    /// The store's file [default: bonded/store.db in the platform's data directory]
    #[arg(long, global = true, env = "BONDED_STORE", value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArgs>),
    Work(Box<WorkArgs>),
    Serve(Box<ServeArgs>),
    Mcp(Box<McpArgs>),
    Runs(RunsArgs),
    Show(ShowArgs),
    Resume(ResumeArgs),
    Approve(ApproveArgs),
    Deny(DenyArgs),
    Cancel(CancelArgs),
    Replay(ReplayArgs),
    Verify(VerifyArgs),
    Fork(Box<ForkArgs>),
    Doctor(DoctorArgs),
    Demo(DemoArgs),
    Config(ConfigArgs),
    Login(Box<LoginArgs>),
    Logout(Box<LogoutArgs>),
    Explain(ExplainArgs),
    Completions(CompletionsArgs),
}

/// Run an agent until its goal is reached or a limit ends it
///
/// The answer goes to stdout, everything else to stderr. Every step is durable before the next begins;
/// after a crash, `bonded resume RUN` goes on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded run --model openrouter/qwen/qwen3-coder \"make the tests pass\"
  echo \"summarise README.md\" | bonded run --model ollama/llama3.1 -
  bonded run --model script:replies.jsonl --json \"try it without a model\"
  bonded run --id nightly-2026-11-15 --max-cost 0.50 --price 0.25,2 @goal.txt
  bonded run --agent reviewer.ai \"review the last commit\"
  bonded run --each goals.jsonl --jobs 16 > results.jsonl

A goal file for --each has one goal a line: a JSON string, or {\"goal\": \"...\", \"id\": \"...\"}.
Given again, it continues what had not ended and repeats nothing.")]
pub(crate) struct RunArgs {
    /// What is to be done; `-` reads it from stdin, `@FILE` from a file
    #[arg(value_name = "GOAL", required_unless_present = "each")]
    pub(crate) goal: Option<String>,

    /// Run the goals of a JSON Lines file, one result a line on stdout
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["goal", "id", "stream_json"])]
    pub(crate) each: Option<PathBuf>,

    /// How many runs at a time with --each
    #[arg(long, value_name = "N", default_value_t = 8, requires = "each")]
    pub(crate) jobs: usize,

    /// The run's id; an id that exists returns or resumes that run
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// The directory that the agent works in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// The agent to run: an agent file
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai", conflicts_with_all = ["system", "base_url", "price", "key_env"])]
    pub(crate) agent_file: Option<PathBuf>,

    /// The agent's system text, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Print one result object instead of the answer
    #[arg(long, conflicts_with = "stream_json")]
    pub(crate) json: bool,

    /// Print each entry of the log as a line of JSON, as it is made
    #[arg(long)]
    pub(crate) stream_json: bool,

    /// With --stream-json: print also what models are saying, while they say it; implies --stream
    ///
    /// The lines are {"live": {"run", "turn", "attempt", "text"}}. They are advisory: nothing of them is kept, a
    /// reply may still be rejected, and another attempt says it again.
    #[arg(long, requires = "stream_json", conflicts_with_all = ["json", "no-stream"])]
    pub(crate) live: bool,
}

/// Work a plan off: each item happens whole, tested and with a receipt, or not at all
///
/// Each item works in a copy of the tree. Only what was admitted and passed its tests is published, and the tree is
/// never between two states. Results go to stdout, everything else to stderr.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded work plan.yaml --model openai/gpt-5-mini
  bonded work plan.json --repo ../site --agent coder.ai --jobs 8 --commit
  bonded work plan.json --dry-run                    levels and limits; nothing runs
  bonded work --resume                               go on after a crash, repeating nothing
  bonded verify RECEIPT.json                         check a receipt; needs neither store nor network

A plan is one work item, or an array of them, as JSON or YAML:
  {\"id\": \"docs\", \"agent_id\": \"agent-1\", \"description\": \"...\", \"dependencies\": [],
   \"constraints\": {\"max_files\": 3}, \"output_files\": [\"docs/\"], \"test_command\": \"make check\"}
`docs/work.md` describes every field.")]
pub(crate) struct WorkArgs {
    /// The plan's file; `-` reads it from stdin
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub(crate) plan: Option<PathBuf>,

    /// The tree to work on [default: the current directory]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,

    /// How many items of a level at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: u16,

    /// Who works: an agent file for all items, or ID=FILE.ai for those of one agent_id; several may be given
    #[arg(long = "agent", short = 'a', value_name = "[ID=]FILE.ai", conflicts_with_all = ["base_url", "price", "key_env"])]
    pub(crate) agent_files: Vec<String>,

    /// Check the plan and print its levels and limits; nothing runs
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,

    /// Go on with a plan that was interrupted: its id, or nothing for the last one of this tree
    #[arg(long, value_name = "PLAN_ID", num_args = 0..=1, default_missing_value = "", conflicts_with = "plan")]
    pub(crate) resume: Option<String>,

    /// Make one git commit for each item that succeeds
    #[arg(long)]
    pub(crate) commit: bool,

    /// Admit also what was admitted before, on the same state of the tree
    #[arg(long)]
    pub(crate) again: bool,

    /// The limits of items that do not say their own
    #[arg(long, value_name = "NAME", value_parser = ["default", "production", "strict"], default_value = "default")]
    pub(crate) limits_of: String,

    /// Wait so long for dependencies that other plans on this tree have yet to do, and for the tree while one works on it
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) wait_ms: u64,

    /// The agents' system text, instead of the built-in one
    #[arg(long, value_name = "FILE", conflicts_with = "agent_files")]
    pub(crate) system: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Print the results as JSON: one object for one item, else an array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The base URL of an OpenAI-compatible server
    #[arg(long, env = "BONDED_BASE_URL", value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// The variable that holds the key
    #[arg(long, env = "BONDED_KEY_ENV", value_name = "NAME")]
    pub(crate) key_env: Option<String>,

    /// Dollars a million tokens: INPUT,OUTPUT[,CACHED]
    #[arg(long, value_name = "IN,OUT[,CACHED]")]
    pub(crate) price: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// The most seconds that the run is driven; 0 = no limit
    #[arg(long, value_name = "S", default_value_t = 3600)]
    pub(crate) max_time: u64,

    /// The most tokens, input and output together
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,

    /// The most dollars; needs --price
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<String>,

    /// End the run when the same thing happens this often in a row; 0 = never [default: 3, agents: 0]
    #[arg(long, value_name = "N")]
    pub(crate) no_progress: Option<u32>,
}

/// What agents, and runs without one, have in common.
#[derive(Debug, Default, Args)]
pub(crate) struct AgentArgs {
    /// A configuration file that comes before all others
    #[arg(long, value_name = "FILE.json")]
    pub(crate) config: Option<PathBuf>,

    /// Set an option for all agents of the run, whatever their files say
    #[arg(long = "override", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// Let agent files include what lies outside their own directory
    #[arg(long)]
    pub(crate) includes_anywhere: bool,

    #[command(flatten)]
    pub(crate) options: OptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowProgress {
    /// Show no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Serve agents as models of an OpenAI-compatible server
///
/// Any OpenAI client can ask an agent as if it were a model: its name is the model's id. Every question is
/// a run like any other. Stops on Ctrl-C or SIGTERM, after the runs under way; a second one stops at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded serve --agent researcher.ai --agent writer.ai
  bonded serve --agent researcher.ai --listen 0.0.0.0:8130 --token-file tokens.txt
  curl http://127.0.0.1:8130/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{\"model\": \"researcher\", \"messages\": [{\"role\": \"user\", \"content\": \"why?\"}]}'")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,

    /// Offer the agents to MCP clients too, at /mcp
    ///
    /// Each agent is a tool, and every run of the store can be read as a resource.
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Where to listen; port 0 lets the system choose one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8130")]
    pub(crate) listen: String,

    /// A token that clients must send; several may be given. Others on this machine may see it here
    #[arg(
        long = "token",
        env = "BONDED_TOKENS",
        hide_env_values = true,
        value_name = "TOKEN",
        value_delimiter = ','
    )]
    pub(crate) tokens: Vec<String>,

    /// A file with one token a line
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// How many seconds runs may go on after a stop before they are cancelled
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub(crate) stop_after: u64,
}

/// Offer agents as tools to an MCP client, over stdin and stdout
///
/// The client starts this program and speaks the Model Context Protocol with it. Each agent is a tool, every
/// call is a run like any other, and every run of the store can be read as a resource. When the client closes
/// the stream, the runs under way are cancelled.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded mcp --agent researcher.ai --agent writer.ai

In a client's configuration:
  \"mcpServers\": { \"agents\": { \"command\": \"bonded\", \"args\": [\"mcp\", \"--agent\", \"/path/researcher.ai\"] } }")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,
}

/// What is served, by whatever protocol.
#[derive(Debug, Args)]
pub(crate) struct ServedArgs {
    /// An agent to serve: an agent file; several may be given
    #[arg(
        long = "agent",
        short = 'a',
        value_name = "FILE.ai",
        required = true,
        action = clap::ArgAction::Append
    )]
    pub(crate) agent_files: Vec<PathBuf>,

    /// How many runs at a time; ten times as many requests may wait
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: u32,

    /// The directory that the agents work in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// List runs, newest first
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Print one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a run did, step by step
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// Show one turn whole: arguments, outputs, texts
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u32>,

    /// Go on showing entries as they are made, until the run ends
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Print the entries as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Go on with a run that was interrupted
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run's id or a unique prefix of it
    #[arg(required_unless_present = "all")]
    pub(crate) run: Option<String>,

    /// Every run that was interrupted
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,

    /// The ledger to write the accounts to [default: the one that the run began with]
    #[arg(long, value_name = "FILE")]
    pub(crate) billing_file: Option<PathBuf>,

    /// The directory for a snapshot of the run [default: the one that the run began with]
    #[arg(long, value_name = "DIR")]
    pub(crate) sessions_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) show: ShowProgress,

    /// Print one result object instead of the answer
    #[arg(long)]
    pub(crate) json: bool,
}

/// Let a call be executed that waits for a person, and go on with its run
///
/// Shows the tool, its arguments and why a person is asked, records the approval, and drives the run on.
/// The approval holds for this one call.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
}

/// Refuse a call that waits for a person, and go on with its run
///
/// The model is told that the call was denied, and why; the run goes on.
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// What the model is told
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerdictArgs {
    /// The run's id or a unique prefix of it; that of the agent which called it will do too
    pub(crate) run: String,

    /// Only if this call waits, as `bonded show` numbers it
    #[arg(long, value_name = "N")]
    pub(crate) call: Option<u32>,

    /// Record it and drive nothing; `bonded resume RUN` goes on
    #[arg(long)]
    pub(crate) no_resume: bool,

    #[command(flatten)]
    pub(crate) show: ShowProgress,

    /// Print one result object instead of the answer
    #[arg(long, conflicts_with = "no_resume")]
    pub(crate) json: bool,
}

/// End a run, whichever process drives it
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// Kept in the log as the reason
    #[arg(long, default_value = "cancelled by the user")]
    pub(crate) reason: String,
}

/// Replay a run offline: every step is computed again and compared
///
/// With --receipt, a work item is worked off again in a scratch directory: the state that it began with is restored,
/// the model's recorded replies are given to the real tools, and the state that comes of it is compared.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The run's id or a unique prefix of it
    #[arg(required_unless_present = "receipt", conflicts_with = "receipt")]
    pub(crate) run: Option<String>,

    /// The receipt of a work item
    #[arg(long, value_name = "RECEIPT.json")]
    pub(crate) receipt: Option<PathBuf>,

    /// With --receipt: ask the model anew instead of using its recorded replies
    #[arg(long, requires = "receipt")]
    pub(crate) live: bool,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verify that a run's log, or receipts of work items, are whole and unchanged
///
/// Receipts need neither the store nor the network. Several are checked as a chain, in the order in which they are
/// given; the receipt of a level goes with those of its items.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded verify 3f2a                                 a run, by a prefix of its id
  bonded verify RECEIPT.json --key signer.pem        a receipt, and that this key signed it
  bonded verify RECEIPT.json --tree .                and that the files are still what it says
  bonded verify LEVEL-0.RECEIPT.json items/*/RECEIPT.json")]
pub(crate) struct VerifyArgs {
    /// The run's id or a unique prefix of it; or files of receipts
    #[arg(required_unless_present = "all", value_name = "RUN|RECEIPT.json")]
    pub(crate) named: Vec<String>,

    /// The public key that must have signed the receipts, in PEM form
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    pub(crate) key: Option<PathBuf>,

    /// Check that the files of this tree are what the receipts say that they became
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub(crate) tree: Option<PathBuf>,

    /// Every run of the store
    #[arg(long, conflicts_with = "named")]
    pub(crate) all: bool,

    /// Print one object a run or receipt
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a new run that stands where a turn of another one began
///
/// The new run's id is printed; `bonded resume ID` drives it. Files are not set back: the tools find the
/// directory as it is.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// The turn to begin again
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turn: u32,

    /// The new run's id
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Another model from there on: PROVIDER/MODEL, `script:FILE`, or with --base-url the model alone
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The base URL of an OpenAI-compatible server
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// Another limit of turns from there on
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
}

/// Check what is here: store, models, sandbox, git
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

/// Watch an agent fix a bug, die in the middle and go on; needs no key and no network
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the scratch directory
    #[arg(long)]
    pub(crate) keep: bool,

    /// Make no pauses for the reader
    #[arg(long)]
    pub(crate) fast: bool,
}

/// Show or check the configuration
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the resolved values, each with the file that it came from; secrets are masked
    Show(ConfigPlaceArgs),
    /// Find everything that is wrong with the configuration and an agent, without running it
    Check(ConfigPlaceArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigPlaceArgs {
    /// The agent whose directory, options and tools count too
    #[arg(long = "agent", short = 'a', value_name = "FILE.ai")]
    pub(crate) agent_file: Option<PathBuf>,

    /// The directory that the agent works in [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Log in to an MCP server that demands it
///
/// Prints the address of a page on stdout and waits until somebody has logged in there, for ten minutes at most. The
/// token is kept in the data directory, for its owner alone; runs use and renew it. The browser must be on this
/// machine, or reach its port: `"redirectPort"` in the server's `oauth` fixes it, so that `ssh -L` can forward it.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server's name in the configuration
    pub(crate) server: String,

    /// What to ask for, instead of what the configuration or the server says
    #[arg(long, value_name = "SCOPES", value_delimiter = ' ')]
    pub(crate) scope: Vec<String>,

    #[command(flatten)]
    pub(crate) place: ConfigPlaceArgs,
}

/// Forget the login to an MCP server
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// The server's name in the configuration
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) place: ConfigPlaceArgs,
}

/// Explain an error code
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The code, as in error[CODE]; without one, all are listed
    pub(crate) code: Option<String>,
}

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}
