//! The examples of the docs: blocks that are indented by four.

use std::path::{Path, PathBuf};

use bonded_host::document::parse_document;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a page, by its path from the root.
pub(crate) fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("the page is there")
}

/// The blocks of a page, in order, without their indentation.
pub(crate) fn blocks(page: &str) -> Vec<String> {
    let (mut blocks, mut open): (Vec<String>, Option<String>) = (vec![], None);
    let mut blank_before = true;
    for line in page.lines() {
        let inside = line.strip_prefix("    ");
        match (&mut open, inside) {
            (Some(block), Some(inside)) => block.push_str(&format!("{inside}\n")),
            (Some(block), None) if line.trim().is_empty() => block.push('\n'),
            (Some(_), None) => blocks.extend(open.take()),
            (None, Some(inside)) if blank_before => open = Some(format!("{inside}\n")),
            (None, _) => {}
        }
        blank_before = line.trim().is_empty();
    }
    blocks.extend(open);
    let trimmed = blocks.iter().map(|block| format!("{}\n", block.trim_end()));
    trimmed.collect()
}

/// Every page that people read.
fn pages() -> Vec<String> {
    let docs = std::fs::read_dir(root().join("docs")).expect("there are docs");
    let docs = docs.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let docs = docs.filter(|name| name.ends_with(".md"));
    let mut names: Vec<String> = docs.map(|name| format!("docs/{name}")).collect();
    names.push("README.md".into());
    names.sort();
    names
}

/// The examples that may be files of a kind, each with its page. A part of an object is made whole.
pub(crate) fn documents(kind: &str) -> Vec<(String, Value)> {
    let mut found = vec![];
    for name in pages() {
        for block in blocks(&page(&name)) {
            let text = match kind {
                "agent" => front_matter(&block),
                _ if block.starts_with('"') => Some(format!("{{{block}}}")),
                _ => Some(block),
            };
            let value = text.and_then(|text| parse_document(&text).ok());
            let is_structured = |value: &Value| value.is_object() || value.is_array();
            found.extend(value.filter(is_structured).map(|it| (name.clone(), it)));
        }
    }
    found
}

fn front_matter(block: &str) -> Option<String> {
    let (_, rest) = block.split_once("---\n")?;
    let (inside, _) = rest.split_once("---\n")?;
    Some(inside.to_owned())
}
