//! Reading the file of an OpenAPI document: bounded, local, JSON or YAML.
//!
//! A document of a found configuration was read with its layer and is taken from there, because it is
//! part of what was trusted; what lies on the disk later does not count.

use std::path::{Path, PathBuf};

use bonded_tools::rest::RestError;
use serde_json::Value;

use super::Config;
use super::entry::ConfigEntry;
use crate::beneath;
use crate::yaml;

/// Ten megabytes; whoever has more is told to keep only the paths that are needed.
const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// What the values of a document may cost together in memory, with the copies that YAML's aliases make.
const COST_MAX: usize = 256 * 1024 * 1024;

/// The document that an entry names. A path is relative to the file that holds the entry.
pub(super) fn read(config: &Config, entry: &ConfigEntry<'_>) -> Result<Value, RestError> {
    let wrong = |why: String| RestError::Setting {
        key: "spec".into(),
        why,
    };
    let written = entry.text("spec").unwrap_or_default();
    if written.is_empty() {
        return Err(wrong("it must name the file of an OpenAPI document".into()));
    }
    if written.contains("://") {
        let why = "it must name a local file; download the document and name the copy".into();
        return Err(wrong(why));
    }
    let path = beside(&entry.file("spec"), &written);
    let bytes = match config.pulled(entry, &written) {
        Some(bytes) => Ok(bytes.to_vec()),
        None if config.must_be_pulled(entry) => found_bytes(&path),
        None => read_bytes(&path),
    };
    let text = bytes
        .and_then(text)
        .map_err(|why| wrong(format!("{}: {why}", path.display())))?;
    parse(&text).map_err(|why| wrong(format!("{}: {why}", path.display())))
}

/// An absolute path stays one.
fn beside(config_file: &Path, written: &str) -> PathBuf {
    let dir = config_file.parent().unwrap_or(Path::new(""));
    dir.join(written)
}

impl Config {
    /// What was read of a document together with the layer that names it, where that is not the person's own.
    fn pulled(&self, entry: &ConfigEntry<'_>, written: &str) -> Option<&[u8]> {
        let node = self.tree.at(&entry.path.child("spec"))?;
        let layer = &self.layers[node.layer()];
        let bytes = layer.pulled.get(&layer.dir().join(written));
        bytes.map(Vec::as_slice)
    }

    /// Whether the document of an entry must have been read with its layer.
    fn must_be_pulled(&self, entry: &ConfigEntry<'_>) -> bool {
        let node = self.tree.at(&entry.path.child("spec"));
        node.is_some_and(|node| !self.layers[node.layer()].origin.is_persons())
    }
}

/// Why a document that was found could not be read with its layer.
fn found_bytes(path: &Path) -> Result<Vec<u8>, String> {
    read_bytes(path)?;
    Err(
        "a configuration that was found, not named, may only use documents below its own directory"
            .into(),
    )
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let opened = beneath::open_anywhere(path).map_err(|error| error.to_string())?;
    let bytes = opened
        .read(FILE_BYTES_MAX)
        .map_err(|error| error.to_string())?;
    bytes.ok_or_else(|| {
        format!("it is larger than {FILE_BYTES_MAX} bytes; keep only the paths that are needed")
    })
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
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
