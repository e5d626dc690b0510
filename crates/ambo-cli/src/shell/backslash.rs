//! The commands that users of psql have in their fingers, as commands of ours.

use crate::failure::{Failure, Result};

/// `\dt` as `tables`: the line with our command in place of psql's. What stands behind it goes along.
pub fn translate(line: &str) -> Result<String> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim().trim_end_matches(';').trim_end();
    let command = match (name.trim_end_matches(['+', 'S']), rest.is_empty()) {
        ("\\d" | "\\dt" | "\\dv", true) => "tables",
        ("\\d" | "\\dt" | "\\dv", false) => "describe",
        ("\\di", _) => "indexes",
        ("\\dn", _) => "schemas",
        ("\\l" | "\\conninfo", _) => "info",
        ("\\timing", _) => "timer",
        ("\\x", true) => "toggle-lines",
        ("\\x", false) if rest == "off" => return Ok("mode table".into()),
        ("\\x", false) => return Ok("mode line".into()),
        ("\\i", _) => "read",
        ("\\o", _) => "output",
        ("\\q", _) => "quit",
        ("\\?" | "\\h", _) => "help",
        ("\\copy", _) => {
            return Err(Failure::usage(
                "\\copy is .import FILE TABLE and .export FILE QUERY here; or the statement COPY",
            ));
        }
        _ => {
            return Err(Failure::usage(format!(
                "unknown command {name}; there are \\d \\dt \\di \\dn \\l \\timing \\x \\i \\o \\q, and `.help` lists the others"
            )));
        }
    };
    Ok(match (command, rest) {
        ("indexes" | "schemas" | "info" | "help", _) | (_, "") => command.to_owned(),
        (command, rest) => format!("{command} {rest}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a form of psql that does something else here.
    #[test]
    fn forms_of_psql() {
        for (typed, command) in [
            ("\\d", "tables"),
            ("\\dt+", "tables"),
            ("\\d  orders ;", "describe orders"),
            ("\\di", "indexes"),
            ("\\timing on", "timer on"),
            ("\\timing", "timer"),
            ("\\i my file.sql", "read my file.sql"),
            ("\\x on", "mode line"),
            ("\\q", "quit"),
        ] {
            assert_eq!(translate(typed).unwrap(), command);
        }
        assert!(translate("\\z").is_err() && translate("\\").is_err());
    }
}
