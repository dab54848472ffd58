//! Who is let in: the tokens that were given, else one of this person's own.
//!
//! An agent works with the person's rights, so that a port without a token would give them to every user and every
//! program of the machine. Therefore there is always a token unless the person says otherwise, and where other
//! machines can reach the port there is no saying otherwise. With several tokens, each client has a directory of
//! its own unless they are to share one.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bonded_host::regular;

use crate::args::{ServeArgs, variable};
use crate::commands::ui::link;
use crate::error::{CliError, Code};
use crate::review::person;
use crate::{dirs, output};
use bonded_serve::agents::{Apart, TokenKeeper, Tokens, needs_tokens};
use bonded_serve::console::ConsoleDoor;

/// Far more than the 64 letters that are made here: a person may have put another token there.
const TOKEN_BYTES_MAX: u64 = 4096;
/// A file with the tokens of many clients.
const TOKENS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The tokens of a server that listens there. A server has one, unless the person says otherwise.
/// Tokens that were given count first; the person's own is made only where none was.
pub(super) fn tokens(
    args: &ServeArgs,
    listen: &str,
    addresses: &[SocketAddr],
) -> Result<Tokens, CliError> {
    let given = given(args, variable("BONDED_TOKENS").as_deref())?;
    if !given.is_empty() {
        return Ok(given);
    }
    if needs_tokens(addresses) {
        return Err(no_token(listen));
    }
    if args.no_token {
        let message = "warning: there is no token: every user of this machine can have the agents work as you";
        output::stderr(message);
        return Ok(Tokens::default());
    }
    let path = dirs::serve_token_file().ok_or_else(|| {
        let message = "there is no token, and no home to keep one in";
        CliError::new(Code::Usage, message)
            .hint("give one: --token-file FILE, BONDED_TOKENS or --token TOKEN")
    })?;
    let token = own_token(&path).map_err(|why| {
        let message = format!("the token of this server in {}: {why}", path.display());
        CliError::new(Code::Usage, message)
            .hint("remove the file and a new one is created; or give a token: --token-file FILE")
    })?;
    output::stderr(&format!(
        "clients send the token in {}: Authorization: Bearer TOKEN (--no-token serves all users of this machine)",
        path.display()
    ));
    Ok(Tokens::own(&token))
}

/// The door of the pages: the server's tokens, or where it has none a link that works once, which is told here.
pub(super) fn of_pages(keeper: TokenKeeper, address: SocketAddr) -> ConsoleDoor {
    if !keeper.is_empty() {
        return keeper.into_door();
    }
    let (door, secret) = ConsoleDoor::of_agents(person());
    let link = link(address, &secret);
    output::stderr(&format!(
        "open the pages with this link, which works once: {link}"
    ));
    door
}

/// The directories of clients that are kept apart, which the person is told of.
pub(super) fn directories(tokens: &Tokens, apart: &Apart) -> Result<Vec<PathBuf>, CliError> {
    let Some(dir) = apart.dir() else {
        return Ok(vec![]);
    };
    output::stderr(&format!(
        "each of the {} tokens has a directory of its own in {} (--shared-dir lets all work in that one)",
        tokens.count(),
        dir.display()
    ));
    apart.make_all(tokens).map_err(|error| {
        let message = format!(
            "cannot create a directory for each token in {}: {error}",
            dir.display()
        );
        CliError::new(Code::Workdir, message)
            .hint("choose another directory: -C DIR, or let all clients share it: --shared-dir")
    })
}

/// What the command line and a file say, else the variable: it is set once for everything, and so is the weakest.
/// An empty token is refused rather than passed over: it is most likely a variable that was not set.
fn given(args: &ServeArgs, variable: Option<&str>) -> Result<Tokens, CliError> {
    let lines = match &args.token_file {
        None => vec![],
        Some(path) => in_file(path)?,
    };
    let arguments = args.tokens.iter().map(|token| token.trim().to_owned());
    let mut tokens: Vec<String> = arguments.chain(lines).collect();
    if tokens.is_empty() && !args.no_token {
        let variable = variable.iter().flat_map(|list| list.split(','));
        tokens.extend(variable.map(|token| token.trim().to_owned()));
    }
    if tokens.iter().any(String::is_empty) {
        let message = "a token is empty; it would let every client in";
        return Err(CliError::new(Code::Usage, message));
    }
    Ok(Tokens::new(tokens.iter().map(String::as_str)))
}

/// The tokens of a file that holds at least one, a line each.
fn in_file(path: &Path) -> Result<Vec<String>, CliError> {
    let read = File::open(path).and_then(|file| regular::text_of(file, TOKENS_BYTES_MAX));
    let text = read.map_err(|error| {
        let message = format!("cannot read the tokens in {}: {error}", path.display());
        CliError::new(Code::Usage, message)
    })?;
    let lines = text.lines().map(str::trim);
    let tokens = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tokens: Vec<String> = tokens.map(str::to_owned).collect();
    if tokens.is_empty() {
        let message = format!("there is no token in {}", path.display());
        return Err(CliError::new(Code::Usage, message).hint("write one token per line"));
    }
    Ok(tokens)
}

/// The tokens that open the figures and nothing else.
pub(crate) fn metrics_tokens(file: Option<&Path>) -> Result<Tokens, CliError> {
    let tokens = match file {
        Some(path) => in_file(path)?,
        None => vec![],
    };
    Ok(Tokens::new(tokens.iter().map(String::as_str)))
}

/// Says both ways out: a token, or this machine only.
fn no_token(listen: &str) -> CliError {
    let message =
        format!("--listen {listen} lets other machines ask the agents, and there is no token");
    CliError::new(Code::Usage, message)
        .hint("give one: --token-file FILE, BONDED_TOKENS or --token TOKEN")
        .hint("or listen on this machine only: --listen 127.0.0.1:8130")
}

/// The person's own token, which is made where there is none.
fn own_token(path: &Path) -> Result<String, String> {
    match open(path) {
        Ok(file) => read(file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            make(path).map_err(|error| error.to_string())?;
            // Another server that starts just now may have been faster.
            open(path).map_err(|error| error.to_string()).and_then(read)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Follows no link and waits for no other end of a pipe, whatever somebody has put in its place.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// What others may read is no secret, and what others may write is theirs. It is the open file that is looked at,
/// so that nobody can put another one in its place between the look and the reading.
fn read(file: File) -> Result<String, String> {
    let about = file.metadata().map_err(|error| error.to_string())?;
    let own = rustix::process::geteuid().as_raw();
    if !about.is_file() || about.uid() != own || about.mode() & 0o077 != 0 {
        return Err("other users can read or write it".into());
    }
    let mut token = String::new();
    let mut limited = file.take(TOKEN_BYTES_MAX);
    limited
        .read_to_string(&mut token)
        .map_err(|error| error.to_string())?;
    match token.trim() {
        "" => Err("it is empty".into()),
        token => Ok(token.to_owned()),
    }
}

/// Writes a new token whole, or leaves the one of somebody faster.
/// 256 bits less the fixed ones of two version 4 ids. Written under another name and synced first, so that a crash
/// leaves no half token under the real one.
fn make(path: &Path) -> std::io::Result<()> {
    let dir: PathBuf = path.parent().unwrap_or(Path::new(".")).to_owned();
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&dir)?;
    let mut file = tempfile::NamedTempFile::new_in(&dir)?;
    let token = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|id| id.simple().to_string());
    writeln!(file, "{}", token.concat())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn tokens_of_the_variable_count_where_no_flag_speaks_of_tokens() {
        let tokens = |flags: &[&str], variable: Option<&str>| {
            let words = ["bonded", "serve", "--agent", "a.ai"].iter().chain(flags);
            let cli = Cli::read(words).expect("it is a command line");
            let Command::Serve(args) = cli.command else {
                panic!("it is not serve");
            };
            given(&args, variable).map(|tokens| tokens.count()).ok()
        };
        assert_eq!(tokens(&[], None), Some(0));
        assert_eq!(tokens(&[], Some("a, b")), Some(2));
        assert_eq!(tokens(&[], Some("a,,b")), None);
        assert_eq!(tokens(&["--token", "c"], Some("a,b")), Some(1));
        assert_eq!(tokens(&["--no-token"], Some("a,b")), Some(0));
    }
}
