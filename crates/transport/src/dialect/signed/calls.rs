//! Which call of a message each placeholder stands for.
//!
//! A run may have dropped calls, and has given ids to those that came without. So calls are found by the
//! provider's id first, then by their place where as many are left as placeholders, and else by their tool.

use std::borrow::Cow;

use bonded_kernel::MessageCall;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Stands for a call.
#[derive(Serialize, Deserialize)]
pub(super) struct CallHolder<'a> {
    /// The id that the provider gave it.
    #[serde(borrow)]
    call: Cow<'a, str>,
    /// Its tool, where it has no id: a run gives it one of its own.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    name: Cow<'a, str>,
}

impl<'a> CallHolder<'a> {
    pub(super) fn new(id: &'a str, tool: &'a str) -> Self {
        Self {
            call: id.into(),
            name: if id.is_empty() { tool } else { "" }.into(),
        }
    }
}

/// The calls of a message: those that placeholders stand for, in the order of these, and the others.
pub(super) struct PlacedCalls<'a> {
    calls: &'a [MessageCall],
    by_holder: std::vec::IntoIter<Option<usize>>,
    is_taken: Vec<bool>,
}

impl<'a> PlacedCalls<'a> {
    /// The call of the next placeholder; `Some(None)` where the run has dropped it.
    pub(super) fn next(&mut self) -> Option<Option<&'a MessageCall>> {
        let at = self.by_holder.next()?;
        Some(at.map(|at| &self.calls[at]))
    }

    /// The calls that no placeholder stands for.
    pub(super) fn rest(self) -> impl Iterator<Item = &'a MessageCall> {
        let calls = self.calls.iter().zip(self.is_taken);
        calls.filter_map(|(call, is_taken)| (!is_taken).then_some(call))
    }

    /// Takes the first call that is left and fits. Those of one reply mostly come in the order of the placeholders.
    fn take(&mut self, from: usize, fits: impl Fn(&MessageCall) -> bool) -> Option<usize> {
        let count = self.calls.len();
        let mut places = (from.min(count)..count).chain(0..from.min(count));
        let at = places.find(|at| !self.is_taken[*at] && fits(&self.calls[*at]))?;
        self.is_taken[at] = true;
        Some(at)
    }
}

pub(super) fn found_calls<'a, 'i>(
    items: impl Iterator<Item = &'i &'i RawValue>,
    calls: &'a [MessageCall],
) -> PlacedCalls<'a> {
    let read = |item: &&'i RawValue| serde_json::from_str::<CallHolder<'i>>(item.get());
    let holders: Vec<Option<CallHolder<'i>>> = items.map(|item| read(item).ok()).collect();
    let mut found = PlacedCalls {
        calls,
        by_holder: vec![].into_iter(),
        is_taken: vec![false; calls.len()],
    };
    let mut by_holder: Vec<Option<usize>> = Vec::with_capacity(holders.len());
    for (nth, holder) in holders.iter().enumerate() {
        let id = holder.as_ref().map_or("", |holder| &holder.call);
        let at = (!id.is_empty()).then(|| found.take(nth, |call| *call.id == *id));
        by_holder.push(at.flatten());
    }
    // What has an id of the run's own is found by its place where all are there, and by its tool where some were dropped.
    let is_left = |taken: &&bool| !**taken;
    let all_are_there = found.is_taken.iter().filter(is_left).count()
        == by_holder.iter().filter(|at| at.is_none()).count();
    for (nth, holder) in holders.iter().enumerate() {
        if by_holder[nth].is_none() {
            let name = holder.as_ref().map_or("", |holder| &holder.name);
            by_holder[nth] = found.take(0, |call| all_are_there || *call.tool == *name);
        }
    }
    found.by_holder = by_holder.into_iter();
    found
}
