//! The one transport that a host needs: it goes by the provider that each target names.
//!
//! The choice is made by one name and by nothing else: `script` is a file on this machine, and everything else
//! is reached over HTTP. So a run that plays a script touches no network, whatever else its target says.

use std::fmt;

use bonded_kernel::{Failure, Price, Reply, Request, Target};
use futures_util::future::BoxFuture;

use crate::credentials::Credentials;
use crate::http::Http;
use crate::scripted::Scripts;
use crate::{Live, Transport};

/// The provider whose endpoint is a file; see [`Script`](crate::Script).
const SCRIPT: &str = "script";

/// Sends each request to the provider that its target names: `script` plays a file, every other provider
/// is asked in the dialect of the target.
pub struct Providers {
    http: Http,
    scripts: Scripts,
}

impl Providers {
    /// `credentials` says what each target's provider is shown. It is asked for every request, and what it
    /// gives is not kept.
    pub fn new(credentials: impl Fn(&Target) -> Credentials + Send + Sync + 'static) -> Self {
        Self {
            http: Http::new(Box::new(credentials)),
            scripts: Scripts::default(),
        }
    }

    /// Providers that are shown only keys: `variables` gives the value of the variable that a target's
    /// `key_env` names.
    pub fn from_variables(
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |target| Credentials::from_variable(target, &variables))
    }
}

/// What lies within could hold keys, so that nothing of it is shown.
impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").finish_non_exhaustive()
    }
}

impl Transport for Providers {
    fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        if request.target.provider == SCRIPT {
            self.scripts.send(request)
        } else {
            self.http.send(request, None)
        }
    }

    /// A script plays each reply whole.
    fn send_live(
        &self,
        request: &Request<'_>,
        live: Box<dyn Live>,
    ) -> BoxFuture<'static, Result<Reply, Failure>> {
        if request.target.provider == SCRIPT {
            self.scripts.send(request)
        } else {
            self.http.send(request, Some(live))
        }
    }

    fn window(&self, target: &Target) -> BoxFuture<'static, Option<u64>> {
        self.http.window(target)
    }

    fn price(&self, target: &Target) -> BoxFuture<'static, Option<Price>> {
        self.http.price(target)
    }
}
