//! Texts of lists, arrays, structs and maps as their values: what results show of them, and JSON.
//!
//! `[1, NULL, 3]`; `{'a': 1, "b": x}`; `{k=v}`. A text stands between quotes of either kind, where a backslash says that the next sign is
//! meant as it is (`\n`, `\t`, `\u00e9` as in JSON), or without, up to what ends it. NULL without quotes is NULL. A field of a struct that
//! is not there is NULL.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, AsArray, FixedSizeListArray, ListArray, StringArray, StructArray, new_null_array,
    },
    buffer::{NullBuffer, OffsetBuffer, ScalarBuffer},
    compute::cast,
    datatypes::{DataType, FieldRef, Fields},
};
use datafusion::common::{Result, exec_err};

use super::{cast::of_part, enums::is_enum};
use crate::{error::type_in_sql, nested::is_nested, numbers::map_of, times::Zone};

/// Texts as values of a nested type.
///
/// # Errors
/// A text that is none, if that is `strict`; otherwise it is NULL.
pub(super) fn nested(texts: &ArrayRef, to: &DataType, zone: Zone, strict: bool) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8)?;
    let mut values = Vec::with_capacity(texts.len());
    for text in texts.as_string::<i32>() {
        values.push(match text.map(|text| (text, parse(text, to))) {
            Some((_, Ok(value))) => value,
            Some((text, Err(what))) if strict => {
                return exec_err!("'{text}' is no {}: {what}", type_in_sql(to));
            }
            _ => Value::Null,
        });
    }
    build(values, to, &Cast { zone, strict })
}

/// A value as it is written.
enum Value {
    Null,
    Text(String),
    /// The items of a list or an array, or the fields of a struct in the order of its type.
    Items(Vec<Value>),
    Entries(Vec<(Value, Value)>),
}

type Read<T> = std::result::Result<T, String>;

fn parse(text: &str, ty: &DataType) -> Read<Value> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(ty, "")?;
    reader.blanks();
    match reader.rest().is_empty() {
        true => Ok(value),
        false => Err(format!("{} stands behind it", shown(reader.rest()))),
    }
}

fn shown(text: &str) -> String {
    let begin: String = text.chars().take(20).collect();
    format!("\"{begin}{}\"", if begin.len() < text.len() { "…" } else { "" })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, sign: char) -> bool {
        self.blanks();
        let is_next = self.peek() == Some(sign);
        self.at += if is_next { sign.len_utf8() } else { 0 };
        is_next
    }

    fn expect(&mut self, sign: char) -> Read<()> {
        match self.takes(sign) {
            true => Ok(()),
            false if self.rest().is_empty() => Err(format!("{sign} is missing at its end")),
            false => Err(format!("{sign} is missing before {}", shown(self.rest()))),
        }
    }

    /// A value of a type; one without quotes ends before any of these signs.
    fn value(&mut self, ty: &DataType, ends: &str) -> Read<Value> {
        self.blanks();
        if is_nested(ty) && self.takes_null(ends) {
            return Ok(Value::Null);
        }
        match ty {
            ty if is_enum(ty) => self.plain(ends),
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                let items = self.items('[', ']', |reader| reader.value(item.data_type(), ",]"))?;
                match ty {
                    DataType::FixedSizeList(_, length) if items.len() as i64 != i64::from(*length) => {
                        Err(format!("it has {} items, not {length}", items.len()))
                    }
                    _ => Ok(Value::Items(items)),
                }
            }
            DataType::Struct(fields) => self.fields(fields),
            DataType::Map(entries, _) => {
                let DataType::Struct(fields) = entries.data_type() else {
                    return Err("it has no entries".into());
                };
                let entries = self.items('{', '}', |reader| {
                    let key = reader.value(fields[0].data_type(), "=:,}")?;
                    if matches!(key, Value::Null) {
                        return Err("a key is NULL".into());
                    }
                    if !reader.takes('=') {
                        reader.expect(':')?;
                    }
                    Ok((key, reader.value(fields[1].data_type(), ",}")?))
                })?;
                Ok(Value::Entries(entries))
            }
            DataType::Binary => Err("blobs within are not read from text".into()),
            _ => self.plain(ends),
        }
    }

    fn takes_null(&mut self, ends: &str) -> bool {
        let rest = self.rest();
        let is_null = rest.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("null"));
        let behind = rest.get(4..).and_then(|behind| behind.trim_start().chars().next());
        let is_alone = behind.is_none_or(|sign| ends.contains(sign));
        self.at += if is_null && is_alone { 4 } else { 0 };
        is_null && is_alone
    }

    /// What stands between two signs, with commas between.
    fn items<T>(
        &mut self,
        begin: char,
        end: char,
        mut item: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        self.expect(begin)?;
        let mut items = Vec::new();
        if self.takes(end) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(end) {
                return Ok(items);
            }
            self.expect(',')?;
        }
    }

    fn fields(&mut self, fields: &Fields) -> Read<Value> {
        let mut found: Vec<Option<Value>> = fields.iter().map(|_| None).collect();
        self.items('{', '}', |reader| {
            reader.blanks();
            let Value::Text(name) = reader.plain(":,}")? else { return Err("a field has no name".into()) };
            reader.expect(':')?;
            let place = fields.iter().position(|field| *field.name() == name);
            let place =
                place.or_else(|| fields.iter().position(|field| field.name().eq_ignore_ascii_case(&name)));
            let place = place.ok_or_else(|| format!("there is no field \"{name}\""))?;
            let value = reader.value(fields[place].data_type(), ",}")?;
            match found[place].replace(value) {
                None => Ok(()),
                Some(_) => Err(format!("field \"{name}\" is there twice")),
            }
        })?;
        Ok(Value::Items(found.into_iter().map(|value| value.unwrap_or(Value::Null)).collect()))
    }

    /// A value that is no nested one, as its text.
    fn plain(&mut self, ends: &str) -> Read<Value> {
        match self.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.at += 1;
                self.quoted(quote).map(Value::Text)
            }
            _ => {
                let text = self.bare(ends).trim_end();
                match text {
                    "" => Err("a value is missing".into()),
                    text if text.eq_ignore_ascii_case("null") => Ok(Value::Null),
                    text => Ok(Value::Text(text.to_owned())),
                }
            }
        }
    }

    /// Up to a sign that ends it, but not within brackets and quotes of its own, as JSON has them.
    fn bare(&mut self, ends: &str) -> &'a str {
        let (from, mut open, mut quoted, mut escaped) = (self.at, 0, false, false);
        for (at, sign) in self.text[from..].char_indices() {
            match sign {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ if quoted => {}
                sign if open == 0 && ends.contains(sign) => {
                    self.at = from + at;
                    return &self.text[from..self.at];
                }
                '{' | '[' | '(' => open += 1,
                '}' | ']' | ')' if open > 0 => open -= 1,
                _ => {}
            }
        }
        self.at = self.text.len();
        &self.text[from..]
    }

    fn quoted(&mut self, quote: char) -> Read<String> {
        let mut out = String::new();
        loop {
            let Some(sign) = self.peek() else { return Err("a text has no end".into()) };
            self.at += sign.len_utf8();
            match sign {
                '\\' => out.push(self.escape()?),
                sign if sign == quote => return Ok(out),
                sign => out.push(sign),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let Some(sign) = self.peek() else { return Err("a text has no end".into()) };
        self.at += sign.len_utf8();
        Ok(match sign {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let code = self.hex()?;
                let code = match code {
                    0xD800..0xDC00 if self.rest().starts_with("\\u") => {
                        self.at += 2;
                        let second = self.hex()?.checked_sub(0xDC00).filter(|second| *second < 0x400);
                        0x10000
                            + ((code - 0xD800) << 10)
                            + second.ok_or("half of a code point stands alone")?
                    }
                    code => code,
                };
                char::from_u32(code).ok_or("half of a code point stands alone")?
            }
            sign => sign,
        })
    }

    fn hex(&mut self) -> Read<u32> {
        let digits =
            self.rest().get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let digits = digits.ok_or("four digits are missing behind \\u")?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|error| error.to_string())
    }
}

/// How what is within is cast.
struct Cast {
    zone: Zone,
    strict: bool,
}

fn build(values: Vec<Value>, ty: &DataType, how: &Cast) -> Result<ArrayRef> {
    if !is_nested(ty) || is_enum(ty) {
        let texts = values.into_iter().map(|value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        });
        let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
        return of_part(&texts, ty, how.zone, how.strict);
    }
    let rows = values.len();
    let valid: Vec<bool> = values.iter().map(|value| !matches!(value, Value::Null)).collect();
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    match ty {
        DataType::List(item) => {
            let (offsets, items) = flattened(values, items_of);
            let items = build(items, item.data_type(), how)?;
            Ok(Arc::new(ListArray::try_new(item.clone(), offsets, items, nulls)?))
        }
        DataType::FixedSizeList(item, length) => {
            let items = values.into_iter().flat_map(|value| match value {
                Value::Items(items) => items,
                _ => (0..*length).map(|_| Value::Null).collect(),
            });
            let items = build(items.collect(), item.data_type(), how)?;
            Ok(Arc::new(FixedSizeListArray::try_new(item.clone(), *length, items, nulls)?))
        }
        DataType::Struct(fields) => {
            let columns = columns(values.into_iter().map(items_of), fields, rows, how)?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?))
        }
        DataType::Map(entries, is_sorted) => {
            let DataType::Struct(fields) = entries.data_type() else { return Ok(new_null_array(ty, rows)) };
            let (offsets, pairs) = flattened(values, |value| match value {
                Value::Entries(entries) => entries,
                _ => Vec::new(),
            });
            let count = pairs.len();
            let pairs = pairs.into_iter().map(|(key, value)| vec![key, value]);
            let columns = columns(pairs, fields, count, how)?;
            map_of(entries, *is_sorted, (&offsets, nulls.as_ref()), columns, how.strict)
        }
        ty => exec_err!("{} is not read from text", type_in_sql(ty)),
    }
}

fn items_of(value: Value) -> Vec<Value> {
    match value {
        Value::Items(items) => items,
        _ => Vec::new(),
    }
}

/// All items, and where those of each value begin and end.
fn flattened<T>(values: Vec<Value>, of: impl Fn(Value) -> Vec<T>) -> (OffsetBuffer<i32>, Vec<T>) {
    let (mut ends, mut all) = (vec![0], Vec::new());
    for value in values {
        all.extend(of(value));
        ends.push(i32::try_from(all.len()).unwrap_or(i32::MAX));
    }
    (OffsetBuffer::new(ScalarBuffer::from(ends)), all)
}

fn columns(
    rows: impl Iterator<Item = Vec<Value>>,
    fields: &Fields,
    count: usize,
    how: &Cast,
) -> Result<Vec<ArrayRef>> {
    let mut columns: Vec<Vec<Value>> = fields.iter().map(|_| Vec::with_capacity(count)).collect();
    for row in rows {
        let mut row = row.into_iter();
        columns.iter_mut().for_each(|column| column.push(row.next().unwrap_or(Value::Null)));
    }
    let of = |(field, column): (&FieldRef, Vec<Value>)| build(column, field.data_type(), how);
    fields.iter().zip(columns).map(of).collect()
}
