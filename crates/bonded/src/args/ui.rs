//! `bonded ui`.

use clap::Args;

/// Open the pages of your runs in a browser
///
/// See what agents did, do and wait for; approve, deny, cancel, resume and fork. The pages are served on this machine
/// only. The link works once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded ui
  bonded ui --listen 127.0.0.1:8130 --no-open        print the link only")]
pub(crate) struct UiArgs {
    /// Loopback address to listen on [default: a free port]
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:0",
        hide_default_value = true
    )]
    pub(crate) listen: std::net::SocketAddr,

    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
}
