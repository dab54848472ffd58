//! How a model is asked to choose its words, as far as it lets itself be told.

use bonded_kernel::{Accepts, Request};

/// What is said of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Knobs {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u32>,
}

impl Knobs {
    /// What was asked for and is accepted. A temperature that is too high becomes the highest.
    pub(super) fn of(request: &Request<'_>, accepts: &Accepts) -> Self {
        let sampling = &request.target.sampling;
        let finite = |value: &f64| value.is_finite();
        let asked = request.temperature.filter(finite);
        let temperature = asked
            .zip(accepts.temperature_max)
            .map(|(asked, max)| asked.min(max));
        let may_stand = temperature.is_none() || accepts.temperature_with_top_p;
        let top_p = sampling.top_p.filter(finite);
        Self {
            temperature,
            top_p: top_p.filter(|_| accepts.top_p && may_stand),
            top_k: sampling.top_k.filter(|_| accepts.top_k),
        }
    }
}
