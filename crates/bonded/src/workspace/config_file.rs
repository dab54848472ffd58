//! The settings of `config.json` that the server itself needs.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::site::Settings;
use crate::error::{CliError, Code};

/// Where the server listens where nobody says otherwise: on this machine only.
pub(crate) const LISTEN: &str = "127.0.0.1:8130";

/// What was read, with what in it means nothing.
#[derive(Debug)]
pub(crate) struct ConfigRead {
    pub(crate) settings: Settings,
    pub(crate) listen: String,
    pub(crate) warnings: Vec<String>,
}

/// The file that a new directory begins with.
pub(crate) fn usual() -> String {
    let usual = json!({});
    format!("{usual:#}\n")
}

pub(crate) fn read(path: &Path) -> Result<ConfigRead, CliError> {
    let at = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::new(Code::Config, format!("{at}: {error}")))?;
    let config: Value = serde_json::from_str(&text).map_err(|error| {
        CliError::new(Code::Config, format!("CONFIG_JSON_INVALID: {at}: {error}"))
            .hint("correct the file, or remove it and start again: it is then made anew")
    })?;
    let number = |pointer: &str, usual: u64| {
        config
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or(usual)
    };
    let millis = |pointer, usual| Duration::from_millis(number(pointer, usual));
    let text = |pointer: &str, usual: &str| {
        let said = config.pointer(pointer).and_then(Value::as_str);
        said.unwrap_or(usual).to_owned()
    };
    Ok(ConfigRead {
        settings: Settings {
            request_timeout: millis("/server/request_timeout_ms", 15_000),
            body_bytes_max: (number("/server/max_request_body_mb", 16) as usize) << 20,
            writes_per_second_max: number("/server/writes_per_second_max", 500) as u32,
            secure_cookies: config.pointer("/security/secure_cookies") == Some(&Value::Bool(true)),
            search_mode: text("/search/default_mode", "hybrid"),
            has_embeddings: false,
            heartbeat: millis("/websocket/heartbeat_interval_ms", 10_000),
            client_timeout: millis("/websocket/client_timeout_ms", 30_000),
            replay_batch: number("/websocket/replay_batch_size", 200) as usize,
        },
        listen: text("/server/bind_addr", LISTEN),
        warnings: vec![],
    })
}
