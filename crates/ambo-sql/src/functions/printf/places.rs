//! Patterns with places in braces, as Python, Rust and DuckDB have them: `{}`, `{1}`, `{:>10}`, `{:05d}`, `{:,.2f}`, `{{`.
//!
//! | part | what |
//! |---|---|
//! | `*>`, `<`, `^`, `>` | what fills the width, and where the value stands: numbers on the right, others on the left |
//! | `+`, a blank | the sign of what is not negative |
//! | `0` | zeros behind the sign |
//! | `12` | the least width |
//! | `,`, `_`, `'` | between thousands |
//! | `.2` | digits behind the point, or the most characters of a text |
//! | `d`, `x`, `X`, `o`, `b` | a whole number to a base |
//! | `f`, `e`, `E`, `g`, `G` | a number with a fraction |
//! | `s` | a text |

use std::{iter::Peekable, str::Chars};

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};

use super::{WIDTH_MAX, double, exact, shortest, text, whole, with_exponent};

/// Whether a pattern has such places. One with `%` is C's.
pub(super) fn has_places(pattern: &str) -> bool {
    let opens = |(at, _): (usize, &str)| {
        pattern[at + 1..].starts_with(|c: char| c == '}' || c == ':' || c.is_ascii_digit())
    };
    !pattern.contains('%') && pattern.match_indices('{').any(opens)
}

/// A pattern with values in its places; `None` if one of them is NULL.
pub(super) fn filled(pattern: &str, values: &[ScalarValue]) -> Result<Option<String>> {
    if values.iter().any(ScalarValue::is_null) {
        return Ok(None);
    }
    let mut out = String::with_capacity(pattern.len());
    let (mut rest, mut next) = (pattern.chars().peekable(), 0);
    while let Some(c) = rest.next() {
        match c {
            '{' if rest.next_if_eq(&'{').is_some() => out.push('{'),
            '}' if rest.next_if_eq(&'}').is_some() => out.push('}'),
            '}' => return exec_err!("format: a }} without {{ in '{pattern}'; }}}} is one in the text"),
            '{' => {
                let place = number(&mut rest).unwrap_or_else(|| {
                    next += 1;
                    next - 1
                });
                let form = match rest.next_if_eq(&':') {
                    Some(_) => Form::read(&mut rest),
                    None => Form::default(),
                };
                if rest.next() != Some('}') {
                    return exec_err!(
                        "format: a place in '{pattern}' is not understood; it is as {{:>10}}, {{:.2f}}"
                    );
                }
                let Some(value) = values.get(place) else {
                    return exec_err!("format: '{pattern}' asks for more values than there are");
                };
                out.push_str(&form.written(value)?);
            }
            c => out.push(c),
        }
    }
    Ok(Some(out))
}

fn number(rest: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let mut number = None;
    while let Some(digit) = rest.next_if(char::is_ascii_digit).and_then(|c| c.to_digit(10)) {
        number = Some(number.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit as usize));
    }
    number
}

/// How a value is written.
#[derive(Default)]
struct Form {
    align: Option<(char, char)>,
    sign: Option<char>,
    zeros: bool,
    width: usize,
    between: Option<char>,
    digits: Option<usize>,
    kind: Option<char>,
}

impl Form {
    fn read(rest: &mut Peekable<Chars<'_>>) -> Self {
        let is_align = |c: &char| ['<', '^', '>'].contains(c);
        let mut form = Self::default();
        let mut ahead = rest.clone();
        if let (Some(fill), Some(align)) = (ahead.next(), ahead.next())
            && is_align(&align)
        {
            form.align = Some((fill, align));
            *rest = ahead;
        } else if let Some(align) = rest.next_if(is_align) {
            form.align = Some((' ', align));
        }
        form.sign = rest.next_if(|c| ['+', '-', ' '].contains(c)).filter(|sign| *sign != '-');
        form.zeros = rest.next_if_eq(&'0').is_some();
        form.width = number(rest).unwrap_or(0);
        form.between = rest.next_if(|c| [',', '_', '\''].contains(c));
        if rest.next_if_eq(&'.').is_some() {
            form.digits = number(rest);
        }
        form.kind = rest.next_if(|c| *c != '}');
        form
    }

    fn written(&self, value: &ScalarValue) -> Result<String> {
        if self.width.max(self.digits.unwrap_or(0)) > WIDTH_MAX {
            return exec_err!("format: a field of more than {WIDTH_MAX} characters");
        }
        let ty = value.data_type();
        let wrong = |kind: char| exec_err!("format: {{:{kind}}} does not write values of type {ty}");
        if !ty.is_numeric() {
            let all = match self.kind {
                None | Some('s') => text(value)?.unwrap_or_default(),
                Some(kind) => return wrong(kind),
            };
            let most = self.digits.unwrap_or(usize::MAX);
            return Ok(self.padded(all.chars().take(most).collect(), '<'));
        }
        let is_whole = ty.is_integer() || matches!(ty, DataType::Decimal128(_, 0));
        let digits = self.digits.unwrap_or(6);
        let magnitude = match self.kind {
            None | Some('d') if is_whole => text(value)?.unwrap_or_default(),
            Some(kind @ ('x' | 'X' | 'o' | 'b')) if is_whole => {
                let number = whole(value)?;
                let sign = if number < 0 { "-" } else { "" };
                let number = number.unsigned_abs();
                sign.to_owned()
                    + &match kind {
                        'x' => format!("{number:x}"),
                        'X' => format!("{number:X}"),
                        'o' => format!("{number:o}"),
                        _ => format!("{number:b}"),
                    }
            }
            Some(kind) if is_whole => return wrong(kind),
            None => match (self.digits, ty.is_floating()) {
                (Some(digits), _) => signed(double(value)?, |number| shortest(number, digits.max(1))),
                (None, true) => signed(double(value)?, |number| with_exponent(&format!("{number:?}"))),
                (None, false) => without_zeros(&text(value)?.unwrap_or_default()),
            },
            Some('f' | 'F') => match exact(value, digits)? {
                Some(text) => text,
                None => signed(double(value)?, |number| format!("{number:.digits$}")),
            },
            Some(kind @ ('e' | 'E' | 'g' | 'G')) => {
                let all = signed(double(value)?, |number| match kind {
                    'e' | 'E' => with_exponent(&format!("{number:.digits$e}")),
                    _ => shortest(number, digits.max(1)),
                });
                if kind.is_uppercase() { all.to_uppercase() } else { all }
            }
            Some(kind) => return wrong(kind),
        };
        Ok(self.number(&magnitude))
    }

    /// A number with its sign, what stands between thousands, and zeros.
    fn number(&self, all: &str) -> String {
        let (sign, magnitude) = match all.strip_prefix('-') {
            Some(magnitude) => ("-".to_owned(), magnitude),
            None => (self.sign.map(String::from).unwrap_or_default(), all),
        };
        let mut magnitude = match self.between {
            Some(between) => super::by_thousands(magnitude).replace(',', &between.to_string()),
            None => magnitude.to_owned(),
        };
        if self.zeros && self.align.is_none() {
            let missing = self.width.saturating_sub(sign.len() + magnitude.len());
            magnitude.insert_str(0, &"0".repeat(missing));
        }
        self.padded(format!("{sign}{magnitude}"), '>')
    }

    fn padded(&self, text: String, align: char) -> String {
        let (fill, align) = self.align.unwrap_or((' ', align));
        let missing = self.width.saturating_sub(text.chars().count());
        let before = match align {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        let fill = |count: usize| fill.to_string().repeat(count);
        format!("{}{text}{}", fill(before), fill(missing - before))
    }
}

fn signed(number: f64, write: impl Fn(f64) -> String) -> String {
    if !number.is_finite() {
        return number.to_string().to_lowercase();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", write(number.abs()))
}

/// A decimal with one digit behind the point at least, and no zeros behind others.
fn without_zeros(text: &str) -> String {
    match text.trim_end_matches('0') {
        trimmed if trimmed.ends_with('.') => format!("{trimmed}0"),
        trimmed => trimmed.to_owned(),
    }
}
