//! What making a tool fit may cost.
//!
//! Schemas are strangers', and some of what is done to them copies a part once for every place that means it. So what is
//! copied, compared or put together is counted, without a clock: the same tool is left out on every machine.

use serde_json::Value;

/// Each is a part of a schema. A schema of the size that the kernel takes has a hundred thousand at most.
pub(super) const STEPS_MAX: u64 = 400_000;

/// So much text costs as much as a part.
const BYTES_PER_STEP: usize = 32;

/// There are no steps left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl From<TooMany> for String {
    fn from(_: TooMany) -> Self {
        format!("it takes more than {STEPS_MAX} steps to adapt it to the service")
    }
}

/// What one tool may still cost. A tool that uses it up is left out, and the others are offered.
#[derive(Debug)]
pub(super) struct Steps {
    left: u64,
}

impl Steps {
    pub(super) fn new() -> Self {
        Self { left: STEPS_MAX }
    }

    pub(super) fn take(&mut self, steps: u64) -> Result<(), TooMany> {
        self.left = self.left.checked_sub(steps).ok_or(TooMany)?;
        Ok(())
    }

    /// Takes what it costs to look at these whole, or to copy them.
    pub(super) fn take_all<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<(), TooMany> {
        values
            .into_iter()
            .try_for_each(|value| self.take(weight(value)))
    }

    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        STEPS_MAX - self.left
    }
}

/// One for each value, and more for long texts. It walks the whole value, which costs less than what it is
/// asked for.
fn weight(value: &Value) -> u64 {
    let of_text = |text: &str| (text.len() / BYTES_PER_STEP) as u64;
    match value {
        Value::Array(items) => 1 + items.iter().map(weight).sum::<u64>(),
        Value::Object(members) => {
            let members = members.iter();
            1 + members
                .map(|(key, value)| of_text(key) + weight(value))
                .sum::<u64>()
        }
        Value::String(text) => 1 + of_text(text),
        _ => 1,
    }
}
