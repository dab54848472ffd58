//! How servers and workers write their log.

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;

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

impl LogArgs {
    /// How important a message must be, and whether lines are objects, as far as either was said.
    pub(crate) fn demanded(&self) -> (Option<LevelFilter>, Option<bool>) {
        let most = self.log_level.map(|level| match level {
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
        });
        let json = self.log_format.map(|format| format == LogFormat::Json);
        (most, json)
    }
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
