//! JSON Schema as the `jsonschema` crate knows it, behind a door that is not generic.
//!
//! The validators of that crate are generic over how a value is held. Whoever builds one compiles all of them: half of
//! what the kernel came to was theirs, at the level of optimisation of the kernel, which is on the path of every turn.
//! Here they are compiled once, at a level of their own. Nothing here has a bound on the work: the kernel counts it
//! before it asks.

#![warn(missing_docs)]

use serde_json::Value;

/// Which keywords a schema has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draft {
    /// The one that the schema names by `$schema`, or else the newest.
    Named,
    /// Draft 7: the shortest to set up, for schemas that mean the same in all drafts.
    Seven,
}

/// Where a value does not fit a schema, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// A JSON pointer; empty for the value as a whole.
    pub place: String,
    /// The reason, which does not repeat the value.
    pub why: String,
}

/// A schema that is set up to check values.
pub struct Validator(jsonschema::Validator);

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Validator")
    }
}

impl Validator {
    /// Sets a schema up. A pattern that looks around or back is given up after so many wrong turns.
    ///
    /// ```
    /// use bonded_schema::{Draft, Validator};
    /// use serde_json::json;
    ///
    /// let validator = Validator::new(&json!({ "type": "string" }), Draft::Named, 1_000).expect("a schema");
    /// assert!(validator.is_valid(&json!("text")));
    /// assert!(validator.validate(&json!(7)).is_err());
    /// ```
    pub fn new(schema: &Value, draft: Draft, backtracks_max: usize) -> Result<Self, String> {
        let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(backtracks_max);
        let options = jsonschema::options().with_pattern_options(patterns);
        let options = match draft {
            Draft::Named => options,
            Draft::Seven => options.with_draft(jsonschema::Draft::Draft7),
        };
        let built = options.build(schema).map_err(|error| error.to_string())?;
        Ok(Self(built))
    }

    /// Whether a value fits: cheaper than [`Validator::validate`], which keeps errors of branches that it tries.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// Checks a value, and tells the first mismatch.
    pub fn validate(&self, value: &Value) -> Result<(), Mismatch> {
        self.0.validate(value).map_err(|error| Mismatch {
            place: error.instance_path().to_string(),
            why: error.masked().to_string(),
        })
    }
}

/// Whether a value is a schema by the schema of schemas that it names; the error says where it is none.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    jsonschema::meta::validate(schema).map_err(|error| error.to_string())
}
