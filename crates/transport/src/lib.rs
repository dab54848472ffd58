//! Requests to models: turns a [`Request`] into wire, sends it, and turns what comes back into a [`Reply`]
//! or a classed [`Failure`].
//!
//! It never retries, chooses no target, executes nothing, reads no run state, writes no log, and puts no
//! key into a message. Whether a failure is tried again is the kernel's decision alone.
//!
//! [`Providers`] is what a host uses. The wire formats lie under [`dialect`] as pure functions, and
//! [`Script`] plays replies from a file, so that a run can be tried without any model. [`Embeddings`] asks what texts
//! mean.

#![warn(missing_docs)]

mod address;
mod body;
mod clients;
mod credentials;
pub mod dialect;
mod embeddings;
mod exchange;
mod failure;
mod health;
mod http;
mod live;
pub mod models;
mod money;
mod offered;
mod providers;
mod retry_after;
mod script;
mod scripted;
mod secret;
pub mod tokens;
mod window;

use bonded_kernel::{Failure, Price, Reply, Request, Target};
use futures_util::future::BoxFuture;

pub use address::is_local;
pub use body::{BODY_BYTES_MAX, Cut};
pub use credentials::Credentials;
pub use embeddings::Embeddings;
pub use health::{Health, check_health};
pub use live::{Live, Writing};
pub use offered::{OfferedModel, offered};
pub use providers::Providers;
pub use script::{Script, ScriptError, ScriptedAnswer};
pub use secret::Secret;
pub use window::{ROUTER, tells_window};

/// Something that can put a request to a model.
pub trait Transport: Send + Sync {
    /// Serialises the request now; the future sends it and waits for the answer. Each future sends at
    /// most one request. Dropping it aborts the request.
    fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>>;

    /// Sends like [`send`](Self::send), and lets somebody hear the text while it arrives. A transport whose
    /// replies come whole has nothing to be heard.
    fn send_live(
        &self,
        request: &Request<'_>,
        live: Box<dyn Live>,
    ) -> BoxFuture<'static, Result<Reply, Failure>> {
        drop(live);
        self.send(request)
    }

    /// How much the model of a target takes in, as its server says; `None` where it does not say. Never takes long.
    fn window(&self, target: &Target) -> BoxFuture<'static, Option<u64>> {
        let _ = target;
        Box::pin(std::future::ready(None))
    }

    /// What the model of a target costs, as its endpoint lists it; `None` where it does not. Never takes long.
    fn price(&self, target: &Target) -> BoxFuture<'static, Option<Price>> {
        let _ = target;
        Box::pin(std::future::ready(None))
    }
}
