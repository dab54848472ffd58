//! How a run takes texts for tokens, and how much room it gives them in each of its models' windows.

use super::{Calibration, estimate, estimate_for};
use crate::config::{RunConfig, Target, Vocabulary};

/// Estimates texts in one unit for all targets of a run, and says what an estimate comes to at each of them.
#[derive(Clone, Debug)]
pub(crate) enum Gauge {
    /// As logs were written before there were measured tables.
    Bytewise,
    Measured {
        vocabulary: Vocabulary,
        /// By target; targets of one model share what its provider counted.
        models: Vec<usize>,
        calibrations: Vec<Calibration>,
    },
}

impl Gauge {
    /// `is_counted` says that whoever drives the run counts its texts with the vocabulary itself.
    pub(crate) fn of(config: &RunConfig, is_counted: bool) -> Self {
        if !config.edition.measures_tokens() {
            return Self::Bytewise;
        }
        let targets = &config.targets;
        let vocabulary = common_vocabulary(targets);
        let calibration = match is_counted {
            true => Calibration::of_counts(),
            false => Calibration::of(vocabulary),
        };
        let first_of = |target: &Target| targets.iter().position(|it| it.model == target.model);
        Self::Measured {
            vocabulary,
            models: targets.iter().filter_map(first_of).collect(),
            calibrations: vec![calibration; targets.len()],
        }
    }

    pub(crate) fn estimate(&self, text: &str) -> u64 {
        match self {
            Self::Bytewise => estimate(text),
            Self::Measured { vocabulary, .. } => estimate_for(text, *vocabulary),
        }
    }

    /// The room that a text needs at a target.
    pub(crate) fn room(&self, target: usize, estimated: u64) -> u64 {
        match self.calibration(target) {
            Some(calibration) => calibration.text(estimated),
            None => estimated,
        }
    }

    /// The room that a text needs at the target where it needs least.
    pub(crate) fn room_min(&self, estimated: u64) -> u64 {
        match self {
            Self::Bytewise => estimated,
            Self::Measured {
                models,
                calibrations,
                ..
            } => {
                let used = models.iter().filter_map(|it| calibrations.get(*it));
                let least = used.map(|it| it.text(estimated)).min();
                least.unwrap_or(estimated)
            }
        }
    }

    /// What a text took at least, at the providers that have counted it, that is estimated at so many tokens.
    pub(crate) fn at_least(&self, estimated: u64) -> u64 {
        match self {
            Self::Bytewise => estimated,
            Self::Measured { calibrations, .. } => {
                let least = calibrations.iter().map(|it| it.at_least(estimated));
                least.min().unwrap_or(estimated)
            }
        }
    }

    /// The provider of a target counted a request.
    pub(crate) fn counted(&mut self, target: u32, estimated: u64, reported: u64) {
        let Self::Measured {
            models,
            calibrations,
            ..
        } = self
        else {
            return;
        };
        let model = models.get(target as usize);
        if let Some(calibration) = model.and_then(|model| calibrations.get_mut(*model)) {
            calibration.counted(estimated, reported);
        }
    }

    fn calibration(&self, target: usize) -> Option<&Calibration> {
        match self {
            Self::Bytewise => None,
            Self::Measured {
                models,
                calibrations,
                ..
            } => calibrations.get(*models.get(target)?),
        }
    }
}

/// That of all targets whose windows are known; where they differ, nobody knows.
fn common_vocabulary(targets: &[Target]) -> Vocabulary {
    let mut windows = targets.iter().filter_map(|target| target.window);
    let first = windows.next().map(|window| window.vocabulary);
    let is_common = windows.all(|window| Some(window.vocabulary) == first);
    first.filter(|_| is_common).unwrap_or(Vocabulary::Unknown)
}
