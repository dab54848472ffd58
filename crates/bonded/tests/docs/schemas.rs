//! What a schema takes its reader takes, and the other way round.

use bonded_testkit::place::Place;
use serde_json::{Value, json};

use crate::markdown;
use crate::readers::{self, Reader};
use crate::samples;

/// A schema as the program prints it.
pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let printed = Place::new().bonded(&["schema", name]);
    printed.succeeds();
    let schema: Value = serde_json::from_str(&printed.stdout).expect("the schema is JSON");
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    jsonschema::meta::validate(&schema).expect("the schema is one");
    jsonschema::validator_for(&schema).expect("the schema can be used")
}

/// Values of every type, near what people write and far from it.
fn strangers() -> Vec<Value> {
    let values = r#"[null, true, false, -1, 0, 1, 3, 1.5, 1e30,
        [], [1], ["x"], [""], [["x"]], {}, {"zzz": 1},
        "", " ", "x", "none", "Off", "12", "99999999999999", "0.5", "lwo", "a b", "../x", "/etc/x", "x/y",
        "script:", "deny:rm_*", "a\u0007b", "agent-10", "x,y", "${KEY}",
        "90s", "1h30m", "1.5h", "2d", "1h0m5s250ms", " 10m ", "5 m", "5min", "5M5", "1m1h", "5m5m", "1.5h5m", "1.5",
        ".5s", "1.s", "-5s", "0s", "999999999d", "0.0001s", "64k", "1.5M", "64K", "16GiB", "4kB", "12B", "64iB", "64kk",
        "0k", "9999999999T", "0.0001k", "00000000000000000000000000000000000000001s", "00000000000000000000000000000000000000001k"]"#;
    serde_json::from_str(values).expect("the values are JSON")
}

/// Numbers that are written as text, and out of range: as numbers they are refused by the schema too.
const TEXT_RANGE: [&str; 3] = [
    "not the text \"12\"",
    "not the text \"99999999999999\"",
    "not the text \"1.5\"",
];
/// The same for durations, and one whose fraction is of a millisecond.
const DURATION_RANGE: [&str; 3] = ["is too short", "is too long", "0.0001s is not a duration"];
/// The same for tokens and bytes.
const SIZE_RANGE: [&str; 2] = ["is too small", "is too large"];
/// The same for tokens that the reader has no words of its own for.
const TOKEN_RANGE: [&str; 2] = ["not the text \"9999999999T\"", "not the text \"0.0001k\""];

/// The place of every value, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let below = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| places(value, &below(key), found)),
        Value::Array(members) => members
            .iter()
            .enumerate()
            .for_each(|(index, value)| places(value, &below(&index.to_string()), found)),
        _ => {}
    }
}

/// The sample with one thing changed: another value, a key less, a key more, a key misspelt.
fn mutants(sample: &Value) -> Vec<(String, Value)> {
    let mut all = vec![];
    let mut found = vec![];
    places(sample, "", &mut found);
    for at in found {
        let change = |value: Value| {
            let mut mutant = sample.clone();
            *mutant.pointer_mut(&at).expect("the place is there") = value;
            mutant
        };
        for stranger in strangers() {
            all.push((format!("{at} = {stranger}"), change(stranger)));
        }
        let Some(Value::Object(fields)) = sample.pointer(&at) else {
            continue;
        };
        let mut more = fields.clone();
        more.insert("zzz".into(), json!(1));
        all.push((format!("{at} + zzz"), change(Value::Object(more))));
        for key in fields.keys() {
            let mut fewer = fields.clone();
            let value = fewer.remove(key).expect("the key is there");
            all.push((
                format!("{at} - {key}"),
                change(Value::Object(fewer.clone())),
            ));
            fewer.insert(format!("{key}x"), value);
            all.push((
                format!("{at}: {key} misspelt"),
                change(Value::Object(fewer)),
            ));
        }
    }
    all
}

/// Reader and schema agree about the samples and about everything that they can be changed to. What a schema cannot say
/// is listed by the words of the reader, or by the change where those say too little, and each of them is needed.
fn agree(name: &str, reader: Reader, samples: &[Value], beyond: &[&[&str]]) {
    let beyond = beyond.concat();
    let schema = schema(name);
    let (mut apart, mut needed) = (vec![], vec![false; beyond.len()]);
    for sample in samples {
        assert_eq!(reader(sample), Ok(()), "{name}: {sample}");
        assert!(
            schema.is_valid(sample),
            "{name}: {:?}",
            schema.validate(sample)
        );
        for (what, mutant) in mutants(sample) {
            match (reader(&mutant), schema.is_valid(&mutant)) {
                (Ok(()), true) | (Err(_), false) => {}
                // A variable is judged once it is put in, and no schema knows what it holds.
                (Err(_), true) if what.ends_with("\"${KEY}\"") && name == "config" => {}
                (Ok(()), false) => {
                    let why = schema.validate(&mutant).expect_err("it is not valid");
                    apart.push(format!("{what}: taken, and the schema says: {why}"));
                }
                (Err(why), true) => {
                    let is_told = |it: &&str| why.contains(it) || what.ends_with(it);
                    match beyond.iter().position(is_told) {
                        Some(at) => needed[at] = true,
                        None => {
                            apart.push(format!("{what}: refused, and the schema takes it: {why}"));
                        }
                    }
                }
            }
        }
    }
    assert!(apart.is_empty(), "{name}:\n{}", apart.join("\n"));
    let idle: Vec<&&str> = beyond
        .iter()
        .zip(needed)
        .filter_map(|(words, needed)| (!needed).then_some(words))
        .collect();
    assert!(idle.is_empty(), "{name}: the schema says these: {idle:?}");
}

#[test]
fn the_schema_of_plans_takes_what_the_reader_of_plans_takes() {
    let own = ["is not a path inside a tree", "depends on"];
    let beyond: [&[&str]; 2] = [&own, &DURATION_RANGE];
    agree("plan", readers::plan, &samples::plans(), &beyond);
}

#[test]
fn the_schema_of_rules_takes_what_the_reader_of_rules_takes() {
    let own = [
        "is not a valid pattern",
        "must be one of lmstudio, script",
        "must begin with http",
        "must be the name of a memory",
        "0.0001k is not a number of tokens",
    ];
    let beyond: [&[&str]; 3] = [&own, &DURATION_RANGE, &SIZE_RANGE];
    agree("rule", readers::rule, &samples::rules(), &beyond);
}

#[test]
fn the_schema_of_agents_takes_what_the_reader_of_agents_takes() {
    let own = [
        "schema",
        "0.0001k is not a number of tokens",
        "0.0001k is not a size",
    ];
    let beyond: [&[&str]; 5] = [
        &own,
        &TEXT_RANGE,
        &DURATION_RANGE,
        &SIZE_RANGE,
        &TOKEN_RANGE,
    ];
    agree("agent", readers::agent, &samples::agents(), &beyond);
}

#[test]
fn the_schema_of_configurations_takes_what_their_reader_takes() {
    let own = [
        "0.0001k is not a number of tokens",
        "0.0001k is not a size",
        // Where the text could be a secret, the reader does not repeat it.
        "okens = \"99999999999999\"",
        "okens = \"9999999999T\"",
        "okens = \"0.0001k\"",
        "okens = \"0k\"",
        // Another layer may say it.
        "above.tokens must be a whole number from 1 up, not n",
        "needs a",
        "write an address such as",
        "and a host",
        "names the queue",
        "openapiSpecs.shop.spec",
        "JSON Schema",
        "control character",
    ];
    let beyond: [&[&str]; 5] = [
        &own,
        &TEXT_RANGE,
        &DURATION_RANGE,
        &SIZE_RANGE,
        &TOKEN_RANGE,
    ];
    agree("config", readers::config, &samples::configs(), &beyond);
}

#[test]
fn every_example_of_the_docs_that_a_reader_takes_is_valid() {
    let kinds: [(&str, Reader, usize); 4] = [
        ("plan", readers::plan, 1),
        ("rule", readers::rule, 1),
        ("agent", readers::agent, 1),
        ("config", readers::config, 3),
    ];
    for (name, reader, least) in kinds {
        let schema = schema(name);
        let examples = markdown::documents(name);
        let taken: Vec<&(String, Value)> = examples
            .iter()
            .filter(|(_, value)| reader(value).is_ok())
            .collect();
        assert!(taken.len() >= least, "{name}: {examples:?}");
        for (place, value) in taken {
            let valid = schema.validate(value);
            assert!(valid.is_ok(), "{place}: {valid:?}");
        }
    }
}

#[test]
fn without_a_name_the_schemas_are_listed_and_a_wrong_name_is_refused() {
    let place = Place::new();
    let listed = place.bonded(&["schema"]);
    listed.succeeds();
    let names: Vec<&str> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["config", "agent", "plan", "rule"]);
    assert_eq!(place.bonded(&["schema", "plna"]).code, Some(4));
}
