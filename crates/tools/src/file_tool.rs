//! The shape of a tool that works on files: parse, then work outside the async threads.

use std::sync::Arc;

use bonded_kernel::{Invocation, ToolSpec};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::ToolFault;
use crate::sandbox::Approval;
use crate::task::{Cancel, blocking};
use crate::tool::{Tool, ToolValue, parse};
use crate::workdir::Workdir;

/// A tool whose calls take arguments of type `A`.
pub(crate) struct FileTool<A> {
    pub(crate) spec: ToolSpec,
    pub(crate) workdir: Arc<Workdir>,
    pub(crate) work: fn(&FileJob<'_>, &A) -> Result<Value, ToolFault>,
}

/// What a call works with.
pub(crate) struct FileJob<'a> {
    pub(crate) workdir: &'a Workdir,
    pub(crate) call: &'a Invocation,
    pub(crate) cancel: &'a Cancel,
}

impl<A: DeserializeOwned + Send + 'static> Tool for FileTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn stays_in_place(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move {
            let arguments: A = parse(arguments)?;
            let (workdir, call, work) = (Arc::clone(&self.workdir), call.clone(), self.work);
            let job = move |cancel: &Cancel| {
                let is_approved = call.approved();
                let _approval = is_approved.then(|| Approval::begin(workdir.real()));
                let job = FileJob {
                    workdir: &workdir,
                    call: &call,
                    cancel,
                };
                work(&job, &arguments)
            };
            Ok(blocking(job).await?.into())
        })
    }
}
