//! How servers and workers write their log.

use clap::{Args, ValueEnum};

/// What a server or a worker writes to stderr.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// Form of the log on stderr [default: as configured, else text]
    #[arg(long, value_name = "FORMAT", env = "BONDED_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// Least important messages to write [default: as configured, else info]
    #[arg(long, value_name = "LEVEL", env = "BONDED_LOG_LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
}

/// The form of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A message a line
    Text,
    /// An object a line, with time and level
    Json,
}

/// How important a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}
