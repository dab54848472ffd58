//! A small MCP server on stdin and stdout, for tests: some of its tools behave, and some misbehave on purpose.
//!
//! Variables steer it: `START_DELAY_MS` waits before it answers `initialize`, `PAGE` lists so many tools on a
//! page, `NOISE` prints lines that are no messages, `EXTRA_TOOLS` is a JSON array of tools that are listed
//! too and `EXTRA_TOOLS_FILE` a file with one, `IGNORE_TERM` starts a child that outlives SIGTERM, `STAY` does
//! not end with its stdin, `COUNT_FILE` and `LOG_FILE` are files that executions and notifications are
//! appended to, `SPAN_FILE` one that slow calls are appended to as they begin and end, `PROTOCOL` is the version that it speaks, and `FAULT` is how the start goes wrong: `silence`,
//! `garbage`, `drip` or `crash`.

mod bad;

use std::fs::OpenOptions;
use std::io::{BufRead as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bonded_kernel::Image;
use serde_json::{Value, json};

use crate::stores::logs::PIXEL;

pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Says to a program of tests that it is to be a tool server.
const ASKED: &str = "BONDED_TEST_TOOL_SERVER";

/// The configuration of a tool server with these variables. It must be a program: that of the test is at hand, and
/// everything in it is known to be built. The test of this name, which serves, is one of its own.
pub fn of_this_program(test: &str, env: &Value) -> Value {
    let program = std::env::current_exe().expect("a test knows its program");
    let mut env = env.clone();
    env[ASKED] = json!("1");
    let args = [
        "--exact",
        test,
        "--nocapture",
        "--quiet",
        "--test-threads=2",
    ];
    json!({ "type": "stdio", "command": program, "args": args, "env": env })
}

/// Serves where this program was started as a tool server.
pub fn serve_where_it_is_asked_to() {
    if std::env::var_os(ASKED).is_some() {
        serve().expect("a tool server ends with its input");
    }
}

/// Serves until its stdin closes.
pub fn serve() -> Result<(), Fault> {
    if std::env::var_os("IGNORE_TERM").is_some() {
        bad::start_stubborn_child()?;
    }
    if let Some(fault) = variable("FAULT") {
        return bad::start_badly(&fault);
    }
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if message["id"].is_null() {
            append("LOG_FILE", &format!("{method} {}", message["params"]))?;
            continue;
        }
        match (method.as_str(), message["params"]["name"].as_str()) {
            // Blocks the loop, so that nothing is answered any more.
            ("tools/call", Some("hang")) => sleep(u64::MAX),
            // Each call has its own thread: a slow one holds up nobody.
            ("tools/call", _) => drop(std::thread::spawn(move || answer_call(&message))),
            _ => answer(&message["id"], &method_result(&method, &message["params"]))?,
        }
    }
    if std::env::var_os("STAY").is_some() {
        sleep(u64::MAX);
    }
    Ok(())
}

fn sleep(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Appends a line to the file that a variable names, if it names one.
fn append(variable_name: &str, line: &str) -> Result<(), Fault> {
    if let Some(path) = variable(variable_name) {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{line}\n").as_bytes())?;
    }
    Ok(())
}

/// `Ok` is a result, `Err` the message of an error.
fn method_result(method: &str, params: &Value) -> Result<Value, String> {
    let version = variable("PROTOCOL");
    let is_newest = version.as_deref() == Some("2026-07-28");
    match method {
        "server/discover" if is_newest => Ok(json!({
            "resultType": "complete",
            "supportedVersions": [version],
            "capabilities": { "tools": {} },
            "ttlMs": 0,
            "cacheScope": "private",
        })),
        "initialize" if !is_newest => {
            sleep(variable("START_DELAY_MS").map_or(0, |ms| ms.parse().unwrap_or(0)));
            Ok(json!({
                "protocolVersion": version.map_or(params["protocolVersion"].clone(), Value::from),
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "tool_server", "version": "1" },
            }))
        }
        "ping" => Ok(json!({})),
        "tools/list" => Ok(list(params["cursor"].as_str())),
        other => Err(format!("there is no method {other:?}")),
    }
}

fn list(cursor: Option<&str>) -> Value {
    let mut tools = tools();
    let in_file = variable("EXTRA_TOOLS_FILE").and_then(|file| std::fs::read_to_string(file).ok());
    for text in [variable("EXTRA_TOOLS"), in_file].into_iter().flatten() {
        if let Ok(Value::Array(extra)) = text.parse() {
            tools.extend(extra);
        }
    }
    let from = cursor.map_or(0, |cursor| cursor.parse().unwrap_or(0));
    let page = variable("PAGE").map_or(usize::MAX, |page| page.parse().unwrap_or(1));
    let until = tools.len().min(from + page.min(tools.len()));
    let mut result = json!({ "tools": tools[from.min(until)..until] });
    if until < tools.len() {
        result["nextCursor"] = json!(until.to_string());
    }
    result
}

fn tools() -> Vec<Value> {
    let takes = |field: &str, kind: &str| {
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": { field: { "type": kind } },
            "required": [field],
        })
    };
    let nothing = json!({ "type": "object", "properties": {} });
    let tool = |name: &str, schema: &Value, hints: Value| {
        let description = format!("The tool {name} of the tests.");
        json!({ "name": name, "description": description, "inputSchema": schema, "annotations": hints })
    };
    let read = json!({ "readOnlyHint": true });
    vec![
        tool("test", &takes("text", "string"), read.clone()),
        tool(
            "test-summary",
            &takes("value", "string"),
            json!({ "idempotentHint": true }),
        ),
        tool("slow", &takes("ms", "integer"), read.clone()),
        tool("count", &nothing, json!({})),
        tool("crash", &nothing, json!({})),
        tool("crash-once", &nothing, read.clone()),
        tool("crash-after", &nothing, json!({})),
        tool("announce", &nothing, read.clone()),
        tool("progress", &nothing, read.clone()),
        tool("note", &takes("text", "string"), read.clone()),
        tool("peak", &nothing, read.clone()),
        tool("hang", &nothing, json!({})),
        tool("flood", &takes("kind", "string"), json!({})),
        tool("env", &nothing, read.clone()),
        tool("pid", &nothing, read.clone()),
        tool("picture", &nothing, read.clone()),
        tool("meta", &nothing, read),
    ]
}

fn answer_call(message: &Value) {
    let arguments = &message["params"]["arguments"];
    let name = message["params"]["name"].as_str().unwrap_or_default();
    let result = call(name, arguments, &message["params"]["_meta"]);
    // If stdout is closed, nobody waits for the answer.
    let _ = answer(&message["id"], &result);
}

fn call(name: &str, arguments: &Value, meta: &Value) -> Result<Value, String> {
    let text = |text: String| Ok(json!({ "content": [{ "type": "text", "text": text }] }));
    match name {
        "test" => test(arguments["text"].as_str().unwrap_or_default()),
        "test-summary" => text(format!(
            "summary: {}",
            arguments["value"].as_str().unwrap_or_default()
        )),
        "slow" => {
            let ms = arguments["ms"].as_u64().unwrap_or_default();
            append("SPAN_FILE", "begin").map_err(|fault| fault.to_string())?;
            sleep(ms);
            append("SPAN_FILE", "end").map_err(|fault| fault.to_string())?;
            text(format!("slept {ms} ms"))
        }
        "count" => {
            append("COUNT_FILE", "executed").map_err(|fault| fault.to_string())?;
            let path = variable("COUNT_FILE").ok_or("COUNT_FILE is not set")?;
            let lines = std::fs::read_to_string(path).map_err(|fault| fault.to_string())?;
            text(lines.lines().count().to_string())
        }
        "crash" => {
            let _ = writeln!(std::io::stderr(), "it is time to crash");
            std::process::abort()
        }
        // The first execution of all crashes; the others say how many there were.
        "crash-once" => match call("count", arguments, meta) {
            Ok(first) if first["content"][0]["text"] == "1" => std::process::abort(),
            other => other,
        },
        "crash-after" => {
            std::thread::spawn(|| {
                sleep(100);
                std::process::abort()
            });
            text("soon".into())
        }
        "announce" => {
            notify("notifications/tools/list_changed", &json!({}));
            text("announced".into())
        }
        "progress" => {
            for progress in 1..=3 {
                let token = &meta["progressToken"];
                let params = json!({ "progressToken": token, "progress": progress, "total": 3 });
                notify("notifications/progress", &params);
                sleep(150);
            }
            text("done".into())
        }
        "note" => {
            let line = arguments["text"].as_str().unwrap_or_default();
            append("COUNT_FILE", line).map_err(|fault| fault.to_string())?;
            text("noted".into())
        }
        "peak" => text(peak().to_string()),
        "flood" => bad::flood(arguments["kind"].as_str().unwrap_or_default()),
        "env" => {
            let variables: std::collections::BTreeMap<String, String> = std::env::vars().collect();
            Ok(json!({ "content": [], "structuredContent": variables }))
        }
        "pid" => text(std::process::id().to_string()),
        "picture" => Ok(json!({ "content": [
            { "type": "image", "mimeType": "image/png", "data": "A".repeat(4000) },
            { "type": "image", "mimeType": "image/jpeg", "data": pixel().base64() },
        ] })),
        "meta" => text(meta.to_string()),
        other => Err(format!("there is no tool {other:?}")),
    }
}

/// A PNG, whatever it is called.
fn pixel() -> Image {
    Image::read(PIXEL).expect("a pixel is an image")
}

/// Echoes, unless the text is one of the triggers.
fn test(text: &str) -> Result<Value, String> {
    let mut is_error = false;
    let answer = match text {
        "trigger-mcp-failure" => {
            is_error = true;
            "the failure that was asked for".into()
        }
        "trigger-timeout" => {
            sleep(1500);
            text.into()
        }
        "long-output" => "#".repeat(3200),
        "context-guard-600" => "@".repeat(1200),
        "nothing" => return Ok(json!({ "content": [] })),
        echoed => echoed.into(),
    };
    Ok(json!({ "content": [{ "type": "text", "text": answer }], "isError": is_error }))
}

/// How many executions of this there were at once, at most.
fn peak() -> usize {
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let now = NOW.fetch_add(1, Ordering::SeqCst) + 1;
    MOST.fetch_max(now, Ordering::SeqCst);
    sleep(2);
    NOW.fetch_sub(1, Ordering::SeqCst);
    MOST.load(Ordering::SeqCst)
}

/// If stdout is closed, nobody listens.
fn notify(method: &str, params: &Value) {
    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    let _ = std::io::stdout()
        .lock()
        .write_all(format!("{message}\n").as_bytes());
}

fn answer(id: &Value, result: &Result<Value, String>) -> Result<(), Fault> {
    let message = match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(why) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": why } })
        }
    };
    let noise = if std::env::var_os("NOISE").is_some() {
        "Debugger listening\n"
    } else {
        ""
    };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("{noise}{message}\n").as_bytes())?;
    stdout.flush()?;
    Ok(())
}
