//! A run that a client began is listed with what began it.

use serde_json::json;

use crate::place::parse;
use crate::served::{Served, question, report};

#[test]
fn a_run_of_a_client_is_listed_as_served() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &[]);
    assert_eq!(served.chat(&question("agent")).status, 200);
    let listed = parse(&served.place.bonded(&["runs", "--json"]).stdout);
    let from = json!({ "kind": "served", "protocol": "openai" });
    assert_eq!(listed["from"], from, "{listed}");
    let table = served.place.bonded(&["runs"]).stdout;
    assert!(table.contains("served openai: "), "{table}");
}
