//! What may be started, reached, written and spent, as a type with an order.
//!
//! It answers one question: whether one setting allows no more than another. It exists to hold the
//! merging of layers to its promise, that a file which is only found never widens what the person's own
//! files allow. It is a partial order: of two settings each may allow something that the other does
//! not.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::{Policy, SandboxConfig, SandboxLevel};
use bonded_tools::rest::Reach;

use super::options::Options;
use super::policy::policy;
use super::{Config, McpServer, Problems};

/// What the options and the configuration allow together.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    sandbox: SandboxConfig,
    /// The limits, by name.
    limits: BTreeMap<&'static str, u64>,
    policy: Policy,
    /// The servers that may be used, by name.
    servers: BTreeMap<String, ServerCapabilities>,
    /// Where providers and requests are.
    addresses: BTreeSet<String>,
    /// Where something is kept outside the store.
    paths: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct ServerCapabilities {
    /// What is started or asked.
    how: String,
    level: SandboxLevel,
    network: bool,
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl Capabilities {
    /// Reads every entry, so that it fails where one cannot be read. Servers that are switched off
    /// count for nothing.
    pub fn of(config: &Config, options: &Options) -> Result<Self, Problems> {
        let mut servers = BTreeMap::new();
        for name in config.mcp_server_names() {
            let server = config.mcp_server(name)?.filter(|server| server.enabled);
            servers.extend(server.map(|it| {
                (
                    name.to_owned(),
                    ServerCapabilities::of(it, &options.sandbox),
                )
            }));
        }
        let mut addresses = BTreeSet::new();
        for name in config.names("providers") {
            let provider = config.provider(name)?;
            addresses.extend(provider.map(|it| format!("{name} {:?} {:?}", it.kind, it.base_url)));
        }
        for name in config.rest_tool_names() {
            let tool = config.rest_tool(name)?;
            // Who may reach private addresses may reach the others too.
            addresses.extend(tool.into_iter().flat_map(|it| {
                [Reach::Public, it.reach].map(|reach| format!("{name} {} {reach:?}", it.url))
            }));
        }
        let paths = [&options.sessions_dir, &options.billing_file];
        Ok(Self {
            sandbox: options.sandbox.clone(),
            limits: limits(options),
            policy: policy(options, &[], &[], "")
                .map(|it| *it)
                .unwrap_or_default(),
            servers,
            addresses,
            paths: paths.into_iter().flatten().cloned().collect(),
        })
    }

    /// Whether this allows no more than another.
    pub fn is_within(&self, bound: &Self) -> bool {
        let servers = self.servers.iter().all(|(name, server)| {
            let other = bound.servers.get(name);
            other.is_some_and(|other| server.is_within(other))
        });
        let limits = self.limits.iter().all(|(name, limit)| {
            let other = bound.limits.get(name);
            other.is_some_and(|other| limit <= other)
        });
        sandbox_is_within(&self.sandbox, &bound.sandbox)
            && limits
            && servers
            && self.policy_is_within(bound)
            && self.addresses.is_subset(&bound.addresses)
            && self.paths.is_subset(&bound.paths)
    }

    /// Compared on the names that either speaks of, and on one that none does.
    ///
    /// Patterns are compared on names that they match, which is exact for the names that matter and
    /// needs no theory of patterns.
    fn policy_is_within(&self, bound: &Self) -> bool {
        let mut names: BTreeSet<String> = ["read", "write", "run", "s__tool"]
            .map(str::to_owned)
            .into();
        for policy in [&self.policy, &bound.policy] {
            let mut next = Some(policy);
            while let Some(policy) = next {
                let rules = policy.rules.iter().map(|rule| &rule.tools);
                let patterns = rules.chain(&policy.untrusted);
                names.extend(patterns.map(|it| it.as_str().replace('*', "x")));
                next = policy.above.as_deref();
            }
        }
        let all = |name: &String| {
            self.policy.permission(name).0 >= bound.policy.permission(name).0
                && self.policy.is_untrusted(name) >= bound.policy.is_untrusted(name)
        };
        names.iter().all(all)
            && self.policy.after_untrusted() >= bound.policy.after_untrusted()
            && self.policy.reads_only() >= bound.policy.reads_only()
    }
}

impl PartialOrd for Capabilities {
    /// Less is what allows less.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.is_within(other), other.is_within(self)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

impl ServerCapabilities {
    fn of(server: McpServer, run: &SandboxConfig) -> Self {
        Self {
            how: format!("{:?}", server.transport),
            level: server.sandbox.unwrap_or(run.level).min(run.level),
            network: server.sandbox_network.unwrap_or(run.network),
            allowed: server.tools_allowed,
            denied: server.tools_denied,
        }
    }

    fn is_within(&self, bound: &Self) -> bool {
        let both = [self, bound];
        let names = both
            .iter()
            .flat_map(|it| it.allowed.iter().chain(&it.denied));
        let mut names = names.map(String::as_str).chain(["another"]);
        self.how == bound.how
            && self.level <= bound.level
            && self.network <= bound.network
            && names.all(|name| self.offers(name) <= bound.offers(name))
    }

    /// As the client of the server reads the two lists: denied counts more, and an empty list allows
    /// all.
    fn offers(&self, name: &str) -> bool {
        let is = |it: &String| it == "*" || it == "any" || it.eq_ignore_ascii_case(name);
        let allowed = self.allowed.is_empty() || self.allowed.iter().any(is);
        allowed && !self.denied.iter().any(is)
    }
}

/// What protects must not become less, and what frees must not become more.
fn sandbox_is_within(own: &SandboxConfig, bound: &SandboxConfig) -> bool {
    let (limits, most) = (&own.limits, &bound.limits);
    own.level <= bound.level
        && own.required >= bound.required
        && own.best_effort <= bound.best_effort
        && own.network <= bound.network
        && own.show.iter().all(|place| bound.show.contains(place))
        && own.env.iter().all(|name| bound.env.contains(name))
        && limits.cpu_s <= most.cpu_s
        && limits.memory_bytes <= most.memory_bytes
        && limits.processes <= most.processes
        && limits.file_bytes <= most.file_bytes
}

fn limits(options: &Options) -> BTreeMap<&'static str, u64> {
    [
        ("turns", options.turns_max.into()),
        ("calls", options.calls_per_turn_max.into()),
        ("attempts", options.attempts_per_turn_max.into()),
        ("output tokens", options.output_tokens_max.into()),
        ("model", options.llm_timeout_ms),
        ("tool", options.tool_timeout_ms),
        ("response", options.tool_response_bytes_max),
    ]
    .into()
}
