//! The checker of requests, which has the official SDKs' types and knows what services refuse.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The interpreter that has the SDKs, among the programs that use them; `None` where it is not here and nobody promised
/// it.
pub(crate) fn python() -> Option<Command> {
    let Some(python) = std::env::var_os("BONDED_SDK_PYTHON") else {
        assert!(
            std::env::var_os("BONDED_XTASK").is_none(),
            "BONDED_SDK_PYTHON is not set: `cargo xtask test` must install the SDKs and name them"
        );
        #[expect(clippy::print_stderr, reason = "who runs the tests should know")]
        {
            eprintln!(
                "not run: BONDED_SDK_PYTHON is not set; `cargo xtask sdk` installs the SDKs and names them"
            );
        }
        return None;
    };
    let mut command = Command::new(python);
    command
        .arg("-B")
        .current_dir(Path::new(HERE).join("../../xtask/wires"));
    Some(command)
}

/// What the checker prints, and whether it found nothing to refuse.
pub(crate) fn check(lines: &[String]) -> Option<(bool, String)> {
    let mut child = python()?
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
