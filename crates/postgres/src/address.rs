//! Where the server is: an address, with the few settings of ours that ride in it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::pooling::Pooling;
use crate::run_layout::RUNS;
use bonded_state::database::SchemaLayout;
use bonded_state::{ServerProblem, StoreError};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// How long a process that died keeps its runs from others, unless the address says otherwise.
const LEASE_DEFAULT: Duration = Duration::from_secs(10);
const LEASE_MIN: Duration = Duration::from_secs(1);
const LEASE_MAX: Duration = Duration::from_secs(600);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

const KEEPALIVE: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// The role that every connection of the store acts as, whoever logs in.
pub(crate) const ROLE: &str = "bonded_app";

/// A setting that only a connection of our own has. Who puts a pooler between loses it.
pub(crate) const MARK: &str = "bonded.session";

/// Whether a text is meant as the address of a server, and not as the path of a file.
pub fn is_address(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// Who connects, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acting {
    /// The program, which may append and nothing else.
    Application,
    /// The person who makes the store, with all the rights that they have.
    Owner,
}

/// The address of a store on a server.
#[derive(Clone)]
pub struct Address {
    config: Config,
    label: String,
    pub(crate) lease: Duration,
    pub(crate) allows_unsynced: bool,
    /// Whether appends of several runs share a statement. Where the tables are distributed by run they cannot.
    pub(crate) groups_appends: bool,
    /// What lies there.
    pub(crate) layout: SchemaLayout,
    /// What was found on the way there.
    pub(crate) pooling: Arc<Pooling>,
}

impl std::fmt::Debug for Address {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.label)
    }
}

impl Address {
    /// Reads an address. The password is that of the address, else the one that is given beside it.
    pub fn read(text: &str, password: Option<&str>) -> Result<Self, StoreError> {
        let label = label(text);
        let bad = |why: String| StoreError::Server {
            at: label.clone(),
            problem: ServerProblem::BadAddress { why },
        };
        let (plain, ours) = split(text);
        let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            bad(source.unwrap_or_else(|| error.to_string()))
        })?;
        let mut lease = LEASE_DEFAULT;
        let (mut allows_unsynced, mut groups_appends) = (false, true);
        for (name, value) in ours {
            match (name, value) {
                ("bonded_lease_ms", value) => lease = read_lease(value).map_err(bad)?,
                ("bonded_allow_unsynced", value) => {
                    allows_unsynced = read_switch(name, value).map_err(bad)?;
                }
                ("bonded_group_appends", value) => {
                    groups_appends = read_switch(name, value).map_err(bad)?;
                }
                (other, _) => return Err(bad(format!("there is no setting {other}"))),
            }
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        complete(&mut config, lease);
        Ok(Self {
            label: label_of(&config),
            config,
            lease,
            allows_unsynced,
            groups_appends,
            layout: RUNS,
            pooling: Arc::default(),
        })
    }

    /// The same server and database, for tables of another schema.
    pub(crate) fn with_layout(mut self, layout: SchemaLayout) -> Self {
        self.layout = layout;
        self
    }

    /// The address without what is secret: for messages, and to tell one store from another.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The password, so that it can be kept out of logs and outputs.
    pub fn password(&self) -> Option<&str> {
        let password = self.config.get_password()?;
        std::str::from_utf8(password).ok()
    }

    pub(crate) fn problem(&self, problem: ServerProblem) -> StoreError {
        StoreError::Server {
            at: self.label.clone(),
            problem,
        }
    }

    /// What a connection begins with. A pooler takes none of it.
    pub(crate) fn config(&self, acting: Acting, more: &str) -> Config {
        let mut config = self.config.clone();
        let own = config.get_options().unwrap_or_default();
        let role = match acting {
            Acting::Application => format!(" -c role={ROLE}"),
            Acting::Owner => String::new(),
        };
        let schema = self.layout.schema;
        // A warning is all that tells of a commit that did not wait for the standby.
        let options = format!(
            "{own} -c {MARK}=1{role} -c search_path={schema} -c client_min_messages=warning{more}"
        );
        config.options(options.trim_start());
        config
    }

    /// The same for a connection that a pooler gives.
    pub(crate) fn pooled_config(&self) -> Config {
        self.config.clone()
    }
}

/// What the address leaves open.
fn complete(config: &mut Config, lease: Duration) {
    if config.get_application_name().is_none() {
        config.application_name("bonded");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    // A connection that leads nowhere is noticed: also one on which an answer is waited for.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(lease / 2);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_idle(KEEPALIVE);
        config.keepalives_interval(KEEPALIVE);
        config.keepalives_retries(KEEPALIVE_RETRIES);
    }
    // Of several servers one is the primary.
    if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any
    {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    // The certificate of a server on this machine is one that nobody has signed.
    if config.get_ssl_mode() == SslMode::Prefer && config.get_hosts().iter().all(is_here) {
        config.ssl_mode(SslMode::Disable);
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

/// Our settings, and the address without them.
fn split(text: &str) -> (String, Vec<(&str, &str)>) {
    let Some((before, query)) = text.split_once('?') else {
        return (text.to_owned(), vec![]);
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let (ours, others): (Vec<&str>, Vec<&str>) =
        pairs.partition(|pair| pair.starts_with("bonded_"));
    let plain = match others.is_empty() {
        true => before.to_owned(),
        false => format!("{before}?{}", others.join("&")),
    };
    let ours = ours.into_iter();
    let ours = ours.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    (plain, ours.collect())
}

fn read_switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("{name} is yes or no")),
    }
}

fn read_lease(value: &str) -> Result<Duration, String> {
    let lease = value.parse().map(Duration::from_millis).ok();
    let lease = lease.filter(|lease| (LEASE_MIN..=LEASE_MAX).contains(lease));
    lease.ok_or_else(|| {
        let (least, most) = (LEASE_MIN.as_millis(), LEASE_MAX.as_millis());
        format!("bonded_lease_ms is a number from {least} to {most}")
    })
}

/// Who, where and which database, as the address means it.
fn label_of(config: &Config) -> String {
    let ports = config.get_ports();
    let host = |(host, place): (&Host, usize)| {
        let port = ports.get(place).or(ports.first()).unwrap_or(&5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(dir) => {
                format!("{}:{port}", dir.to_string_lossy().replace('/', "%2F"))
            }
        }
    };
    let hosts: Vec<String> = config.get_hosts().iter().zip(0..).map(host).collect();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    format!("postgres://{user}@{}/{database}", hosts.join(","))
}

/// An address that cannot be read, without its password and its settings, which may hold one too.
fn label(text: &str) -> String {
    let plain = text.split('?').next().unwrap_or_default();
    let Some((scheme, rest)) = plain.split_once("://") else {
        return "postgres://".into();
    };
    let rest = match rest.rsplit_once('@') {
        Some((user, place)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{user}@{place}")
        }
        None => rest.to_owned(),
    };
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_password_is_in_the_label() {
        for (text, expected) in [
            ("postgres://u:p@h/d", "postgres://u@h/d"),
            (
                "postgres://u:p@s:x@h:5433/d?sslmode=require",
                "postgres://u@h:5433/d",
            ),
            ("postgresql://h/d?password=p", "postgresql://h/d"),
            ("postgres:///d?host=/tmp", "postgres:///d"),
        ] {
            assert_eq!(label(text), expected);
        }
    }

    #[test]
    fn settings_of_ours_ride_in_the_address() {
        let read = |text: &str| Address::read(text, None);
        let address = read("postgres://u@h/d?bonded_lease_ms=2000&sslmode=disable");
        let address = address.expect("it is an address");
        assert_eq!(address.lease, Duration::from_secs(2));
        assert_eq!(address.config.get_ssl_mode(), SslMode::Disable);
        assert!(!address.allows_unsynced);
        let address = read("postgres://u@h/d?bonded_allow_unsynced=yes").expect("it is an address");
        assert!(address.allows_unsynced);
        for wrong in [
            "postgres://u@h/d?bonded_lease_ms=5",
            "postgres://u@h/d?bonded_lease_ms=soon",
            "postgres://u@h/d?bonded_allow_unsynced=perhaps",
            "postgres://u@h/d?bonded_group_appends=",
            "postgres://u@h/d?bonded_tea=1",
            "postgres://u@h/d?nonsense=1",
            "postgres://u@h:port/d",
        ] {
            let refused = read(wrong).expect_err(wrong).to_string();
            assert!(refused.contains("this is not the address"), "{refused}");
        }
    }

    #[test]
    fn the_password_of_the_address_counts_before_the_one_beside_it() {
        for (text, expected) in [
            ("postgres://u:own@h/d", "own"),
            ("postgres://u@h/d", "beside"),
        ] {
            let address = Address::read(text, Some("beside")).expect("it is an address");
            assert_eq!(address.password(), Some(expected));
            assert!(!format!("{address:?}").contains(expected));
        }
    }
}
