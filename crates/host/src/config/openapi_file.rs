//! Reading the file of an OpenAPI document: bounded, local, JSON or YAML.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bonded_tools::rest::RestError;
use serde_json::Value;

use super::entry::Entry;
use crate::agent_file::yaml;

const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// What the values of a document may cost together in memory, with the copies that YAML's aliases make.
const COST_MAX: usize = 256 * 1024 * 1024;

/// The document that an entry names. A path is relative to the file that holds the entry.
pub(super) fn read(entry: &Entry<'_>) -> Result<Value, RestError> {
    let wrong = |why: String| RestError::Setting {
        key: "spec".into(),
        why,
    };
    let written = entry.text("spec").unwrap_or_default();
    if written.is_empty() {
        return Err(wrong("it must name the file of an OpenAPI document".into()));
    }
    if written.contains("://") {
        let why = "it must name a local file; download the document and name that".into();
        return Err(wrong(why));
    }
    let path = beside(&entry.file("spec"), &written);
    let text = read_text(&path).map_err(|why| wrong(format!("{}: {why}", path.display())))?;
    parse(&text).map_err(|why| wrong(format!("{}: {why}", path.display())))
}

fn beside(config_file: &Path, written: &str) -> PathBuf {
    let dir = config_file.parent().unwrap_or(Path::new(""));
    dir.join(written)
}

fn read_text(path: &Path) -> Result<String, String> {
    // Asked before it is opened: to open a pipe would wait for its other end.
    let kind = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !kind.is_file() {
        return Err("it is no regular file".into());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!(
            "it is larger than {FILE_BYTES_MAX} bytes; keep only the paths that are needed"
        ));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}

/// JSON where it begins like JSON, else YAML.
fn parse(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"));
    }
    match yaml::parse_within(text, COST_MAX) {
        Ok(document) => Ok(document.to_json()),
        Err(error) => Err(format!("line {}: this is not YAML: {error}", error.line)),
    }
}
