//! What holds for runs that work in loops besides: their memory, their scope, their privacy.

use std::collections::BTreeMap;

use bonded_kernel::{
    Call, Event, Outcome, RAM_ADD, RAM_DELETE, RECORD_ADD, RECORD_UPDATE, RUN_ID_KEY, STATE_KEY,
    THINK_LOG_KEY, USER_REQUEST_KEY, audit, replay,
};
use serde_json::Value;

use super::tools::decision;
use crate::sim::history::History;

/// The keys whose values are more than what the last call set.
const OTHERS: [&str; 4] = [STATE_KEY, THINK_LOG_KEY, USER_REQUEST_KEY, RUN_ID_KEY];

/// The memory is what the calls that succeeded left, one after the other, and nothing else.
pub(super) fn the_memory_is_the_fold_of_the_log(history: &History) -> Result<(), String> {
    let (Some(looping), Some(live)) = (&history.config.looping, &history.live) else {
        return Ok(());
    };
    let mut expected: BTreeMap<String, Value> =
        serde_json::from_str(&looping.memory).unwrap_or_default();
    for entry in &history.entries {
        let Event::ToolFinished(finished) = &entry.event else {
            continue;
        };
        let call = decision(history, entry.turn).and_then(|it| it.get(finished.call as usize));
        if let Some(call) = call.filter(|_| finished.outcome == Outcome::Ok) {
            fold(&mut expected, call);
        }
    }
    let is_plain = |key: &String| !OTHERS.contains(&key.as_str());
    expected.retain(|key, _| is_plain(key));
    let mut found = live
        .memory()
        .map(|it| it.entries().clone())
        .unwrap_or_default();
    found.retain(|key, _| is_plain(key));
    let replayed = replay(&history.entries).map_err(|error| error.to_string())?;
    if replayed.memory() != live.memory() {
        return Err("a replay has another memory".into());
    }
    match found == expected {
        true => Ok(()),
        false => Err(format!(
            "the memory is {found:?}, the calls say {expected:?}"
        )),
    }
}

fn fold(memory: &mut BTreeMap<String, Value>, call: &Call) {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let key = arguments["key"].as_str().unwrap_or_default().to_owned();
    let value = arguments["value"].as_str().unwrap_or_default();
    match &*call.tool {
        RAM_ADD => {
            let parsed: Option<Value> = serde_json::from_str(value).ok();
            let is_kept = |it: &Value| match it {
                Value::Number(number) => number.to_string() == value,
                _ => true,
            };
            let kept = parsed.filter(is_kept);
            memory.insert(key, kept.unwrap_or_else(|| value.into()));
        }
        RAM_DELETE => drop(memory.remove(&key)),
        _ => {}
    }
}

/// In no turn more notes are made or changed than the scope allows.
pub(super) fn no_loop_goes_beyond_its_scope(history: &History) -> Result<(), String> {
    let Some(looping) = &history.config.looping else {
        return Ok(());
    };
    let scope = &looping.scope;
    let mut counts: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    for entry in &history.entries {
        if let Event::ToolInvoked { tool, .. } = &entry.event {
            *counts.entry((entry.turn, &**tool)).or_default() += 1;
        }
    }
    let max_of = |tool: &str| match tool {
        RECORD_ADD => scope.max_notes_per_loop,
        RECORD_UPDATE => scope.max_edits_per_loop,
        _ => u32::MAX,
    };
    match counts
        .iter()
        .find(|((_, tool), count)| **count > max_of(tool))
    {
        Some(((turn, tool), count)) => Err(format!("{count} times {tool} in loop {turn}")),
        None => Ok(()),
    }
}

/// A log that keeps no replies has none, and is audited all the same.
pub(super) fn a_log_without_replies_has_none(history: &History) -> Result<(), String> {
    let looping = history.config.looping.as_ref();
    if looping.is_none_or(|looping| looping.keeps_text) {
        return Ok(());
    }
    for entry in &history.entries {
        let answer = match &entry.event {
            Event::DecisionMade(decision) => &decision.answer,
            Event::ReplyRejected { answer, .. } => answer,
            _ => continue,
        };
        let is_kept = !answer.text.is_empty() || !answer.reasoning.is_empty();
        if is_kept || answer.signed.is_some() || answer.withheld.is_none() {
            return Err(format!("entry {} keeps what the model wrote", entry.seq));
        }
    }
    audit(&history.entries)
        .map(drop)
        .map_err(|fault| fault.to_string())
}
