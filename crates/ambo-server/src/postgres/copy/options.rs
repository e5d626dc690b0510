//! What a COPY says: of what, whereto, and in which form.

use super::super::{
    failure::Failure,
    words::{Word, word, words},
};

/// COPY with the client.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Copy {
    /// Whether rows come from the client.
    pub is_in: bool,
    pub of: Of,
    pub form: Form,
}

/// What is copied.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Of {
    /// A table by its name, and the names of columns as they were written, with commas between them.
    Table {
        name: String,
        columns: Option<String>,
    },
    Query(String),
}

/// How rows are written.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Form {
    pub kind: Kind,
    pub delimiter: u8,
    pub null: String,
    pub header: bool,
    pub quote: u8,
    pub escape: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Text,
    Csv,
    Binary,
}

impl Copy {
    /// What stands behind the word COPY; `None` if it is about files, which is the engine's matter.
    ///
    /// # Errors
    /// An option that is none.
    pub fn of(rest: &str) -> Result<Option<Self>, Failure> {
        let Some((of, mut rest)) = of(rest) else { return Ok(None) };
        let mut next = || {
            let (found, after) = word(rest)?;
            rest = after;
            Some(found)
        };
        let (direction, place) = (next(), next());
        let (Some(Word::Plain(direction)), Some(Word::Plain(place))) = (direction, place) else {
            return Ok(None);
        };
        let is_in = match (direction.as_str(), place.as_str()) {
            ("from", "stdin") => true,
            ("to", "stdout") => false,
            _ => return Ok(None),
        };
        if is_in && matches!(of, Of::Query(_)) {
            return Err(Failure::new("42601", "a query is no table to copy into"));
        }
        Ok(Some(Self { is_in, of, form: form(&words(rest))? }))
    }
}

/// A table with its columns, or a query between parentheses; and what is behind.
fn of(text: &str) -> Option<(Of, &str)> {
    let (first, after) = word(text)?;
    if first.is("(") {
        let end = closing(after)?;
        return Some((Of::Query(after[..end].trim().to_owned()), &after[end + 1..]));
    }
    let mut rest = after;
    // A name of several parts, each with quotes or without.
    while let Some((next, after)) = word(rest) {
        match next {
            Word::Plain(sign) if sign.starts_with('.') || text[..text.len() - rest.len()].ends_with('.') => {
                rest = after
            }
            Word::Quoted(_) if text[..text.len() - rest.len()].ends_with('.') => rest = after,
            _ => break,
        }
    }
    let name = text[..text.len() - rest.len()].trim().to_owned();
    let (next, after) = word(rest)?;
    if !next.is("(") {
        return Some((Of::Table { name, columns: None }, rest));
    }
    let end = closing(after)?;
    Some((Of::Table { name, columns: Some(after[..end].trim().to_owned()) }, &after[end + 1..]))
}

/// Where the parenthesis ends that was open before a text.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut rest) = (1, text);
    loop {
        let (next, after) = word(rest)?;
        if next.is("(") {
            depth += 1;
        } else if next.is(")") {
            depth -= 1;
            if depth == 0 {
                return Some(text.len() - after.len() - 1);
            }
        }
        rest = after;
    }
}

fn form(all: &[Word]) -> Result<Form, Failure> {
    let all: Vec<_> = all
        .iter()
        .filter(|word| !word.is("with") && !word.is("(") && !word.is(")") && !word.is(",") && !word.is("as"))
        .collect();
    let (mut kind, mut delimiter, mut null, mut header) = (Kind::Text, None, None, false);
    let (mut quote, mut escape) = (b'"', None);
    let mut nth = 0;
    let wrong =
        |what: &str| Err(Failure::new("42601", format!("COPY has no option {what} that is understood here")));
    while let Some(option) = all.get(nth) {
        let Word::Plain(name) = option else { return wrong(&(*option).clone().text()) };
        let value = all.get(nth + 1).map(|word| (*word).clone());
        let is_boolean = value
            .as_ref()
            .is_some_and(|word| ["true", "false", "on", "off", "1", "0"].iter().any(|known| word.is(known)));
        let on = !value.as_ref().is_some_and(|word| ["false", "off", "0"].iter().any(|known| word.is(known)));
        let text = value.map(Word::text).unwrap_or_default();
        let byte = || match text.as_bytes() {
            [byte] => Ok(*byte),
            _ => Err(Failure::new("0A000", format!("COPY {name} must be a single one-byte character"))),
        };
        let mut step = 2;
        match name.as_str() {
            "format" => match text.to_lowercase().as_str() {
                "text" => kind = Kind::Text,
                "csv" => kind = Kind::Csv,
                "binary" => kind = Kind::Binary,
                other => {
                    return Err(Failure::new("22023", format!("COPY format \"{other}\" not recognized")));
                }
            },
            "csv" => (kind, step) = (Kind::Csv, 1),
            "binary" => (kind, step) = (Kind::Binary, 1),
            "header" => (header, step) = (on, if is_boolean { 2 } else { 1 }),
            // Rows are as durable as the database says.
            "freeze" => step = if is_boolean { 2 } else { 1 },
            "delimiter" | "delimiters" => delimiter = Some(byte()?),
            "null" => null = Some(text),
            "quote" => quote = byte()?,
            "escape" => escape = Some(byte()?),
            "encoding" if text.to_lowercase().replace('-', "") == "utf8" => {}
            other => return wrong(other),
        }
        nth += step;
    }
    let is_csv = kind == Kind::Csv;
    Ok(Form {
        kind,
        delimiter: delimiter.unwrap_or(if is_csv { b',' } else { b'\t' }),
        null: null.unwrap_or_else(|| if is_csv { String::new() } else { "\\N".to_owned() }),
        header,
        quote,
        escape: escape.unwrap_or(quote),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told() {
        let copy = |text: &str| Copy::of(text).unwrap();
        let table = |name: &str, columns: Option<&str>| Of::Table {
            name: name.to_owned(),
            columns: columns.map(str::to_owned),
        };
        let of = copy(" public.\"T x\" (a, \"b)\") FROM STDIN WITH (FORMAT csv, HEADER, NULL 'x')").unwrap();
        assert_eq!((of.is_in, of.of), (true, table("public.\"T x\"", Some("a, \"b)\""))));
        assert_eq!(
            (of.form.kind, of.form.header, of.form.null.as_str(), of.form.delimiter),
            (Kind::Csv, true, "x", b',')
        );
        let of = copy("(select ')' from t) to stdout (format \"binary\")").unwrap();
        assert_eq!(
            (of.is_in, of.of, of.form.kind),
            (false, Of::Query("select ')' from t".to_owned()), Kind::Binary)
        );
        let of = copy("t from stdin with (freeze on)").unwrap();
        assert_eq!((of.of, of.form.kind, of.form.delimiter), (table("t", None), Kind::Text, b'\t'));
        assert_eq!(copy("t from stdin delimiter ';' csv").unwrap().form.delimiter, b';');
        assert_eq!(copy("t from 'x.csv'"), None);
        assert_eq!(Copy::of("t to stdout (force_quote *)").unwrap_err().code, "42601");
    }
}
