//! The figures of a workspace's server are for the owner of the installation, and for those who have a token for them.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use bonded_workspace_rules::Code;
use futures_util::future::BoxFuture;

use super::access;
use super::site::Site;
use crate::agents::Tokens;
use crate::json_api::refusal::{ApiRefusal, refused};
use crate::operations::FiguresDoor;

pub(super) struct OwnerDoor {
    /// For the figures alone.
    pub(super) own: Tokens,
    pub(super) site: Arc<Site>,
}

impl OwnerDoor {
    async fn check(&self, headers: &HeaderMap) -> Result<(), ApiRefusal> {
        if !self.own.is_empty() && self.own.caller(headers).is_ok() {
            return Ok(());
        }
        let caller = access::caller(&self.site, headers, false).await?;
        match caller.is_owner {
            true => Ok(()),
            false => {
                let message = "the figures are for the owner of the installation";
                Err(ApiRefusal::new(Code::RoleForbidden, message))
            }
        }
    }
}

impl FiguresDoor for OwnerDoor {
    fn admit<'a>(&'a self, headers: &'a HeaderMap) -> BoxFuture<'a, Result<(), Response>> {
        Box::pin(async move {
            let checked = self.check(headers).await;
            checked.map_err(|refusal| refused(headers, &refusal))
        })
    }
}
