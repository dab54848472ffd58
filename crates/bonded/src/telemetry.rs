//! What watches the runs of this process: figures where they are served, traces where the variables of OpenTelemetry say so.
//! Elsewhere nothing is watched, and nothing is spent on it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bonded_host::Watch;
use bonded_telemetry::{Exporter, Metrics, OtlpSettings, Telemetry};

use crate::args::variable;
use crate::masking;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long a receiver of traces may take for the last of them.
const LAST_TRACES: Duration = Duration::from_secs(2);

/// Empty until the first run may be driven, or figures are wanted.
static TELEMETRY: OnceLock<Arc<Telemetry>> = OnceLock::new();

/// Counts from now on. To be called before anything drives runs.
pub(crate) fn measure() -> Arc<Metrics> {
    let metrics = Arc::new(Metrics::new(VERSION));
    let telemetry = TELEMETRY.get_or_init(|| Arc::new(begin(Some(metrics.clone()))));
    telemetry.metrics.clone().unwrap_or(metrics)
}

/// What the runs of a host are watched by.
pub(crate) fn watch() -> Option<Arc<dyn Watch>> {
    let telemetry = TELEMETRY.get_or_init(|| Arc::new(begin(None)));
    (!telemetry.is_none()).then(|| telemetry.clone() as Arc<dyn Watch>)
}

/// Sends what is left of the traces.
pub(crate) async fn flush() {
    if let Some(telemetry) = TELEMETRY.get() {
        telemetry.flush(LAST_TRACES).await;
    }
}

/// What is wrong with the variables is reported, and keeps nothing from running.
fn begin(metrics: Option<Arc<Metrics>>) -> Telemetry {
    let traces = traces(metrics.clone()).unwrap_or_else(|why| {
        tracing::warn!("warning: no traces are sent: {why}");
        None
    });
    Telemetry { metrics, traces }
}

fn traces(metrics: Option<Arc<Metrics>>) -> Result<Option<Exporter>, String> {
    let process = std::process::id().to_string();
    let defaults = [
        ("service.name", "bonded"),
        ("service.version", VERSION),
        ("process.pid", process.as_str()),
    ];
    let settings = OtlpSettings::from_variables(&variable, &defaults);
    let Some(settings) = settings.map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    for secret in settings.secrets() {
        masking::hide(&secret, "a header for traces");
    }
    Exporter::start(settings, VERSION, metrics).map(Some)
}
