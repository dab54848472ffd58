//! The word that somebody probably meant.

/// The known word that is nearest to `word`, if one is near at all.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A hostile key may be long; nothing that long is a slip of the fingers.
    if word.len() > 64 {
        return None;
    }
    let wanted: Vec<char> = word.to_lowercase().chars().collect();
    let most = (wanted.len() / 3).max(2);
    known
        .into_iter()
        .map(|candidate| (distance(&wanted, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= most && *distance < candidate.len())
        .min()
        .map(|(_, candidate)| candidate)
}

/// The tail of a message: the nearest word as a question, or nothing.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    match nearest {
        Some(word) => format!("; did you mean {word}?"),
        None => String::new(),
    }
}

/// How many letters must be put in, taken out or changed (Levenshtein), ignoring case.
fn distance(wanted: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (above, letter) in candidate.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (left, known) in wanted.iter().enumerate() {
            let changed = diagonal + usize::from(*known != letter);
            diagonal = row[left + 1];
            row[left + 1] = changed.min(row[left] + 1).min(diagonal + 1);
        }
    }
    row[wanted.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_fingers_finds_its_word_and_a_foreign_word_finds_none() {
        let known = ["maxTurns", "maxRetries", "models", "tools"];
        let rows = [
            ("maxTurn", Some("maxTurns")),
            ("max_turns", Some("maxTurns")),
            ("MAXTURNS", Some("maxTurns")),
            ("model", Some("models")),
            ("tolos", Some("tools")),
            ("colour", None),
            ("x", None),
        ];
        for (word, expected) in rows {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
