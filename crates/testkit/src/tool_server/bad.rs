//! How the tool server of the tests misbehaves.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Fault, append, sleep};

/// Does not come up, in one way or another.
pub(super) fn start_badly(fault: &str) -> Result<(), Fault> {
    let mut stdout = std::io::stdout().lock();
    match fault {
        "crash" => return Err("there is no such database".into()),
        "garbage" => stdout.write_all(&[b"\xff\x00{]".repeat(1000), b"\n".to_vec()].concat())?,
        "drip" => drip(&mut stdout),
        _ => {}
    }
    stdout.flush()?;
    sleep(u64::MAX);
    Ok(())
}

/// An answer of which a byte comes now and then, for ever.
fn drip(stdout: &mut impl Write) {
    let begin = br#"{"jsonrpc":"2.0","id":0,"result":{""#.iter();
    for byte in begin.chain(std::iter::repeat(&b'x')) {
        if stdout
            .write_all(&[*byte])
            .and_then(|()| stdout.flush())
            .is_err()
        {
            return;
        }
        sleep(20);
    }
}

/// A child in the same group that only SIGKILL ends. Its number is told on stderr.
pub(super) fn start_stubborn_child() -> Result<(), Fault> {
    let script = "trap '' TERM; while :; do sleep 1000 & wait; done";
    let child = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    append("LOG_FILE", &format!("child {}", child.id()))
}

/// Prints more than anybody wants: one endless line, endless lines, an endless result, an answer that drips,
/// endless notifications or endless requests.
pub(super) fn flood(kind: &str) -> Result<Value, String> {
    if kind == "drip" {
        drip(&mut std::io::stdout().lock());
    }
    if kind == "result" {
        let begin = br#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":""#;
        let _ = std::io::stdout().lock().write_all(begin);
    }
    let piece = match kind {
        "result" => "y".repeat(1 << 16),
        "notifications" => format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
        )
        .repeat(1000),
        "line" => "x".repeat(1 << 16),
        "lines" => format!("{}\n", "x".repeat(1 << 12)).repeat(16),
        _ => format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
        )
        .repeat(1000),
    };
    let mut stdout = std::io::stdout().lock();
    while stdout.write_all(piece.as_bytes()).is_ok() {}
    Err("nobody reads any more".into())
}
