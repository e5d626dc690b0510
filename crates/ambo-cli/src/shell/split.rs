//! SQL text as pieces, as far as a person has typed it: for colours, for completion, and to see where a statement ends.
//!
//! The parser of statements wants whole ones; this looks at anything. It knows what hides a semicolon: `'…'`, `"…"`, `$tag$…$tag$`,
//! `-- …` and `/* … */`, which may be nested.

use std::ops::Range;

/// What a piece of a statement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A name between double quotes.
    Quoted,
    /// A text between single quotes or dollars.
    Text,
    Number,
    Comment,
    Blank,
    /// The end of a statement.
    Semicolon,
    /// An operator, a parenthesis, a comma.
    Other,
}

/// A piece, and whether its end is there: a quote may still be open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    pub kind: Kind,
    pub text: Range<usize>,
    pub is_closed: bool,
}

/// The pieces of a text, without gaps.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (kind, length, is_closed) = piece(&text[at..], first);
        pieces.push(Piece { kind, text: at..at + length, is_closed });
        at += length;
    }
    pieces
}

/// What the text begins with: the kind, the length in bytes, and whether its end was found.
fn piece(text: &str, first: char) -> (Kind, usize, bool) {
    let run = |kind, is_part: fn(char) -> bool| {
        (kind, text.find(|c: char| !is_part(c)).unwrap_or(text.len()), true)
    };
    match first {
        ';' => (Kind::Semicolon, 1, true),
        '\'' => quoted(text, Kind::Text, 0, false),
        '"' => quoted(text, Kind::Quoted, 0, false),
        'e' | 'E' if text[1..].starts_with('\'') => quoted(text, Kind::Text, 1, true),
        '$' => dollars(text).unwrap_or((Kind::Other, 1, true)),
        '-' if text.starts_with("--") => {
            let end = text.find('\n');
            (Kind::Comment, end.unwrap_or(text.len()), true)
        }
        '/' if text.starts_with("/*") => comment(text),
        c if c.is_whitespace() => run(Kind::Blank, char::is_whitespace),
        c if c.is_ascii_digit() => run(Kind::Number, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_'),
        c if is_word(c) => run(Kind::Word, is_word),
        c => (Kind::Other, c.len_utf8(), true),
    }
}

/// Whether a character may be in a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What stands between the quote at `open` and the next that is not doubled, nor behind a backslash where those count.
fn quoted(text: &str, kind: Kind, open: usize, has_escapes: bool) -> (Kind, usize, bool) {
    let bytes = text.as_bytes();
    let quote = bytes[open];
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if has_escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return (kind, at + 1, true),
            _ => at += 1,
        }
    }
    (kind, bytes.len(), false)
}

/// `$$…$$` and `$tag$…$tag$`; `None` for a parameter such as `$1`.
fn dollars(text: &str) -> Option<(Kind, usize, bool)> {
    let tag = text[1..].find(|c: char| !is_word(c))? + 1;
    if !text[tag..].starts_with('$') || text[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mark = &text[..=tag];
    let end = text[mark.len()..].find(mark).map(|end| mark.len() + end + mark.len());
    Some((Kind::Text, end.unwrap_or(text.len()), end.is_some()))
}

fn comment(text: &str) -> (Kind, usize, bool) {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return (Kind::Comment, at, true);
        }
    }
    (Kind::Comment, text.len(), false)
}

/// The first word of a statement, in small letters.
pub fn first_word(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kind, length, _) = piece(rest, first);
        match kind {
            Kind::Blank | Kind::Comment => rest = &rest[length..],
            Kind::Word => return Some(rest[..length].to_ascii_lowercase()),
            _ => return None,
        }
    }
    None
}

/// Where the first statement of the text ends, behind its semicolon; `None` if it does not end here.
pub fn end_of_statement(text: &str) -> Option<usize> {
    pieces(text).iter().find(|piece| piece.kind == Kind::Semicolon).map(|piece| piece.text.end)
}

/// Whether there is nothing but blanks, comments and semicolons.
pub fn is_empty(text: &str) -> bool {
    let is_nothing = |piece: &Piece| {
        matches!(piece.kind, Kind::Blank | Kind::Semicolon | Kind::Comment) && piece.is_closed
    };
    pieces(text).iter().all(is_nothing)
}

/// Whether the text ends with a semicolon, but for blanks and comments, or says nothing.
pub fn is_complete(text: &str) -> bool {
    let pieces = pieces(text);
    let last = pieces.iter().rev().find(|piece| !matches!(piece.kind, Kind::Blank | Kind::Comment));
    let is_open = pieces.last().is_some_and(|piece| !piece.is_closed);
    match last {
        Some(piece) => piece.kind == Kind::Semicolon && !is_open,
        None => !is_open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a statement that ends within a text, a name or a comment, and one that never ends.
    #[test]
    fn semicolons_that_end_statements() {
        for text in [
            "select 1;",
            "select ';''' ; -- done",
            "select \"a;b\";\n",
            "select 1 /* ; /* ; */ ; */;",
            "select $$a;b$$, $x$ $$; $x$;",
            "select E'it\\'s;' ;",
            "select $1;",
            "",
            "  -- only a remark",
        ] {
            assert!(is_complete(text), "{text}");
        }
        for text in
            ["select 1", "select ';", "select \"a;", "/* ;", "select $$;", "; select 1 -- ;", "select E'\\';"]
        {
            assert!(!is_complete(text), "{text}");
        }
        assert_eq!(end_of_statement("select ';' ; select 2;"), Some(12));
        assert!(is_empty(" ; -- x\n;") && !is_empty("/*") && !is_empty("a"));
    }

    // Keeps away a piece that is lost, or one that is cut within a character.
    #[test]
    fn pieces_have_no_gaps() {
        for text in [
            "select 'ä' , \"ö\" from ñ1 where x>=1.5e3;--ß\n",
            "€$ €$€$ $a$",
            "E'",
            "E'\\",
            "'",
            "/*/",
            "é'é",
        ] {
            let mut end = 0;
            for piece in pieces(text) {
                assert_eq!(piece.text.start, end, "{text}");
                end = piece.text.end;
                assert!(!text[piece.text].is_empty());
            }
            assert_eq!(end, text.len());
        }
        let kinds: Vec<_> = pieces("x1 'a'2").iter().map(|piece| piece.kind).collect();
        assert_eq!(kinds, [Kind::Word, Kind::Blank, Kind::Text, Kind::Number]);
    }
}
