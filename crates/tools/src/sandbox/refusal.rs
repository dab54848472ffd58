//! What programs say when the sandbox refuses them something, and the one setting that would allow it.
//!
//! A program in a sandbox fails with words about networks and file systems, and neither a model nor a person
//! can tell that from a real failure. The hint is a guess from the words and says what to set; it never changes
//! what a result is. Words are compared as they are written by common programs, because there is no better
//! sign: the same system call fails for other reasons too.

use bonded_kernel::SandboxLevel;

use super::Sandbox;

/// How programs say that they reached nobody.
const NO_NETWORK: [&str; 17] = [
    "EAI_AGAIN",
    "ENETUNREACH",
    "ENOTFOUND",
    "Could not connect to server",
    "Could not resolve host",
    "Failed to fetch",
    "Max retries exceeded",
    "Name or service not known",
    "Network is unreachable",
    "NewConnectionError",
    "Temporary failure in name resolution",
    "dns error",
    "error sending request",
    "failed to lookup address",
    "getaddrinfo",
    "network is unreachable",
    "nodename nor servname",
];

/// How programs say that a place takes no changes. What Landlock refuses reads as a lack of permission, which
/// has too many other causes to be taken for a sign.
const READ_ONLY: [&str; 3] = ["EROFS", "Read-only file system", "read-only file system"];

/// Programs that fetch what they start.
const FETCHING: [&str; 9] = [
    "bunx", "deno", "npm", "npx", "pipx", "pnpm", "uv", "uvx", "yarn",
];

/// The end of a sentence about a program.
const NETWORK: &str =
    "the sandbox gives it no network; `sandboxNetwork: true` (--sandbox-network) does";

impl Sandbox {
    /// What in the words of a program that failed is the sandbox's doing.
    pub fn refusal(&self, words: &str) -> Option<&'static str> {
        let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
        let not_written = match self.level() {
            SandboxLevel::Full => return None,
            SandboxLevel::ReadOnly => {
                "the sandbox lets it write only its own home and TMPDIR; `sandbox: workspace-write` \
                 (--sandbox workspace-write) adds the working directory"
            }
            SandboxLevel::WorkspaceWrite => {
                "the sandbox lets it write only the working directory, its own home and TMPDIR, and there nothing that \
                 configures later programs; `sandbox: full` (--sandbox full) lifts that"
            }
        };
        if !self.has_network() && says(&NO_NETWORK) {
            return Some(NETWORK);
        }
        says(&READ_ONLY).then_some(not_written)
    }

    /// The same for a server that did not come up. Where its words say nothing, what it most likely misses.
    pub(crate) fn refusal_of_server(&self, program: &str, words: &str) -> String {
        let name = program.rsplit('/').next().unwrap_or(program);
        let fetches = FETCHING.contains(&name) && !self.has_network();
        match self.refusal(words) {
            Some(refusal) => refusal.into(),
            None if self.level() == SandboxLevel::Full => {
                "run the command by hand to see what it needs, and whether it speaks MCP on stdio"
                    .into()
            }
            None if fetches => format!("{name} fetches what it starts, and {NETWORK}"),
            None => {
                let network = match self.has_network() {
                    true => "",
                    false => " and has no network (`sandboxNetwork: true` gives it one)",
                };
                format!(
                    "it runs in the sandbox ({}), sees of your home only what `sandboxShow` names{network}; \
                     see whether it needs more, and whether it speaks MCP on stdio",
                    self.level().as_str()
                )
            }
        }
    }
}
