//! Instructions without attributes: reading any reply is total, bounded and the same each time, and what was read is
//! read again out of its own text.

#![no_main]

use bonded_kernel::{Element, InstructionRules, Instructions, read_instructions};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const INSTRUCTIONS_MAX: usize = 5;
const FAULTS_MAX: usize = 20;

fn rules(strict: bool, instructions_max: usize) -> InstructionRules<'static> {
    InstructionRules {
        allowed: &[],
        strict,
        instructions_max,
    }
}

fn check_bounds(read: &Instructions, text: &str) {
    assert!(read.items.len() <= INSTRUCTIONS_MAX + FAULTS_MAX);
    let said: usize = read
        .items
        .iter()
        .map(|item| match item {
            Element::Instruction { arguments, .. } => {
                texts(arguments).map(|(_, it)| it.len()).sum()
            }
            Element::Dropped(fault) => {
                assert!(fault.line as usize <= text.matches('\n').count() + 1);
                0
            }
        })
        .sum();
    assert!(said <= text.len(), "more was read than was written");
}

fn texts(arguments: &Value) -> impl Iterator<Item = (&str, String)> {
    let members = arguments.as_object().expect("arguments are an object");
    members.iter().map(|(child, value)| match value {
        Value::String(text) => (child.as_str(), text.clone()),
        Value::Array(ids) => {
            let ids: Vec<&str> = ids
                .iter()
                .map(|id| id.as_str().expect("ids are texts"))
                .collect();
            (child.as_str(), ids.join(" "))
        }
        other => unreachable!("{other} is neither a text nor ids"),
    })
}

/// The instruction as a model would write it that takes no risk.
fn printed(tag: &str, arguments: &Value) -> String {
    let children: String = texts(arguments)
        .map(|(child, text)| {
            let data = text.replace("]]>", "]]]]><![CDATA[>");
            format!("<{child}><![CDATA[{data}]]></{child}>")
        })
        .collect();
    format!("<{tag}>{children}</{tag}>")
}

fuzz_target!(|text: &str| {
    let lenient = read_instructions(text, rules(false, INSTRUCTIONS_MAX));
    assert_eq!(
        lenient,
        read_instructions(text, rules(false, INSTRUCTIONS_MAX))
    );
    if let Ok(strict) = read_instructions(text, rules(true, INSTRUCTIONS_MAX)) {
        assert_eq!(
            lenient.as_ref(),
            Ok(&strict),
            "what is good strictly is good"
        );
    }
    match &lenient {
        Ok(read) => check_bounds(read, text),
        Err(fault) => assert!(fault.to_string().len() < 500),
    }
    for item in lenient.into_iter().flat_map(|read| read.items) {
        let Element::Instruction { tag, arguments } = &item else {
            continue;
        };
        // Of a carriage return before a line end of two characters such a line end is left.
        if texts(arguments).any(|(_, text)| text.contains("\r\n")) {
            continue;
        }
        let again = read_instructions(&printed(tag, arguments), rules(true, 1));
        assert_eq!(again.map(|read| read.items), Ok(vec![item]));
    }
});
