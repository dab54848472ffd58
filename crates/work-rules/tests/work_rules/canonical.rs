//! One way to write JSON: the vectors of RFC 8785, and what follows for hashes.

use bonded_work_rules::canonical;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn json_is_written_as_rfc_8785_says() {
    let rows = [
        // The examples of the RFC, sections 3.2.2 and 3.2.3.
        (
            r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
                "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
        ),
        (
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        ),
        (
            "[1.0, -0.0, 0.0, 1e21, 1e20, 123456789012345680000.0]",
            "[1,0,0,1e+21,100000000000000000000,123456789012345680000]",
        ),
        (
            "[1e-6, 1e-7, 9.5e-7, -1.5e300]",
            "[0.000001,1e-7,9.5e-7,-1.5e+300]",
        ),
        (
            "[9007199254740993, 18446744073709551615, -5]",
            "[9007199254740993,18446744073709551615,-5]",
        ),
        (r#""\b\f\t\u001f\u007f""#, "\"\\b\\f\\t\\u001f\u{7f}\""),
        (" { } ", "{}"),
    ];
    for (written, expected) in rows {
        let value: Value = serde_json::from_str(written).expect("JSON of a test");
        assert_eq!(canonical(&value), expected);
    }
}

#[test]
fn the_order_of_keys_is_no_part_of_what_is_written() {
    let one: Value =
        serde_json::from_str(r#"{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2}"#).expect("JSON");
    let two: Value =
        serde_json::from_str(r#"{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1}}"#).expect("JSON");
    assert_eq!(canonical(&one), canonical(&two));
    assert_ne!(canonical(&one), canonical(&json!({ "a": 1 })));
}

proptest! {
    #[test]
    fn what_is_written_means_the_same(float in any::<f64>(), text in any::<String>(), whole in any::<i64>()) {
        let value = json!([float, text, whole, { text.as_str(): float }]);
        let written = canonical(&value);
        let back: Value = serde_json::from_str(&written).expect("canonical JSON is JSON");
        prop_assert_eq!(&back[1], &value[1]);
        prop_assert_eq!(&back[2], &value[2]);
        prop_assert_eq!(back[0].as_f64(), value[0].as_f64());
        prop_assert_eq!(canonical(&back), written);
    }
}
