//! Options of the form `--name VALUE`.

use std::str::FromStr;

use crate::fault::Fault;

pub(crate) fn none(words: &[String]) -> Result<(), Fault> {
    Options::parse(words, &[]).map(drop)
}

pub(crate) struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    pub(crate) fn parse(words: &'a [String], known: &[&str]) -> Result<Self, Fault> {
        let mut pairs = vec![];
        for pair in words.chunks(2) {
            let name = pair[0].as_str();
            if !known.contains(&name) {
                let why =
                    format!("there is no option {name:?} here; `cargo xtask help` lists them");
                return Err(Fault::Usage { why });
            }
            let value = pair.get(1).ok_or_else(|| Fault::Usage {
                why: format!("{name} needs a value"),
            })?;
            pairs.push((name, value.as_str()));
        }
        Ok(Self(pairs))
    }

    /// The value that was given last.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        let pair = self.0.iter().rev().find(|(given, _)| *given == name);
        pair.map(|(_, value)| *value)
    }

    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Fault> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| Fault::Usage {
            why: format!("{name} needs a number, not {text:?}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<u32>, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let options = Options::parse(&words, &["--seeds"]);
        options
            .and_then(|options| options.number("--seeds"))
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn an_option_is_taken_as_it_was_given_last_and_anything_else_is_refused() {
        assert_eq!(parsed(""), Ok(None));
        assert_eq!(parsed("--seeds 5 --seeds 7"), Ok(Some(7)));
        for bad in ["--seeds", "--seeds x", "--sees 5", "5"] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }
}
