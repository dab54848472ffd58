//! What a layer pulls in from its directory: its meaning hangs on those files too, so they are part of what is
//! trusted.
//!
//! Documents are kept as they were read. Of programs only the hash counts, and only of those that a
//! server runs with more than a command of the agent has: any other could do no more than the agent
//! itself.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::expand::expand;
use super::layer::Layer;
use super::{Config, Environment};
use crate::beneath;

/// The documents of requests are the largest.
const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// A server that has one of these has more than a command of the agent has.
const MORE_THAN_A_COMMAND: [&str; 3] = ["sandbox", "sandboxNetwork", "secretEnv"];

/// Reads what a layer pulls in. What cannot be read counts as not there, and is told when it is used.
pub(super) fn pull(layer: &mut Layer, environment: &Environment, cwd: &Path) {
    let dir = layer.dir();
    for (path, is_document) in named(layer, environment, cwd) {
        let read = beneath::open(&dir, &path).and_then(|opened| opened.read(FILE_BYTES_MAX));
        let bytes = read.ok().flatten();
        // A program that lies elsewhere is not the directory's.
        if bytes.is_none() && !is_document {
            continue;
        }
        let place = dir.join(&path);
        layer.contents.add(&place, bytes.as_deref());
        if let Some(bytes) = bytes.filter(|_| is_document) {
            layer.pulled.insert(place, bytes);
        }
    }
}

/// The paths that a layer names, relative to its directory; documents, and programs of servers.
///
/// Arguments count too: a script is commonly the argument of its interpreter. Most of them are no
/// paths, and are passed over when nothing is there.
fn named(layer: &Layer, environment: &Environment, cwd: &Path) -> Vec<(PathBuf, bool)> {
    let put_in = |value: &Value| {
        let lookup = |name: &str| Config::lookup(&layer.variables, environment, cwd, name);
        let expanded = expand(value, &lookup).value;
        expanded.as_str().map(PathBuf::from)
    };
    let entries = |section: &str| {
        let section = layer.value.get(section).and_then(Value::as_object);
        section.into_iter().flatten().map(|(_, entry)| entry)
    };
    let documents = entries("openapiSpecs").filter_map(|entry| put_in(entry.get("spec")?));
    let mut all: Vec<(PathBuf, bool)> = documents.map(|path| (path, true)).collect();
    for server in entries("mcpServers") {
        let has_more = MORE_THAN_A_COMMAND.iter().any(|key| {
            let value = server.get(key);
            value.is_some_and(|it| !it.is_null() && *it != Value::Bool(false))
        });
        if !has_more {
            continue;
        }
        let words = [server.get("command"), server.get("args")];
        for word in words.into_iter().flatten() {
            let parts = match word {
                Value::Array(parts) => parts.iter().collect(),
                word => vec![word],
            };
            all.extend(parts.into_iter().filter_map(&put_in).map(|it| (it, false)));
        }
    }
    all
}
