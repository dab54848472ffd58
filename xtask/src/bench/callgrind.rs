//! What `callgrind` counted: the instructions of a process, and those of some of its functions with all that
//! they call.

use std::collections::BTreeSet;

use crate::fault::Fault;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    pub(crate) all: u64,
    /// In the functions that were looked for.
    pub(crate) within: u64,
}

/// Reads a profile. A function is looked for by any of these prefixes of its name.
pub(crate) fn read(profile: &str, prefixes: &[&str]) -> Result<Instructions, Fault> {
    let mut reading = Reading::new(prefixes);
    profile.lines().for_each(|line| reading.take(line));
    if reading.wanted.is_empty() {
        let why = format!("the program has no function {}", prefixes.join(" or "));
        return Err(Fault::unmeasured(why));
    }
    Ok(reading.sum)
}

struct Reading<'a> {
    prefixes: &'a [&'a str],
    /// The numbers of the functions that are looked for; a name stands only beside the first use of its number.
    wanted: BTreeSet<&'a str>,
    is_within: bool,
    /// Whether the function that is called next is looked for itself, so that its cost is summed up there.
    callee_is_wanted: bool,
    /// Whether the next cost is that of a call.
    is_call: bool,
    sum: Instructions,
}

impl<'a> Reading<'a> {
    fn new(prefixes: &'a [&'a str]) -> Self {
        Self {
            prefixes,
            wanted: BTreeSet::new(),
            is_within: false,
            callee_is_wanted: false,
            is_call: false,
            sum: Instructions::default(),
        }
    }

    fn take<'b: 'a>(&mut self, line: &'b str) {
        if let Some(function) = line.strip_prefix("fn=") {
            self.is_within = self.is_wanted(function);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            self.callee_is_wanted = self.is_wanted(function);
        } else if line.starts_with("calls=") {
            self.is_call = true;
        } else if let Some(total) = line.strip_prefix("totals: ") {
            self.sum.all = total.trim().parse().unwrap_or(0);
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let is_elsewhere = self.is_call && self.callee_is_wanted;
            if self.is_within && !is_elsewhere {
                let cost = line.split_whitespace().nth(1);
                self.sum.within += cost.and_then(|cost| cost.parse().ok()).unwrap_or(0);
            }
            self.is_call = false;
        }
    }

    /// A function is written `(number) name`, or `(number)` where it stood before.
    fn is_wanted<'b: 'a>(&mut self, function: &'b str) -> bool {
        let (number, name) = function.split_once(' ').unwrap_or((function, ""));
        if self.prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            self.wanted.insert(number);
        }
        self.wanted.contains(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
events: Ir
fn=(1) main
16 400
cfn=(2) count::words
calls=2 20
16 90
fn=(2)
20 10
cfn=(3) count::letters
calls=1 30
+1 50
cfn=(4) len
calls=1 30
* 30

fn=(3)
30 50

fn=(4)
30 30
totals: 1000
";

    #[test]
    fn a_function_is_counted_once_with_all_that_it_calls() {
        let read = |prefixes: &[&str]| read(PROFILE, prefixes).expect("it is there");
        let counted = |within| Instructions { all: 1000, within };
        assert_eq!(read(&["count::"]), counted(10 + 30 + 50));
        assert_eq!(read(&["count::letters"]), counted(50));
        assert_eq!(read(&["len", "count::letters"]), counted(80));
    }

    #[test]
    fn a_function_that_is_not_there_is_not_taken_for_a_cheap_one() {
        assert!(read(PROFILE, &["counted::"]).is_err());
    }
}
