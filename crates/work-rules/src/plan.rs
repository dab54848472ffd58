//! Plans: work items that wait for each other, and the levels in which they can run.

use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::nearest;
use serde_json::Value;

use super::fault::{PlanFault, PlanFaultKind};
use super::item::{ItemId, WorkItem};
use super::read::{self, PlanContext};

/// Work items that were checked as a whole: each id once, each dependency known, no circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPlan {
    items: Vec<WorkItem>,
    /// Indices into the items, sorted by id within a level.
    levels: Vec<Vec<usize>>,
    is_single: bool,
}

/// In larger plans nobody's slip of the fingers is looked for: that would take too long.
const IDS_COMPARED_MAX: usize = 200;

impl WorkPlan {
    /// Reads one item or an array of them. Either all is well, or everything that is not comes back.
    pub fn from_value(value: &Value, context: &PlanContext<'_>) -> Result<Self, Vec<PlanFault>> {
        let mut faults = vec![];
        let placed = read_all(value, context, &mut faults);
        let unread = unread_ids(value, &placed);
        let is_known = |id: &ItemId| context.done.contains(id) || unread.contains(id.as_str());
        let graph = Graph::new(&placed, is_known, &mut faults);
        let levels = graph.levels(&mut faults);
        let levels = match faults.is_empty() {
            true => sorted_levels(&placed, &levels),
            false => return Err(faults),
        };
        Ok(Self {
            items: placed.into_iter().map(|(_, item)| item).collect(),
            levels,
            is_single: value.is_object(),
        })
    }

    /// In the order in which they were written.
    pub fn items(&self) -> &[WorkItem] {
        &self.items
    }

    /// Whether the plan was written as one item, not as an array.
    pub fn is_single(&self) -> bool {
        self.is_single
    }

    /// Level after level: an item comes one level after the last of its dependencies. Sorted by id in a level,
    /// whatever the order in which the items were written.
    pub fn levels(&self) -> Vec<Vec<&WorkItem>> {
        let items = |level: &Vec<usize>| level.iter().map(|index| &self.items[*index]).collect();
        self.levels.iter().map(items).collect()
    }
}

fn read_all(
    value: &Value,
    context: &PlanContext<'_>,
    faults: &mut Vec<PlanFault>,
) -> Vec<(String, WorkItem)> {
    let fault = |kind| PlanFault {
        at: String::new(),
        item: None,
        kind,
    };
    let placed: Vec<(String, &Value)> = match value {
        Value::Object(_) => vec![(String::new(), value)],
        Value::Array(values) if values.is_empty() => {
            faults.push(fault(PlanFaultKind::NoItem));
            vec![]
        }
        Value::Array(values) => {
            let places = (0..).map(|index: usize| format!("/{index}"));
            places.zip(values).collect()
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            let found = bonded_kernel::found(other);
            faults.push(fault(PlanFaultKind::NotAPlan { found }));
            vec![]
        }
    };
    let read = |(at, value): (String, &Value)| {
        let item = read::item(value, &at, context, faults)?;
        Some((at, item))
    };
    placed.into_iter().filter_map(read).collect()
}

/// The ids of items that have faults of their own: whoever depends on them is not at fault for that.
fn unread_ids<'v>(value: &'v Value, placed: &[(String, WorkItem)]) -> BTreeSet<&'v str> {
    let values = value.as_array().map_or(&[][..], Vec::as_slice);
    if values.len() == placed.len() {
        return BTreeSet::new();
    }
    let ids = values.iter().filter_map(|value| value.get("id")?.as_str());
    ids.collect()
}

fn sorted_levels(placed: &[(String, WorkItem)], level_of: &[usize]) -> Vec<Vec<usize>> {
    let count = level_of.iter().max().map_or(0, |last| last + 1);
    let mut levels = vec![vec![]; count];
    for (index, level) in level_of.iter().enumerate() {
        levels[*level].push(index);
    }
    for level in &mut levels {
        level.sort_by(|a, b| placed[*a].1.id.cmp(&placed[*b].1.id));
    }
    levels
}

/// Who waits for whom, by index.
struct Graph<'a> {
    placed: &'a [(String, WorkItem)],
    needs: Vec<Vec<usize>>,
    needed_by: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(
        placed: &'a [(String, WorkItem)],
        is_known: impl Fn(&ItemId) -> bool,
        faults: &mut Vec<PlanFault>,
    ) -> Self {
        let by_id = by_id(placed, faults);
        let mut graph = Self {
            placed,
            needs: vec![vec![]; placed.len()],
            needed_by: vec![vec![]; placed.len()],
        };
        for (index, (at, item)) in placed.iter().enumerate() {
            for dependency in &item.dependencies {
                let kind = match by_id.get(dependency.as_str()) {
                    Some(_) if *dependency == item.id => PlanFaultKind::SelfDependency,
                    Some(&needed) => {
                        graph.needs[index].push(needed);
                        graph.needed_by[needed].push(index);
                        continue;
                    }
                    None if is_known(dependency) => continue,
                    None => unknown(dependency, &by_id),
                };
                faults.push(PlanFault {
                    at: format!("{at}/dependencies"),
                    item: Some(item.id.clone()),
                    kind,
                });
            }
        }
        graph
    }

    /// The level of each item. What waits in a circle has none and is a fault.
    fn levels(&self, faults: &mut Vec<PlanFault>) -> Vec<usize> {
        let mut level = vec![0; self.placed.len()];
        let mut waits_for: Vec<usize> = self.needs.iter().map(Vec::len).collect();
        let mut ready: Vec<usize> = (0..self.placed.len())
            .filter(|index| waits_for[*index] == 0)
            .collect();
        while let Some(index) = ready.pop() {
            for &waiting in &self.needed_by[index] {
                level[waiting] = level[waiting].max(level[index] + 1);
                waits_for[waiting] -= 1;
                if waits_for[waiting] == 0 {
                    ready.push(waiting);
                }
            }
        }
        self.find_circles(&waits_for, faults);
        level
    }

    /// Whoever still waits waits for another who does: following that leads into a circle.
    fn find_circles(&self, waits_for: &[usize], faults: &mut Vec<PlanFault>) {
        let mut seen_by = vec![usize::MAX; self.placed.len()];
        for start in (0..self.placed.len()).filter(|index| waits_for[*index] > 0) {
            let (mut way, mut at) = (vec![], start);
            while seen_by[at] == usize::MAX {
                seen_by[at] = start;
                way.push(at);
                let still_waiting = |index: &&usize| waits_for[**index] > 0;
                match self.needs[at].iter().find(still_waiting) {
                    Some(&next) => at = next,
                    None => break,
                }
            }
            if seen_by[at] != start {
                continue;
            }
            let Some(first) = way.iter().position(|index| *index == at) else {
                continue;
            };
            let id = |index: &usize| self.placed[*index].1.id.clone();
            faults.push(PlanFault {
                at: format!("{}/dependencies", self.placed[at].0),
                item: Some(id(&at)),
                kind: PlanFaultKind::Cycle {
                    ids: way[first..].iter().map(id).collect(),
                },
            });
        }
    }
}

fn by_id<'a>(
    placed: &'a [(String, WorkItem)],
    faults: &mut Vec<PlanFault>,
) -> BTreeMap<&'a str, usize> {
    let mut by_id = BTreeMap::new();
    for (index, (at, item)) in placed.iter().enumerate() {
        let first = *by_id.entry(item.id.as_str()).or_insert(index);
        if first != index {
            faults.push(PlanFault {
                at: format!("{at}/id"),
                item: Some(item.id.clone()),
                kind: PlanFaultKind::DuplicateId {
                    first: placed[first].0.clone(),
                },
            });
        }
    }
    by_id
}

fn unknown(dependency: &ItemId, by_id: &BTreeMap<&str, usize>) -> PlanFaultKind {
    let nearest = match by_id.len() <= IDS_COMPARED_MAX {
        true => nearest(dependency.as_str(), by_id.keys().copied()).map(str::to_owned),
        false => None,
    };
    PlanFaultKind::UnknownDependency {
        id: dependency.to_string(),
        nearest,
    }
}
