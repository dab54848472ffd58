//! Plans of work items: any text is a plan or refused with its place; a plan in YAML is the same in JSON; each level
//! holds what its items wait for in levels before.

#![no_main]

use std::collections::BTreeSet;

use bonded_host::document::{line_of, parse_document};
use bonded_work_rules::{Constraints, ItemId, PlanContext, WorkPlan};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn check_levels(plan: &WorkPlan) {
    let mut done: BTreeSet<&ItemId> = BTreeSet::new();
    for level in plan.levels() {
        assert!(level.windows(2).all(|pair| pair[0].id < pair[1].id));
        for item in &level {
            assert!(item.dependencies.iter().all(|it| done.contains(it)));
        }
        done.extend(level.iter().map(|item| &item.id));
    }
    assert_eq!(done.len(), plan.items().len());
}

fn check_plan(value: &Value, text: &str) {
    let context = PlanContext {
        root: Some("/tree"),
        done: &BTreeSet::new(),
        defaults: Constraints::default(),
    };
    match WorkPlan::from_value(value, &context) {
        Ok(plan) => {
            check_levels(&plan);
            let written = serde_json::to_value(plan.items()).expect("items are JSON");
            let again = WorkPlan::from_value(&written, &context).expect("it was well before");
            assert_eq!(again.items(), plan.items());
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "a refusal says why");
            for fault in faults.iter().take(20) {
                assert!(fault.to_string().len() < 4000);
                // What is missing at the end stands on the line after it.
                let lines = text.split(['\n', '\r']).count() + 1;
                assert!(line_of(text, &fault.at).is_none_or(|line| (1..=lines).contains(&line)));
            }
        }
    }
}

fuzz_target!(|text: &str| {
    let read = parse_document(text);
    assert_eq!(read, parse_document(text));
    match read {
        Ok(value) => {
            if value.is_object() || value.is_array() {
                let printed = parse_document(&value.to_string());
                assert_eq!(printed.as_ref(), Ok(&value), "the same in JSON");
            }
            check_plan(&value, text);
        }
        Err(bad) => {
            let lines = text.split(['\n', '\r']).count();
            assert!(bad.line <= lines + 1, "line {} of {lines}", bad.line);
            assert!(!bad.why.is_empty());
        }
    }
});
