//! What the pages show to whoever has a token: the person who runs the server sees the whole store, and a client that was
//! given a token what this server did for it.

use std::sync::Arc;

use bonded_host::Host;
use bonded_kernel::{Entry, RunId};
use bonded_state::{Listed, Store};
use futures_util::future::BoxFuture;

use super::access::Tokens;
use super::own::{Apart, Own};
use crate::console::ConsoleDoor;
use crate::console::access::{Access, Deed, Sight, TokenAccess, WholeStore, root_of};
use crate::console::refusal::ConsoleRefusal;

/// Knows whose tokens there are, and what each may see.
pub struct TokenKeeper {
    tokens: Tokens,
    apart: Apart,
    /// Who runs the server.
    person: String,
    store: Arc<dyn Store>,
}

impl std::fmt::Debug for TokenKeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TokenKeeper").field(&self.tokens).finish()
    }
}

impl TokenKeeper {
    /// `person` runs the server.
    pub fn new(tokens: Tokens, apart: Apart, person: String, store: Arc<dyn Store>) -> Self {
        Self {
            tokens,
            apart,
            person,
            store,
        }
    }

    /// Whether there are no tokens at all.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The door of the pages that these tokens open.
    pub fn into_door(self) -> ConsoleDoor {
        ConsoleDoor::with_tokens(Box::new(self))
    }
}

impl TokenAccess for TokenKeeper {
    fn is_own(&self) -> bool {
        self.tokens.is_own()
    }

    fn access(&self, token: &str) -> Result<Access, ConsoleRefusal> {
        let caller = self.tokens.holder(token.trim().as_bytes());
        let wrong = || ConsoleRefusal::unauthorised("this token is not valid");
        let caller = caller.ok_or_else(wrong)?;
        if self.is_own() {
            return Ok(Access {
                person: self.person.clone(),
                sight: Arc::new(WholeStore),
            });
        }
        let sight: Arc<dyn Sight> = match self.apart.own(caller) {
            Some(own) => Arc::new(OwnRuns(own)),
            None => Arc::new(ServedRuns(self.store.clone())),
        };
        Ok(Access {
            person: caller.name(),
            sight,
        })
    }
}

/// The runs that a client began, where clients are kept apart.
struct OwnRuns(Own);

impl Sight for OwnRuns {
    fn permits<'a>(
        &'a self,
        run: &'a Listed,
        _: Deed,
    ) -> BoxFuture<'a, Result<(), ConsoleRefusal>> {
        let permitted = match self.0.has(root_of(run)) {
            true => Ok(()),
            false => Err(ConsoleRefusal::no_run(run.run.as_str())),
        };
        Box::pin(std::future::ready(permitted))
    }

    fn draw_id(&self) -> RunId {
        self.0.draw_id()
    }

    fn has_work(&self) -> bool {
        false
    }
}

/// The runs that clients of a server began, where they share everything: none of the person's own.
struct ServedRuns(Arc<dyn Store>);

impl ServedRuns {
    async fn check(&self, run: &Listed) -> Result<(), ConsoleRefusal> {
        let root = root_of(run);
        let is_served = match &run.ends {
            Ok(ends) if *root == run.run => is_served(&ends.first),
            Ok(_) => {
                let first = self.0.load_part(root, 0, 1).await?;
                first.first().is_some_and(is_served)
            }
            // Whose it was is not known any more.
            Err(_) => false,
        };
        match is_served {
            true => Ok(()),
            false => Err(ConsoleRefusal::no_run(run.run.as_str())),
        }
    }
}

fn is_served(first: &Entry) -> bool {
    let started = first.event.started();
    started.is_some_and(|it| it.config.served.is_some())
}

impl Sight for ServedRuns {
    fn permits<'a>(
        &'a self,
        run: &'a Listed,
        _: Deed,
    ) -> BoxFuture<'a, Result<(), ConsoleRefusal>> {
        Box::pin(self.check(run))
    }

    fn draw_id(&self) -> RunId {
        Host::draw_id()
    }

    fn has_work(&self) -> bool {
        false
    }
}
