//! JUnit's XML: each test case, and what stands in it.

use super::totals::TestCounts;

/// TestCounts the test cases of a document; nothing where there is none.
pub(super) fn counts(output: &str) -> Option<TestCounts> {
    let mut counts: Option<TestCounts> = None;
    let mut case: Option<Case> = None;
    for tag in Tags(output) {
        match tag.name {
            "testsuites" | "testsuite" => {
                counts.get_or_insert_default();
            }
            "testcase" if counts.is_some() => {
                close(&mut counts, case.take());
                case = Some(Case::Passed);
                if tag.is_empty {
                    close(&mut counts, case.take());
                }
            }
            "/testcase" => close(&mut counts, case.take()),
            "failure" | "error" => case = case.map(|_| Case::Failed),
            "skipped" => case = case.map(|_| Case::Skipped),
            _ => {}
        }
    }
    close(&mut counts, case);
    counts
}

#[derive(Clone, Copy)]
enum Case {
    Passed,
    Failed,
    Skipped,
}

fn close(counts: &mut Option<TestCounts>, case: Option<Case>) {
    let (Some(counts), Some(case)) = (counts, case) else {
        return;
    };
    match case {
        Case::Passed => counts.passed += 1,
        Case::Failed => counts.failed += 1,
        Case::Skipped => counts.skipped += 1,
    }
}

struct Tag<'a> {
    /// With its `/` where it is a closing one.
    name: &'a str,
    is_empty: bool,
}

/// The tags of a text, one after the other; what stands in comments and character data is none. Each step goes
/// forward, so all of them together read the text once.
struct Tags<'a>(&'a str);

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let start = self.0.find('<')?;
            let rest = &self.0[start + 1..];
            let hidden = [("![CDATA[", "]]>"), ("!--", "-->")];
            let hidden = hidden.iter().find(|(open, _)| rest.starts_with(open));
            if let Some((open, close)) = hidden {
                let rest = &rest[open.len()..];
                let end = rest.find(close).map_or(rest.len(), |end| end + close.len());
                self.0 = &rest[end..];
                continue;
            }
            let name_end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '<');
            let name = &rest[..name_end.unwrap_or(rest.len())];
            self.0 = &rest[name.len()..];
            if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
                continue;
            }
            let bare = name.strip_suffix('/').unwrap_or(name);
            let is_empty = bare.len() < name.len() || self.skip_attributes();
            return Some(Tag {
                name: bare,
                is_empty,
            });
        }
    }
}

impl Tags<'_> {
    /// Goes to the end of a tag, past attributes whose values may hold anything. Says whether the tag is closed
    /// at once.
    fn skip_attributes(&mut self) -> bool {
        let mut quote = None;
        let mut before = ' ';
        for (at, letter) in self.0.char_indices() {
            match quote {
                // XML has no such sign in a value: this was no tag, but a sign in a text.
                _ if letter == '<' => {
                    self.0 = &self.0[at..];
                    return false;
                }
                Some(open) if letter == open => quote = None,
                Some(_) => {}
                None if letter == '"' || letter == '\'' => quote = Some(letter),
                None if letter == '>' => {
                    self.0 = &self.0[at + 1..];
                    return before == '/';
                }
                None => {}
            }
            before = letter;
        }
        self.0 = "";
        false
    }
}
