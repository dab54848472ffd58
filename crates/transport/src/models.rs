//! What is known of models and of the services that run them: a table, by the model's name and the service's.

use std::borrow::Cow;

use bonded_kernel::{Accepts, Target};

/// What the model of a target and its service accept: as the run has it, else as it is known here.
pub fn accepted_by(target: &Target) -> Cow<'_, Accepts> {
    match &target.accepts {
        Some(accepts) => Cow::Borrowed(accepts),
        None => Cow::Owned(known(target)),
    }
}

/// What is known here of a target's model and service.
pub fn known(_target: &Target) -> Accepts {
    Accepts::default()
}
