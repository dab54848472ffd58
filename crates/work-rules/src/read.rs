//! Reads a work item from JSON and collects all that is wrong with it.

use std::collections::BTreeSet;

use bonded_kernel::{Measure, Mistake, ReadFault as _, short};
use serde_json::Value;

use super::declared::DeclaredPath;
use super::fault::{PlanFault, PlanFaultKind};
use super::item::{AgentId, Budget, Complexity, Constraints, ItemId, RETRIES_MAX, WorkItem};

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

/// Larger numbers are not exact in every reader of JSON.
const WHOLE_MAX: u64 = (1 << 53) - 1;

const ITEM_FIELDS: [&str; 11] = [
    "id",
    "agent_id",
    "description",
    "dependencies",
    "constraints",
    "budget",
    "input_files",
    "output_files",
    "test_command",
    "tests_expected",
    "retries",
];

const CONSTRAINTS_FIELDS: [&str; 4] = ["max_files", "max_tool_ops", "max_delta_size", "timeout_ms"];

const BUDGET_FIELDS: [&str; 2] = ["time_estimate_ms", "complexity"];

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
    fields.refuse_unknown(&ITEM_FIELDS);
    let id = parsed(&mut fields, "id", ItemId::new);
    let agent_id = parsed(&mut fields, "agent_id", AgentId::new);
    let description = required(&mut fields, "description").map(str::to_owned);
    let test_command = fields.parsed("test_command", text_of).map(str::to_owned);
    let tests_expected = fields.whole("tests_expected", 0..=WHOLE_MAX);
    if tests_expected.is_some() && test_command.is_none() {
        fields.fault("tests_expected", PlanFaultKind::NoTestCommand);
    }
    let retries = fields.whole("retries", 0..=RETRIES_MAX);
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
    let Some(mut fields) = fields.object("constraints") else {
        return defaults;
    };
    fields.refuse_unknown(&CONSTRAINTS_FIELDS);
    let timeout_ms = fields.measured("timeout_ms", Measure::Ms, 1..=WHOLE_MAX);
    let mut whole = |field, default| fields.whole(field, 0..=WHOLE_MAX).unwrap_or(default);
    Constraints {
        max_files: whole("max_files", defaults.max_files),
        max_tool_ops: whole("max_tool_ops", defaults.max_tool_ops),
        max_delta_size: whole("max_delta_size", defaults.max_delta_size),
        timeout_ms: timeout_ms.unwrap_or(defaults.timeout_ms),
    }
}

fn budget(fields: &mut ItemFields<'_, '_>) -> Option<Budget> {
    let mut fields = fields.object("budget")?;
    fields.refuse_unknown(&BUDGET_FIELDS);
    let time_estimate_ms = fields.measured("time_estimate_ms", Measure::Ms, 0..=WHOLE_MAX);
    if fields.given("time_estimate_ms").is_none() {
        fields.missing("time_estimate_ms");
    }
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

fn required<'a>(fields: &mut ItemFields<'a, '_>, field: &'static str) -> Option<&'a str> {
    if fields.given(field).is_none() {
        fields.missing(field);
    }
    fields.parsed(field, text_of)
}

fn parsed<T, E: Into<PlanFaultKind>>(
    fields: &mut ItemFields<'_, '_>,
    field: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Option<T> {
    let text = required(fields, field)?;
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
