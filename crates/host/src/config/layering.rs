//! The one resolver of layers: which of them count, and how far.
//!
//! A named file counts whole, and its content is remembered. A found file is sifted: first as if nobody
//! trusted it; where nothing was left out nobody needs to be asked, and else the person decides with a
//! list of what it wants.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::path::Path;

use super::layer::Layer;
use super::options::Given;
use super::sift::{Sifted, sift};
use super::{ConfigError, Environment, KeyPath, Origin, Problems, pulled, tree, wants};
use crate::trust::{Trust, TrustExtent, Wants};

/// What came of it besides the layers.
#[derive(Default)]
pub(super) struct Layered {
    /// Approvals of layers that nobody trusts.
    pub(super) rules: Vec<Given>,
    /// What does not count of a layer, by its place.
    pub(super) left_out: Vec<(usize, Vec<KeyPath>)>,
}

/// Reduces each layer to what counts of it. They are in order, the highest first.
///
/// The problems of all layers are collected; none of them counts then.
pub(super) fn resolve(
    layers: &mut [Layer],
    environment: &Environment,
    cwd: &Path,
    trust: &Trust,
) -> Result<Layered, Problems> {
    let mut done = Layered::default();
    let mut problems = vec![];
    // From below: a layer is held against everything that lies under it, and against all that the person says.
    for index in (0..layers.len()).rev() {
        let origin = layers[index].origin;
        if origin != Origin::Own {
            pulled::pull(&mut layers[index], environment, cwd);
        }
        let decided = match origin {
            Origin::Own => continue,
            Origin::Named => named(&layers[index], trust),
            Origin::Found => {
                found(layers, index, trust).map(|sifted| apply(layers, index, sifted, &mut done))
            }
        };
        if let Err(problem) = decided {
            problems.push(problem);
        }
    }
    Problems::none_of(problems)?;
    Ok(done)
}

/// The content is noted, so that the same file counts when the run is taken up.
fn named(layer: &Layer, trust: &Trust) -> Result<(), ConfigError> {
    let named = trust.name(&layer.contents);
    named.map_err(ConfigError::Untrusted)
}

/// What counts of a layer that was found. The person is asked only where it wants more than to tighten.
///
/// What tightens is held against everything below it; what is trusted only against the person's own
/// files, which bound it all the same.
fn found(
    layers: &[Layer],
    index: usize,
    trust: &Trust,
) -> Result<(TrustExtent, Sifted), ConfigError> {
    let below = tree::merge(layers, |at, layer| at > index || layer.origin.is_persons());
    let layer = &layers[index];
    let tightened = sift(&layer.value, TrustExtent::Tightening, &below);
    if tightened.more.is_empty() {
        return Ok((TrustExtent::Tightening, tightened));
    }
    let wants = wants::wants(layer, &tightened.more);
    let held = trust
        .decide(&layer.contents, &wants)
        .map_err(ConfigError::Untrusted)?;
    if held == TrustExtent::Tightening {
        return Ok((held, tightened));
    }
    let own = tree::merge(layers, |_, layer| layer.origin.is_persons());
    Ok((held, sift(&layer.value, held, &own)))
}

/// The layer's value becomes what counts of it, before the next higher one is held against it.
fn apply(
    layers: &mut [Layer],
    index: usize,
    (held, sifted): (TrustExtent, Sifted),
    done: &mut Layered,
) {
    let layer = &mut layers[index];
    layer.value = sifted.value;
    layer.held = held;
    let place = format!("{}, defaults.approvals", layer.file.display());
    let rules = sifted.rules.into_iter();
    done.rules.extend(rules.map(|value| Given {
        value,
        place: place.clone(),
    }));
    done.left_out.push((index, sifted.more));
}

/// What each found layer of these wants beyond tightening, whoever trusts it.
pub(super) fn wanted(layers: &[Layer]) -> Vec<(usize, Wants)> {
    let found = layers
        .iter()
        .enumerate()
        .filter(|(_, it)| it.origin == Origin::Found);
    let wanted = found.map(|(index, layer)| {
        let below = tree::merge(layers, |at, layer| at > index || layer.origin.is_persons());
        let tightened = sift(&layer.value, TrustExtent::Tightening, &below);
        (index, wants::wants(layer, &tightened.more))
    });
    wanted.collect()
}
