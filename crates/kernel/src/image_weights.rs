//! What images count for in a run, whichever of its targets is asked.

use crate::config::{RunConfig, Target};
use crate::image::{Image, ImageInput};
use crate::model::Message;

/// How the targets of a run count images: each image counts for as much as at the target where it counts most.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImageWeights(Vec<ImageInput>);

impl ImageWeights {
    pub(crate) fn of(config: &RunConfig) -> Self {
        let input = |target: &Target| {
            target
                .accepts
                .as_ref()
                .map_or(ImageInput::Unknown, |it| it.images)
        };
        let mut inputs: Vec<ImageInput> = vec![];
        for input in config.targets.iter().map(input) {
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
        Self(inputs)
    }

    pub(crate) fn tokens(&self, images: &[Image]) -> u64 {
        let of = |image: &Image| {
            let inputs = self.0.iter();
            let most = inputs
                .map(|it| it.tokens(image.width(), image.height()))
                .max();
            most.unwrap_or_default()
        };
        images.iter().map(of).sum()
    }

    pub(crate) fn of_message(&self, message: &Message) -> u64 {
        self.tokens(message.images())
    }
}
