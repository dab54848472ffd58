//! What is learned from services that refuse.

use std::collections::BTreeMap;

use bonded_kernel::{AttemptFailed, Event, FailureClass, Lesson, Target, WindowSource};

use crate::sim::history::History;

/// What the kernel learns of one target at most.
const LESSONS_MAX: usize = 8;

/// How many windows of one target.
const WINDOWS_MAX: usize = 2;

/// The window that a lesson teaches.
fn window(lesson: &Lesson) -> Option<u64> {
    match lesson {
        Lesson::Window { tokens, .. } => Some(*tokens),
        _ => None,
    }
}

/// A window is learned from a refusal that names it, only shrinks, and so seldom that nobody is asked for ever.
pub(super) fn a_window_only_shrinks(history: &History) -> Result<(), String> {
    let mut learned: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut before: Option<&Event> = None;
    for entry in &history.entries {
        if let Event::TargetLearned { target, lesson } = &entry.event
            && let Some(tokens) = window(lesson)
        {
            let names = |failed: &AttemptFailed| {
                failed.class == FailureClass::Overflow
                    && failed.overflow.is_some_and(|it| it.window.is_some())
            };
            let follows = matches!(before, Some(Event::AttemptFailed(failed)) if names(failed));
            let given = history.config.targets.get(*target as usize);
            let given = given.and_then(|it| it.window).map(|it| it.tokens);
            let known = learned.entry(*target).or_default();
            let shrinks = known.iter().all(|it| tokens < *it);
            let is_less = given.is_none_or(|given| tokens <= given);
            if !follows || !shrinks || !is_less || known.len() == WINDOWS_MAX {
                return Err(format!(
                    "entry {} teaches target {target}: {lesson}",
                    entry.seq
                ));
            }
            known.push(tokens);
        }
        before = Some(&entry.event);
    }
    let taught = |target: &Target| {
        let at = history
            .config
            .targets
            .iter()
            .position(|it| it.model == target.model)?;
        learned.get(&(at as u32))
    };
    let made_up = history.requests.iter().find(|sent| {
        let window = sent.target.window.map(|it| it.tokens);
        let is_learned = sent.target.window_source == Some(WindowSource::Learned);
        let is_known =
            taught(&sent.target).is_some_and(|it| window.is_some_and(|w| it.contains(&w)));
        is_learned && !is_known
    });
    match made_up {
        Some(sent) => Err(format!("nobody taught {:?}", sent.target.window)),
        None => Ok(()),
    }
}

fn is_refusal(failed: &AttemptFailed) -> bool {
    failed.class == FailureClass::Model && matches!(failed.status, Some(400 | 422))
}

/// A lesson follows a refusal, is learned once for a target, and there are few.
pub(super) fn a_lesson_is_learned_once(history: &History) -> Result<(), String> {
    let mut learned: BTreeMap<u32, Vec<&Lesson>> = BTreeMap::new();
    let mut before: Option<&Event> = None;
    for entry in &history.entries {
        if let Event::TargetLearned { target, lesson } = &entry.event
            && window(lesson).is_none()
        {
            let follows =
                matches!(before, Some(Event::AttemptFailed(failed)) if is_refusal(failed));
            let known = learned.entry(*target).or_default();
            if !follows || known.contains(&&**lesson) || known.len() == LESSONS_MAX {
                return Err(format!(
                    "entry {} teaches target {target}: {lesson}",
                    entry.seq
                ));
            }
            known.push(lesson);
        }
        before = Some(&entry.event);
    }
    Ok(())
}

/// Whatever was learned, a target is itself, and nothing that bounds a request to it is another.
pub(super) fn a_lesson_changes_no_limit(history: &History) -> Result<(), String> {
    let limits = history.live.as_ref().map(|run| run.limits_of_goal());
    let goals = history.pursued();
    let given = goals.last().map(|goal| &goal.limits);
    if limits.is_some() && limits != given {
        return Err("the run has other limits than it was given".into());
    }
    for sent in &history.requests {
        let given = history.config.targets.iter();
        let bare = without_manner_of_speaking(&sent.target);
        let is_given = given.map(without_manner_of_speaking).any(|it| it == bare);
        if !is_given || sent.output_tokens_max > history.config.output_tokens_max {
            let (turn, attempt) = (sent.turn, sent.attempt);
            return Err(format!(
                "attempt {attempt} of turn {turn} went to {:?} for {} tokens",
                sent.target, sent.output_tokens_max
            ));
        }
    }
    Ok(())
}

fn without_manner_of_speaking(target: &Target) -> Target {
    let mut bare = target.clone();
    bare.accepts = None;
    bare.dialect = Default::default();
    bare.sampling.caching = false;
    (bare.window, bare.window_source) = (None, None);
    bare
}

/// Where a service would take what is left, each of its refusals teaches something, so that none of them ends a turn.
pub(super) fn what_can_be_met_is_met(history: &History) -> Result<(), String> {
    let mut asked = 0;
    for (at, entry) in history.entries.iter().enumerate() {
        match &entry.event {
            Event::AttemptStarted { target, .. } => asked = *target,
            Event::AttemptFailed(failed) if is_refusal(failed) => {
                let manner = history.manners.get(asked as usize);
                let next = history.entries.get(at + 1).map(|entry| &entry.event);
                let learns =
                    matches!(next, Some(Event::TargetLearned { target, .. }) if *target == asked);
                if manner.is_some_and(|it| it.can_be_met()) && !learns {
                    return Err(format!(
                        "entry {} taught nothing: {}",
                        entry.seq, failed.message
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
