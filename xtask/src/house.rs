//! Figures of the code's structure, so that a change of it can be measured before and after by the same means.
//!
//! They are read from the source alone. Tests are left out of everything but the lines; the crate of the testkit has
//! a row of its own and is no part of the sum.

mod checkout;
mod circles;
mod comments;
mod figures;
mod json;
mod lines;
mod modules;
mod names;
mod profile;
mod report;
mod source;
mod table;
mod undocumented;
mod wildcards;

use std::path::PathBuf;

use crate::fault::Fault;
use crate::root;
use checkout::Checkout;
use figures::Figures;

pub(crate) fn measure(words: &[String]) -> Result<(), Fault> {
    let asked = Asked::parse(words)?;
    let figures = Figures::of(&Checkout::read(&asked.root)?);
    if asked.is_json {
        println!("{}", report::json(&figures));
    } else {
        print!("{}", report::text(&figures, asked.is_list));
    }
    Ok(())
}

struct Asked {
    root: PathBuf,
    is_list: bool,
    is_json: bool,
}

impl Asked {
    fn parse(words: &[String]) -> Result<Self, Fault> {
        let mut asked = Self {
            root: root().to_owned(),
            is_list: false,
            is_json: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--list" => asked.is_list = true,
                "--json" => asked.is_json = true,
                "--root" => {
                    let dir = words.next().ok_or_else(|| Fault::Usage {
                        why: "--root needs a directory".into(),
                    })?;
                    asked.root = dir.into();
                }
                _ => {
                    let why = "house takes --root DIR, --list and --json".into();
                    return Err(Fault::Usage { why });
                }
            }
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A match that hands each kind of change to its function, and does nothing else: as long as there are kinds.
    const DISPATCH: &str = "crates/workspace-rules/src/decide.rs";

    #[test]
    fn this_checkout_has_no_long_function_no_common_type_name_and_no_circle() -> Result<(), Fault> {
        let figures = Figures::of(&Checkout::read(root())?);
        let mut breaches = vec![];
        for (name, modules) in &figures.types {
            breaches.push(format!("type {name} in {}", modules.join(" ")));
        }
        for figures in figures.shipped() {
            let long = figures.functions.long.iter();
            for place in long.filter(|place| place.path != DISPATCH) {
                breaches.push(format!("{}:{} {}", place.path, place.line, place.what));
            }
            for circle in &figures.modules.members {
                breaches.push(format!("circle in {}: {}", figures.name, circle.join(" ")));
            }
        }
        assert_eq!(breaches, Vec::<String>::new());
        Ok(())
    }
}
