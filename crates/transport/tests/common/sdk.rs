//! The checker of requests, which has the official SDKs' types and knows what services refuse.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{LazyLock, Mutex};

use bonded_kernel::{Dialect, Target};
use serde_json::{Map, Value, json};

pub(crate) use bonded_installed::judge;

pub(crate) const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// What the checker prints, and whether it found nothing to refuse.
pub(crate) fn check(lines: &[String]) -> Option<(bool, String)> {
    let mut child = judge()?
        .arg("check.py")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the SDKs' interpreter can be started");
    let mut stdin = child.stdin.take().expect("it is piped");
    let text = lines.join("\n");
    let writing = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writing
        .join()
        .expect("writing does not panic")
        .expect("the checker reads everything");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    Some((output.status.success(), said))
}

/// A checker that answers each request at once, for as long as the tests of one program run.
struct Held {
    /// It ends when the program does, whose end closes what it reads.
    _child: Child,
    requests: ChildStdin,
    refusals: BufReader<ChildStdout>,
}

static HELD: LazyLock<Option<Mutex<Held>>> = LazyLock::new(|| {
    let mut child = judge()?
        .args(["check.py", "--each"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the SDKs' interpreter can be started");
    let requests = child.stdin.take().expect("it is piped");
    let refusals = child.stdout.take().expect("it is piped");
    Some(Mutex::new(Held {
        _child: child,
        requests,
        refusals: BufReader::new(refusals),
    }))
});

impl Held {
    fn refusals(&mut self, request: &Value) -> String {
        writeln!(self.requests, "{request}").expect("the checker reads everything");
        let mut line = String::new();
        let read = self.refusals.read_line(&mut line);
        assert!(
            read.is_ok_and(|count| count > 0),
            "the checker ended at {request}"
        );
        line
    }
}

/// Holds a body to the official type of its dialect: no field beyond it but those of the configuration, and those that a
/// service documents.
#[track_caller]
pub(crate) fn hold(target: &Target, body: &Value) {
    let Some(held) = &*HELD else {
        return;
    };
    let mut ours = body.clone();
    take_away(&target.custom, &mut ours);
    let service = match target.dialect {
        // What a target accepts is made up in these tests: somebody must take it, whoever that is.
        Dialect::Chat => "any",
        Dialect::Responses => "openai",
        Dialect::Messages => "anthropic",
        Dialect::Gemini => "google",
    };
    let request = json!({ "dialect": target.dialect, "service": service, "body": ours });
    let refusals = held
        .lock()
        .expect("nobody panics with it")
        .refusals(&request);
    assert_eq!(refusals.trim(), "[]", "no such request: {ours}");
}

/// Takes away what stands in a body because the configuration says so.
fn take_away(custom: &Map<String, Value>, body: &mut Value) {
    let Some(fields) = body.as_object_mut() else {
        return;
    };
    for (name, value) in custom {
        match (value, fields.get_mut(name)) {
            (Value::Object(inner), Some(own @ Value::Object(_))) if own != value => {
                take_away(inner, own);
            }
            (_, Some(own)) if own == value => {
                fields.remove(name);
            }
            _ => {}
        }
    }
}
