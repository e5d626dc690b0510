//! Places in JSON: paths `$.a[0]."b c"`, with `*` for all of a level and `..` for all levels; pointers `/a/0/b` (RFC 6901); and names
//! alone.
//!
//! | step | what |
//! |---|---|
//! | `.a`, `."a b"` | what a name means in an object |
//! | `[0]`, `[-1]`, `[#-1]` | an element of an array, from 0, or from the end |
//! | `.*`, `[*]` | all values of an object or array |
//! | `..a` | what a name means on any level |

use datafusion::common::{Result, exec_err};

use super::value::Json;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Name(String),
    Place(i64),
    /// Of a pointer: a name in an object, a place in an array, `-` behind its last element.
    Either(String),
    AllOfObject,
    AllOfArray,
    /// Of both.
    All,
    /// What follows, on this level and all below.
    Anywhere,
}

/// The steps of a path. Without a sign before it, it is one name.
pub(super) fn path(text: &str) -> Result<Vec<Step>> {
    match text.as_bytes().first() {
        Some(b'$') => steps(text),
        Some(b'/') => {
            let step = |part: &str| Step::Either(part.replace("~1", "/").replace("~0", "~"));
            Ok(text[1..].split('/').map(step).collect())
        }
        None => Ok(Vec::new()),
        Some(_) => Ok(vec![Step::Name(text.to_owned())]),
    }
}

/// PostgreSQL's: names and places in braces, or as they are.
pub(super) fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Step> {
    let step = |name: &str| match name.parse() {
        Ok(place) if !name.starts_with('+') => Step::Either(i64::to_string(&place)),
        _ => Step::Either(name.to_owned()),
    };
    names.into_iter().map(step).collect()
}

fn steps(text: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = &text[1..];
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix("..") {
            steps.push(Step::Anywhere);
            rest = behind;
            if let Some(behind) = rest.strip_prefix('*') {
                steps.push(Step::All);
                rest = behind;
            } else if !rest.starts_with('[') {
                rest = name(text, rest, &mut steps)?;
            }
        } else if let Some(behind) = rest.strip_prefix('.') {
            rest = name(text, behind, &mut steps)?;
        } else if let Some(behind) = rest.strip_prefix('[') {
            rest = place(text, behind, &mut steps)?;
        } else {
            return exec_err!("'{text}' is no path into JSON: '{rest}' does not begin with . or [");
        }
    }
    Ok(steps)
}

/// Takes a name, and returns what stands behind.
fn name<'t>(path: &str, text: &'t str, steps: &mut Vec<Step>) -> Result<&'t str> {
    if let Some(behind) = text.strip_prefix('*') {
        steps.push(Step::AllOfObject);
        return Ok(behind);
    }
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['.', '[']).unwrap_or(text.len());
        if end == 0 {
            return exec_err!("'{path}' is no path into JSON: a name is missing");
        }
        steps.push(Step::Name(text[..end].to_owned()));
        return Ok(&text[end..]);
    };
    let (mut name, mut is_escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            '"' if !is_escaped => {
                steps.push(Step::Name(name));
                return Ok(&quoted[at + 1..]);
            }
            '\\' if !is_escaped => is_escaped = true,
            c => {
                name.push(c);
                is_escaped = false;
            }
        }
    }
    exec_err!("'{path}' is no path into JSON: a quote has no end")
}

/// Takes a place, and returns what stands behind.
fn place<'t>(path: &str, text: &'t str, steps: &mut Vec<Step>) -> Result<&'t str> {
    let Some((inner, behind)) = text.split_once(']') else {
        return exec_err!("'{path}' is no path into JSON: a bracket has no end");
    };
    if inner.starts_with('"') {
        // A name may have a bracket in it.
        let behind = name(path, text, steps)?;
        return match behind.strip_prefix(']') {
            Some(behind) => Ok(behind),
            None => exec_err!("'{path}' is no path into JSON: a bracket has no end"),
        };
    }
    let from_end = inner.strip_prefix('#').map(|number| if number.is_empty() { "-0" } else { number });
    steps.push(match (inner, from_end.unwrap_or(inner).parse::<i64>()) {
        ("*", _) => Step::AllOfArray,
        // `[#]` is behind the last element.
        (_, Ok(0)) if from_end.is_some() => Step::Either("-".to_owned()),
        (_, Ok(place)) if from_end.is_none() || place < 0 => Step::Place(place),
        _ => return exec_err!("'{path}' is no path into JSON: '{inner}' is no place, as 0 or #-1"),
    });
    Ok(behind)
}

/// Whether a path may lead to several places.
pub(super) fn is_wild(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::AllOfObject | Step::AllOfArray | Step::All | Step::Anywhere))
}

impl Step {
    /// Where a step leads that leads to one place.
    pub(super) fn of<'j, 'a>(&self, value: &'j Json<'a>) -> Option<&'j Json<'a>> {
        match self {
            Self::Name(name) => value.field(name),
            Self::Place(place) => value.element(*place),
            Self::Either(name) => match value {
                Json::Array(_) => value.element(name.parse().ok()?),
                _ => value.field(name),
            },
            _ => None,
        }
    }
}

/// What a path leads to that leads to one place.
pub(super) fn one<'j, 'a>(value: &'j Json<'a>, steps: &[Step]) -> Option<&'j Json<'a>> {
    steps.iter().try_fold(value, |value, step| step.of(value))
}

/// All that a path leads to.
pub(super) fn all<'j, 'a>(value: &'j Json<'a>, steps: &[Step], to: &mut Vec<&'j Json<'a>>) {
    let Some((step, rest)) = steps.split_first() else { return to.push(value) };
    match (step, value) {
        (Step::AllOfObject | Step::All, Json::Object(fields)) => {
            fields.iter().for_each(|(_, value)| all(value, rest, to))
        }
        (Step::AllOfArray | Step::All, Json::Array(elements)) => {
            elements.iter().for_each(|value| all(value, rest, to))
        }
        (Step::Anywhere, _) => {
            all(value, rest, to);
            match value {
                Json::Object(fields) => fields.iter().for_each(|(_, value)| all(value, steps, to)),
                Json::Array(elements) => elements.iter().for_each(|value| all(value, steps, to)),
                _ => {}
            }
        }
        _ => {
            if let Some(value) = step.of(value) {
                all(value, rest, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::value::read, *};

    // Keeps away: a path that is read as another one.
    #[test]
    fn paths_lead_where_they_say() {
        let text = "{\"a\":[{\"b\":1},{\"b\":2}],\"c.d\":3,\"e\":{\"b\":4}}";
        let json = read(text).unwrap();
        let found = |text: &str| {
            let (steps, mut to) = (path(text).unwrap(), Vec::new());
            all(&json, &steps, &mut to);
            to.iter().map(|value| value.text()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("$.a[0].b"), "1");
        assert_eq!(found("$.a[-1].b"), "2");
        assert_eq!(found("$.a[#-2].b"), "1");
        assert_eq!(found("$.\"c.d\""), "3");
        assert_eq!(found("$[\"c.d\"]"), "3");
        assert_eq!(found("c.d"), "3");
        assert_eq!(found("/a/1/b"), "2");
        assert_eq!(found("$.a[*].b"), "1 2");
        assert_eq!(found("$.*.b"), "4");
        assert_eq!(found("$..b"), "1 2 4");
        assert_eq!(found("$.a..*"), "{\"b\":1} {\"b\":2} 1 2");
        assert_eq!((found("$"), found("")), (text.to_owned(), text.to_owned()));
        assert_eq!(found("$.a[7]"), "");
        for (wrong, why) in [
            ("$a", "'a' does not begin with . or ["),
            ("$.", "a name is missing"),
            ("$.a[", "a bracket has no end"),
            ("$.a[x]", "'x' is no place, as 0 or #-1"),
            ("$.\"a", "a quote has no end"),
            ("$..", "a name is missing"),
            ("$[1", "a bracket has no end"),
        ] {
            let error = path(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}' is no path into JSON: {why}")), "{error}");
        }
    }
}
