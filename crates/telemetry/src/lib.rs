//! Figures and traces of the runs that this process drives: what Prometheus reads, and what is sent by OTLP.
//!
//! Both follow from the entries that became durable, through one fold of the log ([`Telemetry`] is a
//! [`Watch`]). No text of a person, a model or a tool is in either: what is told is how often, how
//! long, how much, and under which of few names. It decides nothing, delays no run, and fails none.

#![warn(missing_docs)]

mod facts;
mod fold;
mod labels;
mod metrics;
mod otlp;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use bonded_host::{Watch, WatchedRun};

use fold::RunFold;
pub use metrics::{Metrics, QueueFigures};
pub use otlp::{BadSetting, Exporter, OtlpSettings, ProcessResource};

/// What watches the runs of a process.
#[derive(Debug, Default)]
pub struct Telemetry {
    /// Figures to be read, where they are served.
    pub metrics: Option<Arc<Metrics>>,
    /// Where traces are sent, if they are.
    pub traces: Option<Exporter>,
}

impl Telemetry {
    /// Whether nothing would come of watching.
    pub fn is_none(&self) -> bool {
        self.metrics.is_none() && self.traces.is_none()
    }

    /// Sends what is left of the traces, for so long at most.
    pub async fn flush(&self, patience: Duration) {
        if let Some(traces) = &self.traces {
            traces.flush(patience).await;
        }
    }
}

impl Watch for Telemetry {
    fn begin(&self) -> Box<dyn WatchedRun> {
        Box::new(RunFold::new(self.metrics.clone(), self.traces.clone()))
    }
}
