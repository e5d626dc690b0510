//! Names of schemas and tables.

use crate::{Error, Result};

/// The schema of names without one.
pub const DEFAULT_SCHEMA: &str = "main";
/// The longest name of a schema or table, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// Checks one part of a name: not empty, not too long, no control characters, and no dot in a schema's: the first dot ends it.
pub fn check(what: &str, name: &str) -> Result<()> {
    let reason = match name {
        "" => "is empty".to_owned(),
        _ if name.len() > NAME_BYTES_MAX => format!("is longer than {NAME_BYTES_MAX} bytes"),
        _ if what == "schema" && name.contains('.') => {
            "has a dot, which separates schema and table".to_owned()
        }
        _ if name.chars().any(char::is_control) => "has a control character".to_owned(),
        _ => return Ok(()),
    };
    Err(Error::Invalid(format!("the {what} name {name:?} {reason}")))
}

/// `table` or `schema.table` as `schema.table`. The first dot is the one between them: `main.a.b` is the table `a.b` of the schema `main`.
pub fn qualify(name: &str) -> Result<String> {
    let (schema, table) = name.split_once('.').unwrap_or((DEFAULT_SCHEMA, name));
    check("schema", schema)?;
    check("table", table)?;
    Ok(format!("{schema}.{table}"))
}

/// What to say of a name that is not there, with the nearest that is.
pub fn not_found<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> String {
    match nearest(name, known.map(String::as_str)) {
        Some(near) => format!("{what} \"{name}\" (did you mean \"{near}\"?)"),
        None => format!("{what} \"{name}\""),
    }
}

/// The name that may have been meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, near) = known.map(|other| (distance(name, other), other)).min()?;
    (distance <= 2 + name.len() / 4).then_some(near)
}

/// Levenshtein's distance in bytes (the usual two-row dynamic programme).
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: names that a directory of tables could not tell apart.
    #[test]
    fn names_are_qualified_or_refused() {
        assert_eq!(qualify("t").unwrap(), "main.t");
        assert_eq!(qualify("a.t").unwrap(), "a.t");
        assert_eq!(qualify("main.a.t").unwrap(), "main.a.t");
        assert!(check("schema", "a.b").is_err());
        for bad in ["", "a.", ".t", "line\nbreak"] {
            assert!(matches!(qualify(bad), Err(Error::Invalid(_))), "{bad:?}");
        }
    }

    /// Keeps away: a wrong suggestion.
    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
