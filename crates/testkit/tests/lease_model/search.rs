//! All states that can be reached, the nearest first, and those from which the end cannot be reached.

use std::collections::HashMap;
use std::collections::VecDeque;

use crate::model::{State, Variant};

/// What was found.
pub(crate) struct Explored {
    pub(crate) states: usize,
    /// How many states there are from which the run can never end, though a worker could get a lease.
    pub(crate) stuck: usize,
    pub(crate) broken: Option<BrokenPromise>,
}

/// How a promise is broken, by the fewest steps.
pub(crate) struct BrokenPromise {
    pub(crate) promise: String,
    steps: Vec<String>,
}

impl BrokenPromise {
    pub(crate) fn render(&self) -> String {
        format!("{} after: {}", self.promise, self.steps.join("; "))
    }
}

/// Where a state was first reached from, and by what.
type Reached = Option<(usize, String)>;

pub(crate) fn explore(first: State, variant: Variant) -> Explored {
    let mut known = HashMap::from([(first.clone(), 0)]);
    let mut reached: Vec<Reached> = vec![None];
    let mut before: Vec<Vec<usize>> = vec![vec![]];
    let mut ended: Vec<usize> = vec![];
    let mut can_drive: Vec<usize> = vec![];
    let mut next = VecDeque::from([(0, first)]);
    while let Some((at, state)) = next.pop_front() {
        if state.has_ended() {
            ended.push(at);
        } else if state.has_leases() {
            can_drive.push(at);
        }
        for (step, result) in state.steps(variant) {
            let after = match result {
                Ok(after) => after,
                Err(promise) => {
                    let steps = way(&reached, at, step);
                    return Explored {
                        states: known.len(),
                        stuck: 0,
                        broken: Some(BrokenPromise { promise, steps }),
                    };
                }
            };
            let count = known.len();
            let place = *known.entry(after.clone()).or_insert(count);
            if place == count {
                reached.push(Some((at, step)));
                before.push(vec![]);
                next.push_back((place, after));
            }
            before[place].push(at);
        }
    }
    let leads = leading(&before, ended);
    Explored {
        states: known.len(),
        stuck: can_drive.into_iter().filter(|at| !leads[*at]).count(),
        broken: None,
    }
}

fn way(reached: &[Reached], mut at: usize, last: String) -> Vec<String> {
    let mut steps = vec![last];
    while let Some((from, step)) = &reached[at] {
        steps.push(step.clone());
        at = *from;
    }
    steps.reverse();
    steps
}

/// Which states lead to one of these.
fn leading(before: &[Vec<usize>], mut ends: Vec<usize>) -> Vec<bool> {
    let mut leads = vec![false; before.len()];
    for end in &ends {
        leads[*end] = true;
    }
    while let Some(at) = ends.pop() {
        for from in &before[at] {
            if !leads[*from] {
                leads[*from] = true;
                ends.push(*from);
            }
        }
    }
    leads
}
