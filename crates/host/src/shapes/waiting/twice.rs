//! Whether an object of a JSON text has a key twice.
//!
//! Parsers differ in which of the two they take, so that a model could show a person one and have the
//! other executed. The text is walked through and nothing of it is kept but the keys of the objects
//! that are open.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Not where the text cannot be read at all.
pub(super) fn has_key_twice(text: &str) -> bool {
    let mut twice = false;
    let mut read = serde_json::Deserializer::from_str(text);
    let _unreadable = DuplicateSeeker(&mut twice).deserialize(&mut read);
    twice
}

/// Visits every value; the flag is shared by all of them.
struct DuplicateSeeker<'a>(&'a mut bool);

impl<'de> DeserializeSeed<'de> for DuplicateSeeker<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateSeeker<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(DuplicateSeeker(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            *self.0 |= !keys.insert(key);
            map.next_value_seed(DuplicateSeeker(self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_in_one_object_is_found_at_any_depth() {
        for (text, twice) in [
            (r#"{"a":1,"a":2}"#, true),
            (r#"{"a":1,"\u0061":2}"#, true),
            (r#"{"x":[{"b":null,"c":[1.5,true],"b":"s"}]}"#, true),
            (r#"{"a":{"b":1},"b":{"a":1}}"#, false),
            (r#"[{"a":1},{"a":2}]"#, false),
            ("{", false),
            ("", false),
        ] {
            assert_eq!(has_key_twice(text), twice, "{text}");
        }
    }
}
