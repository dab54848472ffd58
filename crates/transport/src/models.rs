//! What is known of models and of the services that run them: tables by the model's name, by where the service is, and
//! of listed prices and windows by the exact name. A configuration counts more than they do, and what a service refuses is learned; see
//! [`Lesson`](bonded_kernel::Lesson).

mod family;
pub(crate) mod glob;
mod listed;
mod service;

pub(crate) use family::bare;
pub use family::{FAMILIES, Family};
pub use listed::{ModelRow, listed_by, listed_on, listed_price, listed_price_behind};
pub use service::{SERVICES, Service};

/// The family of a model by its name.
pub fn family(model: &str) -> Option<&'static Family> {
    Family::of(model)
}

/// How much a model takes in, where it is asked at a service: as it is listed there by this very name, else the least that
/// one of its family takes. A server of one's own has the window that it was started with.
pub fn window(endpoint: &str, model: &str) -> Option<u64> {
    Service::at(endpoint)?;
    let listed = ModelRow::at(endpoint, model).and_then(|listed| listed.window);
    listed.or_else(|| family(model)?.window)
}

#[cfg(test)]
mod tests;
