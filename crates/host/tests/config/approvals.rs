//! Approvals as people write them, and the policy that comes of the options.

use std::collections::BTreeMap;

use bonded_host::config::options::{Given, OptionError, Options, Sources, resolve};
use bonded_host::policy;
use bonded_kernel::{OfferedSkill, Permission, SubAgent};
use proptest::prelude::*;
use serde_json::{Value, json};

fn given(key: &str, value: Value) -> BTreeMap<String, Given> {
    let place = "agent.ai, line 2".into();
    BTreeMap::from([(key.to_owned(), Given { value, place })])
}

fn options(front_matter: BTreeMap<String, Given>) -> Result<Options, OptionError> {
    let sources = Sources {
        front_matter,
        ..Sources::default()
    };
    resolve(&sources).map(|resolved| resolved.options)
}

fn rules(value: Value) -> Option<Vec<String>> {
    let options = options(given("approvals", value)).ok()?;
    let rules = options.approvals.iter();
    let shown = rules.map(|rule| format!("{}:{}", rule.permission.as_str(), rule.tools.as_str()));
    Some(shown.collect())
}

#[test]
fn lists_under_words_hold_by_name_first_and_then_strictly_and_one_list_holds_in_its_order() {
    for (value, expected) in [
        (
            json!({ "allow": ["a", "*"], "ask": ["b", "c*"], "deny": "d,e*" }),
            "deny:d ask:b allow:a deny:e* ask:c* allow:*",
        ),
        (json!(["allow:a*", "deny:*"]), "allow:a* deny:*"),
        (json!("deny:*, allow : a"), "deny:* allow:a"),
        (json!({ "Ask": [] }), ""),
        (json!([]), ""),
    ] {
        let found = rules(value.clone()).map(|rules| rules.join(" "));
        assert_eq!(found.as_deref(), Some(expected), "{value}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    for value in [
        json!({ "asks": ["a"] }),
        json!({ "ask": 5 }),
        json!({ "ask": ["a.*"] }),
        json!({ "ask": ["a b"] }),
        json!(["a"]),
        json!(["perhaps:a"]),
        json!(["ask:"]),
        json!(true),
        json!({ "ask": ["x".repeat(1_000)] }),
    ] {
        let refused = options(given("approvals", value.clone()));
        let said = refused.map(|_| ()).map_err(|error| error.to_string());
        let said = said.expect_err(&value.to_string());
        assert!(
            said.contains("agent.ai, line 2") && said.contains("approvals"),
            "{said}"
        );
    }
}

#[test]
fn options_that_say_nothing_make_no_policy() {
    let options = options(BTreeMap::new()).expect("nothing is wrong");
    assert_eq!(policy(&options, &[], &[], "nonce"), None);
}

#[test]
fn everything_that_is_not_built_in_is_untrusted_where_it_matters_and_nobody_says_which() {
    let agents = [SubAgent {
        tool: "agent__helper".into(),
        file: "/helper.ai".into(),
    }];
    let asks = options(given("afterUntrusted", json!("ask"))).expect("it is an option");
    let policy = policy(&asks, &agents, &[], "nonce").expect("something is said");
    assert_eq!(policy.after_untrusted(), Permission::Ask);
    for (tool, untrusted) in [
        ("read", false),
        ("run", false),
        ("agent__helper", false),
        ("agent__other", true),
        ("mail__read", true),
        ("anything", true),
        ("agent__final_report", false),
        ("skill", true),
    ] {
        assert_eq!(policy.is_untrusted(tool), untrusted, "{tool}");
    }
    // What a run offers of them, a person trusts.
    let skills = [OfferedSkill {
        name: "pdf".into(),
        dir: "/pdf".into(),
        files: BTreeMap::new(),
    }];
    let with_skills = bonded_host::policy(&asks, &[], &skills, "nonce");
    let with_skills = with_skills.expect("something is said");
    assert!(!with_skills.is_untrusted("skill") && with_skills.is_untrusted("mail__read"));
}

proptest! {
    #[test]
    fn no_text_is_too_strange_to_be_refused(text in ".{0,200}") {
        for value in [json!(text), json!([text]), json!({ "ask": [text] })] {
            let _either = options(given("approvals", value));
        }
    }
}
