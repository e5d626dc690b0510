//! `printf(format, …)`, also called `format`: text with values in it, as C and SQLite have it.
//!
//! | conversion | value |
//! |---|---|
//! | `%d`, `%i`, `%u` | a whole number |
//! | `%f` | a number with 6 digits behind the point where `%.2f` does not say; decimals are rounded as `round` does, doubles as C does |
//! | `%e`, `%E` | a double with an exponent, and as many digits |
//! | `%g`, `%G` | a double with 6 digits in all, with an exponent where it is very large or small |
//! | `%x`, `%X`, `%o` | a whole number to the base of 16 or 8 |
//! | `%s` | text; `%.3s` at most three characters of it |
//! | `%c` | the first character |
//! | `%I`, `%L` | a text as a name or a literal in a statement, as in PostgreSQL; NULL is no name |
//! | `%%` | `%` |
//!
//! Patterns without `%` may have places in braces instead ([`places`]).
//!
//! Flags are `-` (to the left), `0`, `+`, a space, and `,` (thousands); the width may be `*`. NULL is an empty text or 0. Too few values,
//! too many and other conversions are errors.

mod places;

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, StringArray},
    datatypes::{DECIMAL256_MAX_PRECISION, DataType},
};
use datafusion::{
    common::{Result, ScalarValue, exec_datafusion_err, exec_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::text_parts::{literal, name};

/// Wider fields are refused: a mistake would take the memory.
const WIDTH_MAX: usize = 10_000;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Printf {
    signature: Signature,
    aliases: Vec<String>,
}

impl Printf {
    pub(super) fn new() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable), aliases: vec!["format".to_owned()] }
    }
}

impl ScalarUDFImpl for Printf {
    fn name(&self) -> &str {
        "printf"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns: Vec<ArrayRef> =
            args.args.iter().map(|value| value.to_array(args.number_rows)).collect::<Result<_>>()?;
        let texts = (0..args.number_rows).map(|row| {
            let value = |column: &ArrayRef| ScalarValue::try_from_array(column, row);
            match text(&value(&columns[0])?)? {
                None => Ok(None),
                Some(format) => {
                    let values = columns[1..].iter().map(value).collect::<Result<Vec<_>>>()?;
                    match !values.is_empty() && places::has_places(&format) {
                        true => places::filled(&format, &values),
                        false => written(&format, &values).map(Some),
                    }
                }
            }
        });
        Ok(ColumnarValue::Array(Arc::new(texts.collect::<Result<StringArray>>()?)))
    }
}

fn text(value: &ScalarValue) -> Result<Option<String>> {
    match value.cast_to(&DataType::Utf8)? {
        ScalarValue::Utf8(text) => Ok(text),
        other => exec_err!("{other} is no text"),
    }
}

fn whole(value: &ScalarValue) -> Result<i64> {
    match value.cast_to(&DataType::Int64)? {
        ScalarValue::Int64(number) => Ok(number.unwrap_or(0)),
        other => exec_err!("{other} is no whole number"),
    }
}

fn double(value: &ScalarValue) -> Result<f64> {
    match value.cast_to(&DataType::Float64)? {
        ScalarValue::Float64(number) => Ok(number.unwrap_or(0.0)),
        other => exec_err!("{other} is no number"),
    }
}

/// A whole number or a decimal with so many digits behind the point; `None` of what is none.
fn exact(value: &ScalarValue, digits: usize) -> Result<Option<String>> {
    let places = match value.data_type() {
        ty if ty.is_integer() => 0,
        DataType::Decimal128(_, places) | DataType::Decimal256(_, places) => {
            usize::try_from(places).unwrap_or(0)
        }
        _ => return Ok(None),
    };
    if value.is_null() {
        return Ok(None);
    }
    let kept = digits.min(places);
    let rounded = value.cast_to(&DataType::Decimal256(DECIMAL256_MAX_PRECISION, kept as i8))?;
    let Some(mut text) = text(&rounded)? else { return Ok(None) };
    if digits > kept {
        text.push_str(if kept == 0 { "." } else { "" });
        text.push_str(&"0".repeat(digits - kept));
    }
    Ok(Some(text))
}

/// How a value is to be written.
#[derive(Default)]
struct Form {
    left: bool,
    zeros: bool,
    plus: bool,
    space: bool,
    thousands: bool,
    width: usize,
    digits: Option<usize>,
}

fn written(format: &str, values: &[ScalarValue]) -> Result<String> {
    let mut out = String::with_capacity(format.len());
    let mut rest = format.chars().peekable();
    let mut values = values.iter();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut next = || {
            values
                .next()
                .ok_or_else(|| exec_datafusion_err!("printf: '{format}' asks for more values than there are"))
        };
        let mut form = Form::default();
        while let Some(flag) = rest.next_if(|c| "-0+ ,".contains(*c)) {
            match flag {
                '-' => form.left = true,
                '0' => form.zeros = true,
                '+' => form.plus = true,
                ',' => form.thousands = true,
                _ => form.space = true,
            }
        }
        let mut number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>| -> Result<usize> {
            if rest.next_if_eq(&'*').is_some() {
                let given = whole(next()?)?;
                return usize::try_from(given)
                    .or_else(|_| exec_err!("printf: the width {given} is negative"));
            }
            let mut number = 0_usize;
            while let Some(digit) = rest.next_if(char::is_ascii_digit).and_then(|c| c.to_digit(10)) {
                number = number.saturating_mul(10).saturating_add(digit as usize);
            }
            Ok(number)
        };
        form.width = number(&mut rest)?;
        if rest.next_if_eq(&'.').is_some() {
            form.digits = Some(number(&mut rest)?);
        }
        if form.width.max(form.digits.unwrap_or(0)) > WIDTH_MAX {
            return exec_err!("printf: a field of more than {WIDTH_MAX} characters in '{format}'");
        }
        match rest.next() {
            Some('%') => out.push('%'),
            Some(conversion) => out.push_str(&form.field(conversion, format, &mut next)?),
            None => return exec_err!("printf: '{format}' ends within a conversion"),
        }
    }
    match values.next() {
        None => Ok(out),
        Some(_) => exec_err!("printf: there are more values than '{format}' asks for"),
    }
}

impl Form {
    fn field<'v>(
        &self,
        conversion: char,
        format: &str,
        next: &mut impl FnMut() -> Result<&'v ScalarValue>,
    ) -> Result<String> {
        let digits = self.digits.unwrap_or(6);
        Ok(match conversion {
            'd' | 'i' | 'u' => {
                let number = whole(next()?)?;
                self.number(number < 0, &number.unsigned_abs().to_string())
            }
            'x' => self.number(false, &format!("{:x}", whole(next()?)?)),
            'X' => self.number(false, &format!("{:X}", whole(next()?)?)),
            'o' => self.number(false, &format!("{:o}", whole(next()?)?)),
            'f' | 'F' => {
                let value = next()?;
                let text = match exact(value, digits)? {
                    Some(text) => text,
                    None => format!("{:.digits$}", double(value)?),
                };
                let number = text.strip_prefix('-');
                let is_negative = number.is_some_and(|number| number.contains(|c| ('1'..='9').contains(&c)));
                self.number(is_negative, number.unwrap_or(&text))
            }
            'e' | 'E' => {
                let number = double(next()?)?;
                let text = with_exponent(&format!("{:.digits$e}", number.abs()));
                self.number(number < 0.0, &if conversion == 'E' { text.to_uppercase() } else { text })
            }
            'g' | 'G' => {
                let number = double(next()?)?;
                let text = shortest(number.abs(), digits.max(1));
                self.number(number < 0.0, &if conversion == 'G' { text.to_uppercase() } else { text })
            }
            's' => {
                let all = text(next()?)?.unwrap_or_default();
                self.padded(match self.digits {
                    Some(most) => all.chars().take(most).collect(),
                    None => all,
                })
            }
            'c' => self.padded(text(next()?)?.unwrap_or_default().chars().take(1).collect()),
            'I' => match text(next()?)? {
                Some(text) => self.padded(name(&text)),
                None => return exec_err!("format: NULL is no name, as '{format}' asks for"),
            },
            'L' => self.padded(text(next()?)?.map_or_else(|| "NULL".to_owned(), |text| literal(&text))),
            other => {
                return exec_err!(
                    "printf knows no %{other}, as in '{format}'; there are d, i, u, f, e, g, x, o, s, c, I, L"
                );
            }
        })
    }

    /// A number with its sign.
    fn number(&self, is_negative: bool, digits: &str) -> String {
        let sign = match (is_negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let mut digits = if self.thousands { by_thousands(digits) } else { digits.to_owned() };
        if self.zeros && !self.left {
            let missing = self.width.saturating_sub(sign.len() + digits.len());
            digits.insert_str(0, &"0".repeat(missing));
        }
        self.padded(format!("{sign}{digits}"))
    }

    fn padded(&self, text: String) -> String {
        let width = self.width;
        if self.left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }
}

/// A number of so many digits, without zeros at its end.
fn shortest(number: f64, digits: usize) -> String {
    if !number.is_finite() {
        return number.to_string().to_lowercase();
    }
    let with_exponent_text = format!("{number:.*e}", digits - 1);
    let exponent: i32 = with_exponent_text.rsplit('e').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent >= -4 && exponent < digits as i32 {
        return trimmed(&format!("{number:.*}", (digits as i32 - 1 - exponent) as usize));
    }
    let (mantissa, _) = with_exponent_text.split_once('e').unwrap_or((&with_exponent_text, ""));
    with_exponent(&format!("{}e{exponent}", trimmed(mantissa)))
}

/// The exponent with its sign and two digits, as C has it.
fn with_exponent(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text.to_owned(),
    }
}

fn by_thousands(digits: &str) -> String {
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::with_capacity(digits.len() + whole.len() / 3);
    for (nth, digit) in whole.chars().enumerate() {
        if nth > 0 && (whole.len() - nth) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}
