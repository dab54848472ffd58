//! What a proposal would change, as a person reads it: the lines that go and the lines that come.

use bonded_kernel::workspace::{MARKDOWN_BYTES_MAX, NoteWrite, Operation, Proposal, patched};
use bonded_state::workspace::WorkspaceStore;

use super::refusal::Refusal;

/// How many equal lines are shown around what differs.
const CONTEXT_LINES: usize = 3;

/// What the operation would change, or did.
pub(super) async fn of_operation(
    store: &WorkspaceStore,
    operation: &Operation,
) -> Result<String, Refusal> {
    match &operation.proposal {
        Proposal::CreateNote(new) => {
            let title = new.title.as_deref().unwrap_or("(the date and time)");
            Ok(format!("+++ {title}\n{}", lines("", &new.markdown)))
        }
        Proposal::UpdateNote(write) => of_write(store, write).await,
        Proposal::RecordIssue { key, value, .. } => {
            Ok(format!("issue {key}\n{}", lines("", value)))
        }
    }
}

async fn of_write(store: &WorkspaceStore, write: &NoteWrite) -> Result<String, Refusal> {
    let base = store.note_at(write.note_id, write.base_version).await?;
    let Some(base) = base else {
        return Ok(String::new());
    };
    let edit = &write.edit;
    let mut text = format!("--- {} (version {})\n", base.title, base.version);
    if let Some(title) = edit.title.as_ref().filter(|title| **title != base.title) {
        text.push_str(&format!("+++ {title}\n"));
    }
    let new = match (&edit.markdown, &edit.patch) {
        (Some(markdown), _) => Some(markdown.clone()),
        (None, Some(ops)) => patched(&base.markdown, ops, MARKDOWN_BYTES_MAX).ok(),
        (None, None) => None,
    };
    if let Some(new) = new {
        text.push_str(&lines(&base.markdown, &new));
    }
    if let Some(keywords) = &edit.keywords {
        text.push_str(&format!(
            "keywords: {} -> {}\n",
            base.keywords.join(", "),
            keywords.join(", ")
        ));
    }
    Ok(text)
}

/// The lines between the first and the last that differ, with a few around them. It is not the shortest that could be
/// said, but it is quick whatever the texts are.
fn lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let before = old.iter().zip(&new).take_while(same).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let (gone, come) = (old_rest.len() - after, new_rest.len() - after);
    if gone == 0 && come == 0 {
        return String::new();
    }
    let first = before.saturating_sub(CONTEXT_LINES);
    let tail = &old_rest[gone..];
    let marked = |mark: char, lines: &[&str]| -> String {
        lines.iter().map(|line| format!("{mark}{line}\n")).collect()
    };
    let mut text = format!("@@ line {} @@\n", before + 1);
    text.push_str(&marked(' ', &old[first..before]));
    text.push_str(&marked('-', &old_rest[..gone]));
    text.push_str(&marked('+', &new_rest[..come]));
    text.push_str(&marked(' ', &tail[..tail.len().min(CONTEXT_LINES)]));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_with_what_stands_around_it() {
        let rows = [
            ("a\nb\nc", "a\nb\nc", ""),
            ("", "a", "@@ line 1 @@\n+a\n"),
            ("a", "", "@@ line 1 @@\n-a\n"),
            ("a\nb\nc", "a\nx\nc", "@@ line 2 @@\n a\n-b\n+x\n c\n"),
            ("a\na", "a\na\na", "@@ line 3 @@\n a\n a\n+a\n"),
            (
                "1\n2\n3\n4\n5",
                "1\n2\n3\n4\n6",
                "@@ line 5 @@\n 2\n 3\n 4\n-5\n+6\n",
            ),
        ];
        for (old, new, expected) in rows {
            assert_eq!(lines(old, new), expected, "{old:?} to {new:?}");
        }
    }
}
