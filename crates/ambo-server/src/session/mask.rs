//! Texts of statements as they may be kept and shown: without passwords.

use std::borrow::Cow;

/// A text that may have a password in it ends where that begins. It is cut rather than read: what cannot be read may still have one.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    let small = text.to_ascii_lowercase();
    let has = |word: &str| small.contains(word);
    let is_about_roles = (has("create") || has("alter")) && (has("role") || has("user"));
    match small.find("password") {
        Some(place) if is_about_roles => {
            let end = place + "password".len();
            Cow::Owned(format!("{} …", &text[..end]))
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_shown_nowhere() {
        for (text, shown) in [
            ("create role ada password 'x'", "create role ada password …"),
            (
                "/* a */ ALTER USER ada ENCRYPTED PASSWORD 'it''s'; select 1",
                "/* a */ ALTER USER ada ENCRYPTED PASSWORD …",
            ),
            ("select 1; alter role ada password $$x$$", "select 1; alter role ada password …"),
            ("select password from accounts", "select password from accounts"),
            ("create role ada", "create role ada"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
