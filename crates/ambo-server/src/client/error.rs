//! What goes wrong for a client.

use std::fmt;

use serde_json::Value as Json;

/// What did not go well.
#[derive(Clone, Debug, Default)]
pub struct ClientError {
    /// What is wrong, in a sentence.
    pub message: String,
    /// What may help.
    pub hint: Option<String>,
    /// The kind, as HTTP's answers have it: `syntax`, `not_found`, `conflict` and so on.
    pub kind: String,
    /// The line and the column in the statement.
    pub place: Option<(u64, u64)>,
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ClientError {}

impl ClientError {
    pub(super) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into(), ..Self::default() }
    }

    pub(super) fn lost(error: impl fmt::Display) -> Self {
        Self::new("lost", format!("the process that has the database open does not answer: {error}"))
    }

    pub(super) fn of(json: &Json) -> Self {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        Self {
            message: text("detail").unwrap_or_else(|| json.to_string()),
            hint: text("hint"),
            kind: text("kind").unwrap_or_default(),
            place: json["line"].as_u64().zip(json["column"].as_u64()),
        }
    }

    /// Whoever waited does so no longer.
    pub(super) fn interrupted() -> Self {
        Self::new("interrupted", "interrupted")
    }
}
