//! How PostgreSQL says what SQLite says, where the same text will not do.
//!
//! Texts are written for SQLite. A server numbers what is bound to a statement with another sign, and has a word of its own
//! for `user`; it has no text with a NUL in it, so that these are written otherwise on the way there and put back on the
//! way here.

use std::borrow::Cow;

use bonded_state::database::SqlValue;

/// In which words a statement is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

/// Stands before what is written otherwise.
const ESCAPE: char = '\u{1}';

/// A statement as the server takes it. Nothing is changed in what stands between quotes.
pub(super) fn for_server(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len() + 16);
    let mut is_quoted = false;
    let mut rest = sql;
    while let Some(sign) = rest.chars().next() {
        let is_word = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        let length = match sign {
            _ if !is_quoted && is_word(sign) => {
                rest.find(|sign| !is_word(sign)).unwrap_or(rest.len())
            }
            _ => sign.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        match word {
            "?" if !is_quoted => text.push('$'),
            "user" if !is_quoted => text.push_str("\"user\""),
            _ => text.push_str(word),
        }
        is_quoted ^= sign == '\'';
        rest = after;
    }
    text
}

/// A text as a server can keep it.
pub(super) fn to_server(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let text = text.replace(ESCAPE, "\u{1}1");
    Cow::Owned(text.replace('\0', "\u{1}0"))
}

/// The inverse of `to_server`, for all texts of a row.
pub(super) fn from_server(row: &mut [SqlValue]) {
    for value in row {
        if let SqlValue::Text(text) = value
            && text.contains(ESCAPE)
        {
            *text = text.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_users_are_written_as_the_server_wants_them() {
        for (sqlite, postgres) in [
            ("WHERE id = ?1 AND at > ?12", "WHERE id = $1 AND at > $12"),
            (
                "FROM user JOIN token ON token.user = user.id",
                "FROM \"user\" JOIN token ON token.\"user\" = \"user\".id",
            ),
            (
                "user_id = 'user ?1' OR users",
                "user_id = 'user ?1' OR users",
            ),
        ] {
            assert_eq!(for_server(sqlite), postgres);
        }
    }

    #[test]
    fn every_text_comes_back_as_it_was() {
        for text in ["", "plain", "a\0b", "\u{1}", "\u{1}0\0\u{1}1", "\u{1}\0"] {
            let sent = to_server(text);
            assert!(!sent.contains('\0'), "{sent:?}");
            let mut row = [SqlValue::Text(sent.into_owned())];
            from_server(&mut row);
            assert_eq!(row, [SqlValue::Text(text.into())]);
        }
    }
}
