//! Arguments that are almost JSON: what is read is JSON and stays what it is, and JSON itself is not touched.

#![no_main]

use bonded_kernel::parse_arguments;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let read = parse_arguments(text);
    assert_eq!(read, parse_arguments(text));
    let json: Option<Value> = serde_json::from_str(text).ok();
    let Ok(parsed) = read else {
        assert!(
            !json.is_some_and(|json| json.is_object()),
            "JSON was refused"
        );
        return;
    };
    if let Some(json) = json.filter(Value::is_object) {
        assert_eq!((&parsed.value, parsed.steps.is_empty()), (&json, true));
    }
    let printed = parsed.value.to_string();
    // Each byte may need an escape, and each word two quotes.
    assert!(
        printed.len() <= 6 * text.len() + 16,
        "{} bytes",
        printed.len()
    );
    let again = parse_arguments(&printed).expect("what was read is JSON");
    assert_eq!(again.value, parsed.value);
    assert!(again.steps.is_empty());
});
