//! Names with `*` for any characters and `?` for one.
//!
//! It is written so that its time is bounded by the product of the two lengths: only the last star is ever
//! tried again. Patterns stand in tables, and names come from configurations.

/// Whether a name fits a pattern. Both are ASCII in practice; other bytes are compared as they are.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where the last `*` stood, and what of the name it had taken by then.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_take_anything_and_question_marks_one() {
        for (pattern, name, expected) in [
            ("gpt-5*", "gpt-5.1", true),
            ("gpt-5", "gpt-5.1", false),
            ("claude-*-4?5*", "claude-opus-4.5", true),
            ("claude-*-4?5*", "claude-opus-4-5-20251101", true),
            ("claude-*-4?5*", "claude-opus-4-6", false),
            ("*thinking*", "kimi-k2-thinking", true),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbxc", false),
            ("", "", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
