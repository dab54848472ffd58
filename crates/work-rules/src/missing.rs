//! What an item declares and a tree does not have.

use super::declared::DeclaredPath;
use super::item::WorkItem;
use super::tree::Tree;

/// Which inputs of an item a tree lacks, as a sentence.
pub fn missing_inputs(item: &WorkItem, before: &Tree) -> Option<String> {
    let declared = item.input_files.iter().flatten();
    missing("Missing input", declared, before)
}

/// Which plain outputs of an item are not there when its run has ended, as a sentence.
pub fn missing_outputs(item: &WorkItem, after: &Tree) -> Option<String> {
    let declared = item.output_files.iter().flatten();
    let plain = declared.filter(|it| it.plain().is_some());
    missing("Missing output", plain, after)
}

fn missing<'a>(
    what: &str,
    declared: impl Iterator<Item = &'a DeclaredPath>,
    tree: &Tree,
) -> Option<String> {
    let missing = declared.filter(|it| !it.is_in(tree));
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    (!missing.is_empty()).then(|| format!("{what}: {} not there", missing.join(", ")))
}
