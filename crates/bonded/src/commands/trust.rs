//! `bonded trust`: what a person trusts.
//!
//! Trust is given for what a file holds, and not for its name: when it changes, or a file that it pulls in does, it
//! is asked about again. So everything is shown that it would start, send or loosen, before a person agrees. What
//! only tightens needs no trust and is not recorded.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::agent::Agent;
use bonded_host::config::Config;
use bonded_host::instructions::{self, INSTRUCTIONS_FILE};
use bonded_host::letters::written_out;
use bonded_host::skills::{self, SKILL_FILE};
use bonded_host::trust::{Contents, Question, TrustError, TrustRecord, Wants};
use serde::Serialize;

use crate::args::{AgentArgs, TrustArgs};
use crate::error::{CliError, Code};
use crate::trust::{line, question_lines, somebody_is_here};
use crate::{agents, output};
use bonded_host::shapes::text::counted;

pub(crate) fn trust(args: &TrustArgs) -> Result<ExitCode, CliError> {
    let record = agents::trust_record().ok_or(TrustError::NoHome)?;
    if args.list {
        return list(&record, args.json);
    }
    let places = match args.places.as_slice() {
        [] => vec![PathBuf::from(".")],
        places => places.to_vec(),
    };
    match args.revoke {
        true => revoke(&record, &places, args.json),
        false => add(&record, &places, args),
    }
}

/// What is trusted, for programs.
#[derive(Serialize)]
struct ListAnswer<'a, T> {
    record: &'a Path,
    trusted: T,
}

/// What is trusted from now on.
#[derive(Serialize)]
struct TrustedAnswer {
    trusted: Vec<String>,
}

/// What is trusted no more.
#[derive(Serialize)]
struct RevokedAnswer {
    revoked: Vec<String>,
}

/// Names of files are anybody's, and are written out.
fn list(record: &TrustRecord, as_json: bool) -> Result<ExitCode, CliError> {
    let trusted = record.list()?;
    if as_json {
        let record = record.file();
        output::object(&ListAnswer { record, trusted });
        return Ok(ExitCode::SUCCESS);
    }
    if trusted.is_empty() {
        output::stderr("nothing is trusted");
    }
    for (file, trusted) in trusted {
        let pulled = match trusted.files.len() {
            0 | 1 => String::new(),
            more => format!(" and {} that it pulls in", counted(more - 1, "file")),
        };
        let at = written_out(&trusted.at);
        output::stdout(&format!("{}{pulled}, since {at}", written_out(&file)));
    }
    Ok(ExitCode::SUCCESS)
}

/// By place: everything that is recorded at or below it. A place that is gone is named as it was.
fn revoke(record: &TrustRecord, places: &[PathBuf], as_json: bool) -> Result<ExitCode, CliError> {
    let mut revoked = vec![];
    for place in places {
        // A directory that is gone can be named too.
        let absolute = std::path::absolute(place).unwrap_or_else(|_| place.clone());
        let real = place.canonicalize().unwrap_or(absolute);
        revoked.extend(record.revoke(&real)?);
    }
    if as_json {
        output::object(&RevokedAnswer { revoked });
        return Ok(ExitCode::SUCCESS);
    }
    if revoked.is_empty() {
        output::stderr("nothing was trusted there");
    }
    for file in &revoked {
        output::stdout(&format!("{} is no longer trusted", written_out(file)));
    }
    Ok(ExitCode::SUCCESS)
}

/// What was looked at is what is recorded, by its hash: a file that changes while the person reads is not trusted.
fn add(record: &TrustRecord, places: &[PathBuf], args: &TrustArgs) -> Result<ExitCode, CliError> {
    let mut all = vec![];
    for place in places {
        all.extend(examined(place)?);
    }
    let wanting: Vec<(Contents, Wants)> = all
        .into_iter()
        .filter(|(_, wants)| !wants.is_empty())
        .collect();
    for (contents, wants) in &wanting {
        let question = Question {
            file: contents.main().to_owned(),
            wants: wants.clone(),
            changed: record.changed(contents)?,
            since_start: false,
        };
        question_lines(&question)
            .iter()
            .for_each(|line| output::stderr(line));
    }
    if wanting.is_empty() {
        output::stderr("there is nothing that needs to be trusted");
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes {
        agree()?;
    }
    let contents: Vec<Contents> = wanting.into_iter().map(|(contents, _)| contents).collect();
    record.add(&contents)?;
    let files: Vec<String> = contents
        .iter()
        .map(|it| it.main().to_string_lossy().into_owned())
        .collect();
    if args.json {
        output::object(&TrustedAnswer { trusted: files });
        return Ok(ExitCode::SUCCESS);
    }
    for file in &files {
        output::stdout(&format!("{} is trusted", written_out(file)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks; where nobody can answer, nothing is trusted.
/// Whatever is not a clear yes is a no.
fn agree() -> Result<(), CliError> {
    let refused = |message: &str| Err(CliError::new(Code::Untrusted, message));
    if !somebody_is_here() {
        return refused("nothing was trusted: there is no terminal to ask at")
            .map_err(|error| error.hint("look at what it would do, then use --yes"));
    }
    output::stderr("trust this? [y/N]");
    match line().as_deref().map(str::trim) {
        Some("y" | "Y" | "yes") => Ok(()),
        _ => refused("nothing was trusted"),
    }
}

/// What there is to trust at a place: the configuration, agent files and skills of a directory, or a single file.
/// A file is examined with its directory around it, because what it pulls in is found from there.
fn examined(place: &Path) -> Result<Vec<(Contents, Wants)>, CliError> {
    let bad = |why: String| {
        let message = format!(
            "{} cannot be read: {why}",
            written_out(&place.to_string_lossy())
        );
        CliError::new(Code::Workdir, message)
    };
    let real = place
        .canonicalize()
        .map_err(|error| bad(error.to_string()))?;
    if real.is_dir() {
        return examined_dir(&real, None, &bad);
    }
    let dir = real.parent().unwrap_or(Path::new("/"));
    let only = real.file_name().map(Path::new);
    let all = examined_dir(dir, only, &bad)?;
    Ok(all
        .into_iter()
        .filter(|(it, _)| it.main() == real)
        .collect())
}

/// Only what lies in the directory itself; layers from elsewhere are not this place's to trust.
fn examined_dir(
    dir: &Path,
    only: Option<&Path>,
    bad: &dyn Fn(String) -> CliError,
) -> Result<Vec<(Contents, Wants)>, CliError> {
    let mut workplace = agents::looking(&AgentArgs::default(), dir)?;
    let is_json = |name: &Path| name.extension().is_some_and(|it| it == "json");
    // A configuration of another name is looked at as if it were the one that is found.
    if let Some(name) = only.filter(|name| is_json(name) && *name != Path::new(".ai-agent.json")) {
        let file = dir.join(name);
        let all = Config::examine_file(&file, &workplace.places(None), &workplace.environment)?;
        return Ok(vec![all]);
    }
    let mut all = Config::examine(&workplace.places(None), &workplace.environment)?;
    all.retain(|(contents, _)| contents.main().parent() == Some(dir));
    if only.is_none_or(|name| name == Path::new(INSTRUCTIONS_FILE)) {
        all.extend(instructions::examine(dir));
    }
    if only.is_none_or(|name| name == Path::new(SKILL_FILE)) {
        let (found, warnings) = skills::examine(dir);
        all.extend(found);
        for warning in warnings {
            output::stderr(&format!("warning: {warning}"));
        }
    }
    let names = match only {
        Some(name) => vec![dir.join(name)],
        None => agent_files(dir).map_err(|error| bad(error.to_string()))?,
    };
    workplace.dir = dir.to_owned();
    let is_no_agent = |name: &Path| {
        is_json(name) || name.ends_with(INSTRUCTIONS_FILE) || name.ends_with(SKILL_FILE)
    };
    for file in names.into_iter().filter(|name| !is_no_agent(name)) {
        match Agent::examine(&file, &workplace) {
            Ok(examined) => all.push(examined),
            Err(error) if only.is_some() => return Err(error.into()),
            // A file that is no agent asks for nothing.
            Err(_) => {}
        }
    }
    Ok(all)
}

/// The agent files that lie in a directory, not below it.
/// Links are left out: what they lead to lies somewhere else. The order is that of names, so that it is always the
/// same.
fn agent_files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_some_and(|it| it == "ai") && entry.file_type()?.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
