//! `like_escape(pattern, escape)` and `similar_to_escape(pattern [, escape])`, as PostgreSQL has them: the pattern of a LIKE with another
//! sign than the backslash before what stands for itself, written with the backslash; and the pattern of a SIMILAR TO as a regular
//! expression that all of a text has to fit. `glob_to_regexp(pattern)` is that of a GLOB.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, StringArray},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, exec_datafusion_err, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::value::returned;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    kind: Kind,
    signature: Signature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Like,
    Similar,
    Glob,
}

impl Pattern {
    pub(super) fn every() -> [Self; 3] {
        [Kind::Like, Kind::Similar, Kind::Glob]
            .map(|kind| Self { kind, signature: Signature::user_defined(Volatility::Immutable) })
    }
}

impl ScalarUDFImpl for Pattern {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Like => "like_escape",
            Kind::Similar => "similar_to_escape",
            Kind::Glob => "glob_to_regexp",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (types.len(), self.kind) {
            (1, Kind::Glob) => Ok(vec![DataType::Utf8]),
            (_, Kind::Glob) => plan_err!("{} has a pattern", self.name()),
            (2, _) | (1, Kind::Similar) => Ok(vec![DataType::Utf8; types.len()]),
            _ => plan_err!("{} has a pattern and the sign before what stands for itself", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let columns: Vec<_> = args.args.iter().map(|value| value.to_array(rows)).collect::<Result<_>>()?;
        let text = |column: usize, row: usize| {
            let texts: &StringArray = columns[column].as_string();
            texts.is_valid(row).then(|| texts.value(row))
        };
        let read = |row| -> Result<Option<String>> {
            let Some(pattern) = text(0, row) else { return Ok(None) };
            let escape = if columns.len() > 1 { text(1, row) } else { Some("\\") };
            let Some(escape) = escape else { return Ok(None) };
            let escape = one_sign(escape)?;
            let read = match self.kind {
                Kind::Like => like(pattern, escape),
                Kind::Similar => regex(pattern, escape),
                Kind::Glob => glob(pattern),
            };
            read.map(Some)
        };
        let read: StringArray = (0..rows).map(read).collect::<Result<_>>()?;
        returned(Arc::new(read), is_constant)
    }
}

/// The sign before what stands for itself; none if the text is empty.
fn one_sign(escape: &str) -> Result<Option<char>> {
    let mut signs = escape.chars();
    match (signs.next(), signs.next()) {
        (sign, None) => Ok(sign),
        _ => exec_err!("ESCAPE '{escape}': it is one character, or none"),
    }
}

fn ends_with_escape(pattern: &str) -> datafusion::error::DataFusionError {
    exec_datafusion_err!(
        "the pattern '{pattern}' ends with its ESCAPE character, which stands before another"
    )
}

fn like(pattern: &str, escape: Option<char>) -> Result<String> {
    if escape == Some('\\') {
        return Ok(pattern.to_owned());
    }
    let mut read = String::with_capacity(pattern.len() + 8);
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        let literal = match sign {
            sign if Some(sign) == escape => signs.next().ok_or_else(|| ends_with_escape(pattern))?,
            '\\' => '\\',
            other => {
                read.push(other);
                continue;
            }
        };
        if matches!(literal, '%' | '_' | '\\') {
            read.push('\\');
        }
        read.push(literal);
    }
    Ok(read)
}

fn regex(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut read = String::with_capacity(pattern.len() + 16);
    // A line break is a character as others.
    read.push_str("^(?s:");
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            sign if Some(sign) == escape => {
                let literal = signs.next().ok_or_else(|| ends_with_escape(pattern))?;
                read.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
            }
            '%' => read.push_str(".*"),
            '_' => read.push('.'),
            '(' => read.push_str("(?:"),
            '[' => brackets(&mut signs, &mut read, pattern, escape, false)?,
            '|' | '*' | '+' | '?' | ')' | '{' | '}' => read.push(sign),
            other => read.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    read.push_str(")$");
    Ok(read)
}

/// The regular expression of a pattern of GLOB: `*` is any text, `?` any character.
fn glob(pattern: &str) -> Result<String> {
    let mut read = String::with_capacity(pattern.len() + 16);
    read.push_str("^(?s:");
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => {
                let literal = signs.next().ok_or_else(|| ends_with_escape(pattern))?;
                read.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
            }
            '*' => read.push_str(".*"),
            '?' => read.push('.'),
            '[' => brackets(&mut signs, &mut read, pattern, Some('\\'), true)?,
            other => read.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    read.push_str(")$");
    Ok(read)
}

/// What stands between brackets, up to the closing one.
fn brackets(
    signs: &mut std::iter::Peekable<std::str::Chars<'_>>,
    read: &mut String,
    pattern: &str,
    escape: Option<char>,
    is_glob: bool,
) -> Result<()> {
    read.push('[');
    if signs.next_if(|sign| *sign == '^' || *sign == '!' && is_glob).is_some() {
        read.push('^');
    }
    let mut is_first = true;
    while let Some(sign) = signs.next() {
        match sign {
            ']' if !is_first => {
                read.push(']');
                return Ok(());
            }
            // As in [[:alpha:]].
            '[' if signs.next_if_eq(&':').is_some() => {
                let class: String = signs.by_ref().take_while(|sign| *sign != ']').collect();
                read.push_str(&format!("[:{class}]"));
            }
            sign if Some(sign) == escape => {
                let literal = signs.next().ok_or_else(|| ends_with_escape(pattern))?;
                read.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
            }
            '-' => read.push('-'),
            other => read.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
        is_first = false;
    }
    exec_err!("the pattern '{pattern}' has a [ without ]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_error<T: std::fmt::Debug>(read: Result<T>, said: &str) {
        let error = read.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }

    /// Keeps away: wildcards for signs that stand for themselves, and signs for wildcards.
    #[test]
    fn patterns_of_like_are_written_with_backslashes() {
        for (pattern, escape, read) in [
            ("a!_b%", "!", "a\\_b%"),
            ("!!!%", "!", "!\\%"),
            ("!a", "!", "a"),
            ("back\\slash", "!", "back\\\\slash"),
            ("a\\_b", "\\", "a\\_b"),
            ("a\\_b", "", "a\\\\_b"),
            ("%%%%", "%", "\\%\\%"),
        ] {
            let escape = one_sign(escape).unwrap();
            assert_eq!(like(pattern, escape).unwrap(), read, "{pattern}");
        }
        assert_error(like("%%%", Some('%')), "the pattern '%%%' ends with its ESCAPE character");
        assert_error(one_sign("ab"), "ESCAPE 'ab': it is one character, or none");
    }

    /// Keeps away: signs of another kind of pattern.
    #[test]
    fn patterns_of_glob_are_regular_expressions() {
        let fits =
            |text: &str, pattern: &str| regex::Regex::new(&glob(pattern).unwrap()).unwrap().is_match(text);
        for (text, pattern) in [
            ("abc", "a*"),
            ("a", "?"),
            ("b", "[a-c]"),
            ("d", "[!a-c]"),
            ("a*", "a\\*"),
            ("a%_.", "a%_."),
            ("", "*"),
        ] {
            assert!(fits(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("abc", "a"), ("ab", "?"), ("ab", "a\\*"), ("b", "[!a-c]"), ("A", "a")] {
            assert!(!fits(text, pattern), "{text} {pattern}");
        }
    }

    /// Keeps away: a part of a text that fits, where all of it has to.
    #[test]
    fn patterns_of_similar_to_are_regular_expressions() {
        let fits = |text: &str, pattern: &str| {
            regex::Regex::new(&regex(pattern, Some('\\')).unwrap()).unwrap().is_match(text)
        };
        for (text, pattern) in [
            ("axb", "(a|b)_b"),
            ("abc", "abc"),
            ("a\nb", "a_b"),
            ("a.b", "a.b"),
            ("^a", "^a"),
            ("aaa", "a{2,3}"),
            ("x5", "[a-z][[:digit:]]"),
            ("]", "[]]"),
            ("&&", "[&]+"),
            ("50%", "[0-9]+\\%"),
            ("é", "[^a-z]"),
        ] {
            assert!(fits(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in
            [("aaa", "^a"), ("abc", "b"), ("abc", "a|b"), ("axb", "a.b"), ("a", "a$"), ("b", "[^a-z]")]
        {
            assert!(!fits(text, pattern), "{text} {pattern}");
        }
        assert_error(regex("a\\", Some('\\')), "the pattern 'a\\' ends with its ESCAPE character");
        assert_error(regex("[a", None), "the pattern '[a' has a [ without ]");
    }
}
