//! Colours for what is typed.

use super::keywords::is_keyword;
use super::session::is_command;
use super::split::{Kind, pieces};

const KEYWORD: &str = "\x1b[1;34m";
const TEXT: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[2m";
const COMMAND: &str = "\x1b[35m";
/// What has no end yet.
const OPEN: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// The line with colours; nothing that is seen is added or left out.
pub fn coloured(line: &str) -> String {
    if is_command(line) {
        let start = line.len() - line.trim_start().len();
        let end = line[start..].find(char::is_whitespace).map_or(line.len(), |end| start + end);
        return format!("{COMMAND}{}{PLAIN}{}", &line[..end], &line[end..]);
    }
    let mut shown = String::with_capacity(line.len() * 2);
    for piece in pieces(line) {
        let text = &line[piece.text.clone()];
        let colour = match piece.kind {
            _ if !piece.is_closed => OPEN,
            Kind::Word if is_keyword(text) => KEYWORD,
            Kind::Text => TEXT,
            Kind::Number => NUMBER,
            Kind::Comment => COMMENT,
            _ => "",
        };
        match colour {
            "" => shown.push_str(text),
            colour => shown.extend([colour, text, PLAIN]),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away colours that change what is seen, and keywords that are coloured within a text.
    #[test]
    fn colours_add_nothing() {
        for line in [
            "select 'from' , \"from\" from t where x = 1.5; -- from",
            ".mode csv",
            "  \\d t",
            "select 'open",
            "ä",
        ] {
            let shown = coloured(line);
            assert_eq!(console::strip_ansi_codes(&shown), line);
        }
        assert_eq!(coloured("select 'from'").matches(KEYWORD).count(), 1);
    }
}
