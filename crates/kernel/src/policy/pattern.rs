//! Patterns over the names of tools.

use serde::{Deserialize, Serialize};

/// Which tools are meant: a name in which `*` stands for any letters, also none. Case matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolPattern(String);

impl ToolPattern {
    /// Any text is a pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes at most as many steps as the product of both lengths.
    pub fn matches(&self, tool: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), tool.as_bytes());
        let (mut p, mut n) = (0, 0);
        // The last star, and how much of the name it has taken so far.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            if pattern.get(p) == Some(&b'*') {
                star = Some((p, n));
                p += 1;
            } else if pattern.get(p) == name.get(n) {
                p += 1;
                n += 1;
            } else if let Some((at, taken)) = star {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            } else {
                return false;
            }
        }
        pattern.iter().skip(p).all(|letter| *letter == b'*')
    }
}
