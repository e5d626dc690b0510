//! Regular expressions: a text split by what fits, whether all of it fits. Options are letters: `i` without
//! regard to case, `c` with it, `s` a point is also the end of a line, `m`, `n` and `p` lines begin and end at their ends, `l` no
//! expression but a text.

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use regex::{Regex, RegexBuilder};
use std::{cell::RefCell, collections::HashMap};

use super::plain::{
    Form, Given,
    Kind::{Bool, Text, Texts},
    Made, Named, plain,
};

pub(super) static ALL: [Named; 5] = [
    Named {
        names: &["regexp_full_match"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text, Text], gives: Bool, make: |of| full_match(of, None) },
            Form { takes: &[Text, Text, Text], gives: Bool, make: |of| full_match(of, Some(of[2].text())) },
        ],
    },
    Named {
        names: &["regexp_matches"],
        is_volatile: false,
        forms: &[Form {
            takes: &[Text, Text, Text],
            gives: Bool,
            make: |of| matches(of, Some(of[2].text())),
        }],
    },
    Named {
        names: &["regexp_split_to_array", "string_split_regex", "str_split_regex"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text, Text], gives: Texts, make: |of| split(of, None) },
            Form { takes: &[Text, Text, Text], gives: Texts, make: |of| split(of, Some(of[2].text())) },
        ],
    },
    Named {
        names: &["regexp_substr"],
        is_volatile: false,
        forms: &[Form { takes: &[Text, Text], gives: Text, make: first }],
    },
    plain!(["regexp_escape"], [Text] => Text, |of| Ok(escape(of[0].text()).into())),
];

thread_local! {
    /// The last expressions: a statement asks for the same ones in each row.
    static KNOWN: RefCell<HashMap<(String, String), Regex>> = RefCell::default();
}

/// More are not kept.
const KNOWN_MAX: usize = 64;

/// An expression with its options.
pub(super) fn expression(name: &str, pattern: &str, options: Option<&str>) -> Result<Regex> {
    let key = (pattern.to_owned(), options.unwrap_or_default().to_owned());
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
        return Ok(known);
    }
    let built = built(name, pattern, options.unwrap_or_default())?;
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(key, built.clone());
    });
    Ok(built)
}

fn built(name: &str, pattern: &str, options: &str) -> Result<Regex> {
    let literal = options.contains('l').then(|| regex::escape(pattern));
    let mut builder = RegexBuilder::new(literal.as_deref().unwrap_or(pattern));
    for option in options.chars() {
        match option {
            'i' => builder.case_insensitive(true),
            'c' => builder.case_insensitive(false),
            's' => builder.dot_matches_new_line(true),
            'm' | 'n' | 'p' => builder.multi_line(true),
            'l' | 'g' => &mut builder,
            other => return exec_err!("{name}: '{other}' is no option; there are i, c, s, m, l"),
        };
    }
    builder
        .build()
        .map_err(|error| exec_datafusion_err!("{name}: '{pattern}' is no regular expression: {error}"))
}

fn full_match(of: &[Given<'_>], options: Option<&str>) -> Result<Made> {
    let whole = format!(r"\A(?:{})\z", of[1].text());
    // Else a mistake in it would be told of another one.
    expression("regexp_full_match", of[1].text(), options)?;
    Ok(expression("regexp_full_match", &whole, options)?.is_match(of[0].text()).into())
}

fn matches(of: &[Given<'_>], options: Option<&str>) -> Result<Made> {
    Ok(expression("regexp_matches", of[1].text(), options)?.is_match(of[0].text()).into())
}

fn split(of: &[Given<'_>], options: Option<&str>) -> Result<Made> {
    let (text, pattern) = (of[0].text(), of[1].text());
    if pattern.is_empty() {
        return Ok(Made::Texts(text.chars().map(|c| Some(c.to_string())).collect()));
    }
    let expression = expression("regexp_split_to_array", pattern, options)?;
    Ok(Made::Texts(expression.split(text).map(|part| Some(part.to_owned())).collect()))
}

fn first(of: &[Given<'_>]) -> Result<Made> {
    let found = expression("regexp_substr", of[1].text(), None)?;
    Ok(found.find(of[0].text()).map(|found| found.as_str().to_owned()).into())
}

/// All but letters, digits and `_` with a backslash before it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
