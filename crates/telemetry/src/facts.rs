//! What is known of a run and of the goal that it pursues, and what has ended in it.

// An outcome that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use bonded_kernel::{
    Answer, AttemptFailed, Call, Entry, GoalGiven, Millis, Money, Outcome, Parent, RejectReason,
    RunEnded, RunId, RunStarted, Target, ToolFinished, Usage,
};

/// What is known of a run from its first entry, and from what later goals changed.
#[derive(Debug)]
pub(crate) struct RunFacts {
    pub(crate) id: RunId,
    /// The agent's name; a run without one has none.
    pub(crate) agent: Option<String>,
    pub(crate) parent: Option<Parent>,
    pub(crate) forked_from: Option<RunId>,
    pub(crate) targets: Vec<Target>,
    pub(crate) output_tokens_max: u32,
    pub(crate) temperature: Option<f64>,
    /// When its goal was given.
    pub(crate) began: Millis,
    /// Which goal it pursues, from 1.
    pub(crate) goal: u32,
    /// What was used when that was given.
    pub(crate) before: UsedBefore,
    /// The tools that are agents.
    pub(crate) agents: Vec<String>,
}

impl RunFacts {
    pub(crate) fn of(entry: &Entry, started: &RunStarted) -> Self {
        let config = &started.config;
        let agent = config.agent.as_ref();
        let agents = agent.map_or(&[][..], |agent| &agent.agents);
        Self {
            id: entry.run.clone(),
            agent: agent.map(|agent| agent.name.clone()),
            parent: config.parent.clone(),
            forked_from: started.forked_from.as_ref().map(|from| from.run.clone()),
            targets: config.targets.clone(),
            output_tokens_max: config.output_tokens_max,
            temperature: config.temperature,
            began: entry.at,
            goal: 1,
            before: UsedBefore::default(),
            agents: agents.iter().map(|agent| agent.tool.clone()).collect(),
        }
    }

    /// A run has ended; what follows is another goal's.
    pub(crate) fn ended(&mut self, end: &RunEnded) {
        let (usage, cost) = end.used();
        let turns = end.turns;
        self.before = UsedBefore { turns, usage, cost };
    }

    /// The run goes on with another goal.
    pub(crate) fn goal_given(&mut self, entry: &Entry, given: &GoalGiven) {
        self.goal += 1;
        self.began = entry.at;
        if let Some(targets) = &given.targets {
            self.targets.clone_from(targets);
        }
    }
}

/// What the earlier goals of a run have used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UsedBefore {
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    pub(crate) cost: Money,
}

/// What has ended.
#[derive(Debug)]
pub(crate) enum EndedPart<'a> {
    Request(EndedRequest<'a>),
    Call(EndedCall<'a>),
    Turn {
        turn: u32,
        began: Millis,
        ended: Millis,
    },
    Run {
        end: &'a RunEnded,
        ended: Millis,
    },
}

/// A request to a model, with a reply or without.
#[derive(Debug)]
pub(crate) struct EndedRequest<'a> {
    pub(crate) turn: u32,
    /// The sequence number of the entry that began it: no two requests of a run have the same.
    pub(crate) seq: u64,
    pub(crate) target: &'a Target,
    pub(crate) began: Millis,
    pub(crate) ended: Millis,
    pub(crate) latency_ms: u64,
    pub(crate) outcome: RequestOutcome<'a>,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Money>,
}

#[derive(Debug)]
pub(crate) enum RequestOutcome<'a> {
    Replied {
        answer: &'a Answer,
        calls: &'a [Call],
        rejected: Option<RejectReason>,
    },
    Failed(&'a AttemptFailed),
}

/// A call that was executed, or is known to have been interrupted.
#[derive(Debug)]
pub(crate) struct EndedCall<'a> {
    pub(crate) turn: u32,
    pub(crate) began: Millis,
    pub(crate) ended: Millis,
    /// The provider's id of the call, where the decision is known.
    pub(crate) id: Option<&'a str>,
    pub(crate) finished: &'a ToolFinished,
    /// The run of the agent that was called.
    pub(crate) child: Option<RunId>,
}

/// As the log has it.
pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::TimedOut => "timed_out",
        Outcome::Interrupted => "interrupted",
    }
}
