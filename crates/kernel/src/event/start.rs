//! How a run began.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::RunConfig;
use crate::hash::Hash;
use crate::id::RunId;
use crate::image::Image;
use crate::policy;
use crate::text::Text;
use crate::tool::Catalog;

/// Everything that a run depends on and no later event says: the first event of every log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// What the person asked for: the first message of the conversation.
    pub goal: Text,
    /// The system text, with what the policy has to add to it.
    pub system: Text,
    /// The settings, frozen: a change of the configuration does not reach a run that has begun.
    pub config: RunConfig,
    /// The catalogue as JSON; see [`Catalog::from_recorded`].
    tools: Text,
    /// The run whose first turns this one has, where it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// What the host's tokenizer counted, where it knows the models' vocabularies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<SeedTokens>,
    /// Why the run ends before its first turn: the host could not give it what it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Text>,
    /// The program that began the run, with its version, where the host says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Arc<str>>,
    /// Whether it waits until another process takes it up: nothing is begun with its start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// What goes with the goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    #[serde(skip)]
    catalog: Option<Catalog>,
}

impl RunStarted {
    /// What [`start`](crate::start) takes. The system text is completed with what the policy demands.
    pub fn new(goal: Text, system: Text, mut config: RunConfig, catalog: Catalog) -> Self {
        config.own_tools.search = catalog.defers();
        Self {
            goal,
            system: policy::explained(system, config.policy.as_deref()),
            config,
            tools: catalog.text().clone(),
            forked_from: None,
            counted: None,
            refused: None,
            program: None,
            queued: false,
            images: vec![],
            catalog: Some(catalog),
        }
    }

    /// The tools; absent only where the event was read without its entry.
    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    pub(crate) fn recorded_tools(&self) -> &Text {
        &self.tools
    }

    pub(crate) fn set_catalog(&mut self, catalog: Catalog) {
        self.catalog = Some(catalog);
    }

    /// Every text that may lie in a blob.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        let own = [&mut self.goal, &mut self.system, &mut self.tools];
        let settings = self.config.texts_mut();
        own.into_iter().chain(&mut self.refused).chain(settings)
    }
}

/// Where a forked run was taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The run that it was taken from.
    pub run: RunId,
    /// The turn before whose first request it was taken.
    pub turn: u32,
    /// The hash of the last entry that was taken over.
    pub head: Hash,
    /// How many entries were taken over; a replay takes them as given.
    pub entries: u64,
}

/// The tokens of what a run begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedTokens {
    /// The system text and the goal.
    pub conversation: u64,
    /// All tools of the catalogue.
    pub schema: u64,
}
