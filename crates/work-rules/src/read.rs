//! Reads a work item from JSON and collects all that is wrong with it.

use std::collections::BTreeSet;

use bonded_kernel::{Mistake, ReadFault as _, short};
use serde_json::Value;

use super::declared::DeclaredPath;
use super::fault::{PlanFault, PlanFaultKind};
use super::item::{AgentId, Budget, Complexity, Constraints, ItemId, WorkItem};
use super::item_form::ITEM;

/// What a plan is read with.
#[derive(Clone, Copy, Debug)]
pub struct PlanContext<'a> {
    /// The tree's absolute path, so that paths below it are known as its own.
    pub root: Option<&'a str>,
    /// What was done before, by earlier plans on the tree.
    pub done: &'a BTreeSet<ItemId>,
    /// For limits that an item does not say.
    pub defaults: Constraints,
}

/// Reads the item at a pointer. Nothing comes back where a fault leaves no item; whatever was found wrong is in
/// `faults`.
pub(super) fn item(
    value: &Value,
    at: &str,
    context: &PlanContext<'_>,
    faults: &mut Vec<PlanFault>,
) -> Option<WorkItem> {
    let earlier = faults.len();
    let fields = ItemFields::of(value, at, faults)?;
    let named = fields.given("id").and_then(Value::as_str);
    let named = named.and_then(|id| ItemId::new(id).ok());
    let item = read(fields, context);
    for fault in &mut faults[earlier..] {
        fault.item.clone_from(&named);
    }
    item
}

/// Reads every field before it gives up on any, so that no fault hides another.
fn read(mut fields: ItemFields<'_, '_>, context: &PlanContext<'_>) -> Option<WorkItem> {
    fields.hold_to(ITEM);
    let id = parsed(&mut fields, "id", ItemId::new);
    let agent_id = parsed(&mut fields, "agent_id", AgentId::new);
    let description = fields.parsed("description", text_of).map(str::to_owned);
    let test_command = fields.parsed("test_command", text_of).map(str::to_owned);
    let tests_expected = fields.whole_row("tests_expected");
    if tests_expected.is_some() && test_command.is_none() {
        fields.fault("tests_expected", PlanFaultKind::NoTestCommand);
    }
    let retries = fields.whole_row("retries");
    let dependencies = dependencies(&mut fields);
    let constraints = constraints(&mut fields, context.defaults);
    let budget = budget(&mut fields);
    let path = |text: &str| DeclaredPath::new(text, context.root);
    let input_files = named(&mut fields, "input_files", path);
    let output_files = named(&mut fields, "output_files", path);
    Some(WorkItem {
        id: id?,
        agent_id: agent_id?,
        description: description?,
        dependencies,
        constraints,
        budget,
        input_files,
        output_files,
        test_command,
        tests_expected,
        retries: retries.unwrap_or(0),
    })
}

fn constraints(fields: &mut ItemFields<'_, '_>, defaults: Constraints) -> Constraints {
    let Some(mut fields) = fields.object_row("constraints") else {
        return defaults;
    };
    let timeout_ms = fields.measured_row("timeout_ms");
    let mut whole = |field, default| fields.whole_row(field).unwrap_or(default);
    Constraints {
        max_files: whole("max_files", defaults.max_files),
        max_tool_ops: whole("max_tool_ops", defaults.max_tool_ops),
        max_delta_size: whole("max_delta_size", defaults.max_delta_size),
        timeout_ms: timeout_ms.unwrap_or(defaults.timeout_ms),
    }
}

fn budget(fields: &mut ItemFields<'_, '_>) -> Option<Budget> {
    let mut fields = fields.object_row("budget")?;
    let time_estimate_ms = fields.measured_row("time_estimate_ms");
    let complexity = parsed(&mut fields, "complexity", |word| {
        Complexity::parse(word).ok_or_else(|| PlanFaultKind::BadComplexity { found: short(word) })
    });
    Some(Budget {
        time_estimate_ms: time_estimate_ms?,
        complexity: complexity?,
    })
}

type ItemFields<'a, 'f> = bonded_kernel::Fields<'a, 'f, PlanFault>;

/// A text that holds something and that a command can be given.
fn text_of(value: &Value) -> Result<&str, Mistake> {
    let Value::String(text) = value else {
        return Err(Mistake::wrong_type("a text", value));
    };
    if text.trim().is_empty() {
        return Err(Mistake::Empty);
    }
    if text.contains('\0') {
        return Err(Mistake::Nul);
    }
    Ok(text)
}

fn parsed<T, E: Into<PlanFaultKind>>(
    fields: &mut ItemFields<'_, '_>,
    field: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Option<T> {
    let text = fields.parsed(field, text_of)?;
    fields.parsed(field, |_| parse(text))
}

/// What the texts of an array name; an array that is not there names nothing and is none.
fn named<T, E: Into<PlanFaultKind>>(
    fields: &mut ItemFields<'_, '_>,
    field: &str,
    name: impl Fn(&str) -> Result<T, E>,
) -> Option<Vec<T>> {
    let mut names = vec![];
    for (at, value) in fields.array(field, "a list of texts")? {
        let named = match value.as_str() {
            Some(text) => name(text).map_err(Into::into),
            None => Err(Mistake::wrong_type("a text", value).into()),
        };
        match named {
            Ok(named) => names.push(named),
            Err(kind) => fields.faults().push(PlanFault::new(at, kind)),
        }
    }
    Some(names)
}

/// Naming a dependency twice says nothing new.
fn dependencies(fields: &mut ItemFields<'_, '_>) -> Vec<ItemId> {
    let mut ids = named(fields, "dependencies", ItemId::new).unwrap_or_default();
    ids.sort();
    ids.dedup();
    ids
}
