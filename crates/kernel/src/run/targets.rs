//! How the targets of a run are doing: the attempts of the turn under way, and what their refusals taught.

use crate::config::{RunConfig, Target};
use crate::context;
use crate::lesson::{Lesson, Lessons};
use crate::profile::Profile;
use crate::retry::Attempts;

/// The targets of a run, as they are spoken to by now.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    pub(crate) attempts: Attempts,
    pub(crate) lessons: Lessons,
}

impl Targets {
    pub(super) fn begin(config: &RunConfig) -> Self {
        let pools_keys = Profile::of(config).conduct().pools_keys;
        Self {
            attempts: Attempts::new(&config.targets, pools_keys),
            lessons: Lessons::default(),
        }
    }

    /// A target as it is spoken to by now.
    pub(super) fn get<'a>(&'a self, config: &'a RunConfig, index: u32) -> Option<&'a Target> {
        let taught = self.lessons.taught(index);
        taught.or_else(|| config.targets.get(index as usize))
    }

    /// The targets as they are spoken to by now.
    pub(super) fn all<'a>(&'a self, config: &'a RunConfig) -> impl Iterator<Item = &'a Target> {
        (0..config.targets.len() as u32).filter_map(|index| self.get(config, index))
    }

    /// Whether the window of a target is known, from the beginning or by now.
    pub(super) fn is_guarded(&self, config: &RunConfig) -> bool {
        context::is_guarded(config) || self.lessons.has_window()
    }

    /// Speaks to a target as a lesson says from now on. Says whether there is such a target.
    pub(super) fn teach(&mut self, config: &RunConfig, index: u32, lesson: &Lesson) -> bool {
        let Some(mut target) = self.get(config, index).cloned() else {
            return false;
        };
        lesson.teach(&mut target);
        self.lessons.add(index, lesson.clone(), target);
        true
    }
}
