//! Where the runs of a server wait for a worker, and whose they are there.

use bonded_host::Queueing;

use super::access::{Caller, Tokens};

/// Of a server that drives none of its runs.
#[derive(Debug)]
pub(super) struct RunQueue {
    pub(super) queueing: Queueing,
    pub(super) tokens: Tokens,
    /// Who runs the server.
    pub(super) person: String,
}

impl RunQueue {
    /// Who takes turns with others: the caller, by the name that their directory has, or the person who runs the server
    /// where nobody else was given a token.
    pub(super) fn submitter(&self, caller: Caller) -> String {
        match self.tokens.is_empty() || self.tokens.is_own() {
            true => self.person.clone(),
            false => caller.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bonded_host::agent::AgentTools;
    use bonded_host::config::Environment;
    use bonded_kernel::Hash;

    use super::*;

    #[test]
    fn each_token_that_was_given_out_is_a_submitter_of_its_own() {
        let submitter = |tokens: Tokens, of: &str| {
            let tools = AgentTools::new(Environment::default(), None);
            let queue = RunQueue {
                queueing: Queueing {
                    queue: "q".into(),
                    needs: vec![],
                    tools: Arc::new(tools),
                },
                tokens,
                person: "ana".into(),
            };
            queue.submitter(Caller(Hash::of(of.as_bytes())))
        };
        let given = || Tokens::new(["a", "b"]);
        assert_ne!(submitter(given(), "a"), submitter(given(), "b"));
        assert!(submitter(Tokens::new(["a"]), "a").starts_with("client-"));
        for own in [Tokens::default(), Tokens::own("a")] {
            assert_eq!(submitter(own, "a"), "ana");
        }
    }
}
