//! A verifier that is not ours: securesystemslib, as the tools of in-toto and TUF use it. `cargo xtask test` installs
//! it and says where it is.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::done::text;
use bonded_testkit::installed::{SDK_PYTHON, installed};

use crate::place::{finish, start};
use crate::world::{World, item, receipt, with_fields, writes};

#[test]
fn a_stock_verifier_accepts_the_envelope_of_every_outcome_and_refuses_a_changed_one() {
    let Some(python) = installed(SDK_PYTHON) else {
        return;
    };
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "grüße\n")]);
    let denied = with_fields(
        item("denied", 1),
        json!({ "constraints": { "max_files": 0 } }),
    );
    let results = world.results(&json!([item("done", 1), denied]), &[]);
    for result in results.as_array().expect("an array") {
        let path = Path::new(text(&result["receipt_path"]));
        let key = world.place.path("key.pem");
        let public = receipt(result)["signed"]["public_key"].clone();
        std::fs::write(&key, text(&public)).expect("it can be written");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/work/dsse.py");
        let mut verifier = Command::new(&python);
        verifier
            .arg("-I")
            .arg(script)
            .args([
                path.with_file_name("receipt.intoto.jsonl"),
                key,
                path.to_owned(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        finish(start(&mut verifier)).succeeds();
    }
}
