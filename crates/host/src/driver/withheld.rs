//! What a provider says of a failure, where the run keeps nothing of what its model wrote.
//!
//! A run that keeps no text of its model must not keep it by way of an error either.

use bonded_kernel::{Failure, FailureClass};

/// Takes a provider's words away where they may quote the reply: servers that cannot make sense of what their model
/// wrote put it into their error. A request that was refused (4xx) has no reply.
pub(super) fn withhold(failure: &mut Failure) {
    let may_quote = matches!(failure.class, FailureClass::Model | FailureClass::Malformed);
    let is_refused = failure
        .status
        .is_some_and(|status| (400..500).contains(&status));
    if !may_quote || is_refused {
        return;
    }
    let status = failure.status.map(|status| format!(" (HTTP {status})"));
    failure.message = format!(
        "the provider failed{}; what it said is kept only with retain_full_conversation_logs",
        status.unwrap_or_default()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_may_quote_a_reply_are_taken_away() {
        let rows = [
            (FailureClass::Model, Some(500), false),
            (FailureClass::Model, None, false),
            (FailureClass::Malformed, None, false),
            (FailureClass::Model, Some(404), true),
            (FailureClass::Auth, Some(401), true),
            (FailureClass::Network, None, true),
        ];
        for (class, status, is_kept) in rows {
            let mut failure = Failure::new(class, "raw='the reply'");
            failure.status = status;
            withhold(&mut failure);
            let has_words = failure.message.contains("the reply");
            assert_eq!(has_words, is_kept, "{class:?} {status:?}");
        }
    }
}
