//! Reads a work item from JSON and collects all that is wrong with it.

use bonded_kernel::{escaped, nearest, short, type_of};
use serde_json::{Map, Value};

use super::declared::DeclaredPath;
use super::fault::{PlanFault, PlanFaultKind};
use super::item::{AgentId, Budget, Complexity, Constraints, ItemId, RETRIES_MAX, WorkItem};
use super::plan::PlanContext;

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
    let Value::Object(fields) = value else {
        faults.push(PlanFault {
            at: at.into(),
            item: None,
            kind: wrong_type("an object", value),
        });
        return None;
    };
    let named = fields.get("id").and_then(Value::as_str);
    let reader = Reader {
        fields,
        at: at.into(),
        item: named.and_then(|id| ItemId::new(id).ok()),
        faults,
    };
    read(reader, context)
}

/// Reads every field before it gives up on any, so that no fault hides another.
fn read(mut reader: Reader<'_>, context: &PlanContext<'_>) -> Option<WorkItem> {
    reader.refuse_unknown(&ITEM_FIELDS);
    let id = reader.parsed("id", ItemId::new);
    let agent_id = reader.parsed("agent_id", AgentId::new);
    let description = reader.required("description").map(str::to_owned);
    let test_command = reader.text("test_command").map(str::to_owned);
    let tests_expected = reader.whole_if_given("tests_expected", 0);
    if tests_expected.is_some() && test_command.is_none() {
        reader.fault("tests_expected", PlanFaultKind::NoTestCommand);
    }
    let retries = reader.whole_between("retries", 0, RETRIES_MAX);
    let dependencies = reader.dependencies();
    let constraints = constraints(&mut reader, context.defaults);
    let budget = budget(&mut reader);
    let input_files = reader.paths("input_files", context.root);
    let output_files = reader.paths("output_files", context.root);
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

fn constraints(reader: &mut Reader<'_>, defaults: Constraints) -> Constraints {
    let Some(mut reader) = reader.object("constraints") else {
        return defaults;
    };
    reader.refuse_unknown(&CONSTRAINTS_FIELDS);
    let mut whole = |field, least, default| reader.whole_if_given(field, least).unwrap_or(default);
    Constraints {
        max_files: whole("max_files", 0, defaults.max_files),
        max_tool_ops: whole("max_tool_ops", 0, defaults.max_tool_ops),
        max_delta_size: whole("max_delta_size", 0, defaults.max_delta_size),
        timeout_ms: whole("timeout_ms", 1, defaults.timeout_ms),
    }
}

fn budget(reader: &mut Reader<'_>) -> Option<Budget> {
    let mut reader = reader.object("budget")?;
    reader.refuse_unknown(&BUDGET_FIELDS);
    let time_estimate_ms = reader.whole_if_given("time_estimate_ms", 0);
    if reader.is_absent("time_estimate_ms") {
        reader.missing("time_estimate_ms");
    }
    let complexity = reader.parsed("complexity", |word| {
        Complexity::parse(word).ok_or_else(|| PlanFaultKind::BadComplexity { found: short(word) })
    });
    Some(Budget {
        time_estimate_ms: time_estimate_ms?,
        complexity: complexity?,
    })
}

/// The fields of an object, and where it stands in the plan.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    at: String,
    item: Option<ItemId>,
    faults: &'a mut Vec<PlanFault>,
}

impl<'a> Reader<'a> {
    fn fault(&mut self, below: &str, kind: PlanFaultKind) {
        self.faults.push(PlanFault {
            at: format!("{}/{below}", self.at),
            item: self.item.clone(),
            kind,
        });
    }

    /// What is missing is missing in the object, not at a place that is not there.
    fn missing(&mut self, field: &'static str) {
        self.faults.push(PlanFault {
            at: self.at.clone(),
            item: self.item.clone(),
            kind: PlanFaultKind::Missing { field },
        });
    }

    fn refuse_unknown(&mut self, known: &[&'static str]) {
        for field in self.fields.keys() {
            if !known.contains(&field.as_str()) {
                let kind = PlanFaultKind::UnknownField {
                    field: short(field),
                    nearest: nearest(field, known.iter().copied()).map(str::to_owned),
                };
                self.fault(&escaped(field), kind);
            }
        }
    }

    /// A field that is there; null counts as absent, because that is how YAML writes an empty one.
    fn given(&self, field: &str) -> Option<&'a Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    fn is_absent(&self, field: &str) -> bool {
        self.given(field).is_none()
    }

    fn text(&mut self, field: &'static str) -> Option<&'a str> {
        let kind = match self.given(field)? {
            Value::String(text) if text.trim().is_empty() => PlanFaultKind::EmptyText,
            Value::String(text) if text.contains('\0') => PlanFaultKind::Nul,
            Value::String(text) => return Some(text),
            other => wrong_type("a text", other),
        };
        self.fault(field, kind);
        None
    }

    fn required(&mut self, field: &'static str) -> Option<&'a str> {
        if self.is_absent(field) {
            self.missing(field);
        }
        self.text(field)
    }

    fn parsed<T, E: Into<PlanFaultKind>>(
        &mut self,
        field: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(self.required(field)?) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.fault(field, error.into());
                None
            }
        }
    }

    fn whole_if_given(&mut self, field: &'static str, least: u64) -> Option<u64> {
        self.whole_between(field, least, WHOLE_MAX)
    }

    fn whole_between(&mut self, field: &'static str, least: u64, most: u64) -> Option<u64> {
        let value = self.given(field)?;
        let kind = match value {
            Value::Number(number) => {
                let whole = number.as_u64();
                if let Some(whole) = whole.filter(|it| (least..=most).contains(it)) {
                    return Some(whole);
                }
                PlanFaultKind::OutOfRange {
                    found: short(&number.to_string()),
                    least,
                    most,
                }
            }
            other => wrong_type("a whole number", other),
        };
        self.fault(field, kind);
        None
    }

    fn object(&mut self, field: &'static str) -> Option<Reader<'_>> {
        match self.given(field)? {
            Value::Object(fields) => Some(Reader {
                fields,
                at: format!("{}/{field}", self.at),
                item: self.item.clone(),
                faults: self.faults,
            }),
            other => {
                self.fault(field, wrong_type("an object", other));
                None
            }
        }
    }

    /// The texts of an array, each with its place.
    fn texts(&mut self, field: &'static str) -> Option<Vec<(String, &'a str)>> {
        let values = match self.given(field)? {
            Value::Array(values) => values,
            other => {
                self.fault(field, wrong_type("an array of texts", other));
                return None;
            }
        };
        let mut texts = vec![];
        for (index, value) in values.iter().enumerate() {
            let below = format!("{field}/{index}");
            match value {
                Value::String(text) => texts.push((below, text.as_str())),
                other => self.fault(&below, wrong_type("a text", other)),
            }
        }
        Some(texts)
    }

    /// Naming a dependency twice says nothing new.
    fn dependencies(&mut self) -> Vec<ItemId> {
        let mut ids = vec![];
        for (below, text) in self.texts("dependencies").unwrap_or_default() {
            match ItemId::new(text) {
                Ok(id) => ids.push(id),
                Err(error) => self.fault(&below, error.into()),
            }
        }
        ids.sort();
        ids.dedup();
        ids
    }

    fn paths(&mut self, field: &'static str, root: Option<&str>) -> Option<Vec<DeclaredPath>> {
        let mut paths = vec![];
        for (below, text) in self.texts(field)? {
            match DeclaredPath::new(text, root) {
                Ok(path) => paths.push(path),
                Err(error) => self.fault(&below, error.into()),
            }
        }
        Some(paths)
    }
}

pub(super) fn wrong_type(expected: &'static str, found: &Value) -> PlanFaultKind {
    PlanFaultKind::WrongType {
        expected,
        found: type_of(found),
    }
}
