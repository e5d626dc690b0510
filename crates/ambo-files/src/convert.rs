//! Records of a file as rows of a table.

use std::{path::Path, sync::Arc};

use ambo::{ColumnBuffer, Datum, DatumRef, TableDefinition, Type, nearest};

use crate::{
    BadRecord, Column, Error, Result, datum,
    records::{Cell, Records, SHOWN_CHARS},
    text::shorten,
};

/// Where each column that is wanted comes from.
#[derive(Clone, Debug)]
pub struct Converter {
    columns: Arc<[Column]>,
    /// For each column its position in the file; JSON goes by name.
    positions: Arc<[Option<usize>]>,
    /// Whether members that no column takes are passed over.
    takes_some: bool,
    /// What each column has where a file, or a record of it, says nothing; none: NULL.
    defaults: Arc<[Missing]>,
}

/// What a column has in a row that does not say.
#[derive(Clone, Debug)]
enum Missing {
    Value(Datum),
    /// Only SQL can compute it.
    Expression(String),
}

impl Missing {
    fn of(column: &ambo::Column) -> Self {
        match &column.default_expression {
            Some(text) => Self::Expression(text.clone()),
            None => Self::Value(column.default.clone().unwrap_or(Datum::Null)),
        }
    }
}

impl Converter {
    /// Matches the table's columns with the file's, by name. A column that the file lacks must be nullable, and the file
    /// has no other columns. Pairs go by position when the file does not call them `key` and `value`.
    ///
    /// # Errors
    /// A column that the table has not, or one that the file lacks.
    pub fn new(columns: Vec<Column>, key_value: bool, names: &[String], path: &Path) -> Result<Self> {
        Self::matched(columns, [].into(), key_value, names, path)
    }

    /// As [`Converter::new`], for all columns of a table: those that the file, or a record of it, lacks have their defaults.
    ///
    /// # Errors
    /// As [`Converter::new`]; a column that the file lacks and whose default only SQL can compute.
    pub fn of_table(table: &TableDefinition, names: &[String], path: &Path) -> Result<Self> {
        let column = |of: &ambo::Column| Column { name: of.name.clone(), ty: of.kind, nullable: of.nullable };
        let columns = table.columns.iter().map(column).collect();
        Self::matched(columns, table.columns.iter().map(Missing::of).collect(), table.is_raw(), names, path)
    }

    fn matched(
        columns: Vec<Column>,
        defaults: Arc<[Missing]>,
        key_value: bool,
        names: &[String],
        path: &Path,
    ) -> Result<Self> {
        let by_name = |column: &Column| names.iter().position(|name| name == &column.name);
        let mut positions: Vec<Option<usize>> = columns.iter().map(by_name).collect();
        if key_value && names.len() == 2 && positions.contains(&None) {
            positions = vec![Some(0), Some(1)];
        }
        if names.is_empty() {
            return Ok(Self {
                columns: columns.into(),
                positions: positions.into(),
                takes_some: false,
                defaults,
            });
        }
        if let Some(extra) = (0..names.len()).find(|i| !positions.contains(&Some(*i))) {
            let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let what = format!("the table has no column {}; it has {}", names[extra], known.join(", "));
            return Err(Error::in_file(path, what));
        }
        let converter =
            Self { columns: columns.into(), positions: positions.into(), takes_some: false, defaults };
        let mut lacking = (0..converter.columns.len()).filter(|place| converter.positions[*place].is_none());
        let wrong = lacking.find_map(|place| Some((place, converter.missing(place).err()?)));
        match wrong {
            Some((place, what)) => {
                Err(Error::in_file(path, format!("column {} {what}", converter.columns[place].name)))
            }
            None => Ok(converter),
        }
    }

    /// Some columns of a file by their places in it, or of JSON by their names. Others are passed over.
    pub(crate) fn of_some(columns: Vec<Column>, positions: Vec<Option<usize>>) -> Self {
        Self { columns: columns.into(), positions: positions.into(), takes_some: true, defaults: [].into() }
    }

    /// All columns of a file by their places in it, or of JSON by their names: there are no others.
    pub fn in_order(columns: Vec<Column>) -> Self {
        let positions = (0..columns.len()).map(Some).collect();
        Self { columns: columns.into(), positions, takes_some: false, defaults: [].into() }
    }

    /// The current record as a row.
    ///
    /// # Errors
    /// A value that does not fit its column.
    pub fn convert(&self, records: &Records) -> Result<Vec<Datum>, BadRecord> {
        let mut row = Vec::with_capacity(self.columns.len());
        for (place, column) in self.columns.iter().enumerate() {
            let value = match self.cell(records, place)? {
                None => self.missing(place),
                Some(cell) => convert_cell(cell, column),
            };
            row.push(value.map_err(|what| records.bad(Some(&column.name), what))?);
        }
        self.refuse_unknown(records)?;
        Ok(row)
    }

    /// What the current record says of a column; none if it says nothing.
    fn cell<'r>(&self, records: &'r Records, place: usize) -> Result<Option<Cell<'r>>, BadRecord> {
        let name = &self.columns[place].name;
        let position = self.positions[place];
        if records.lacks(position, name) {
            return Ok(None);
        }
        records.cell(position.unwrap_or_default(), name).map(Some)
    }

    /// What a column has where a record says nothing.
    fn missing(&self, place: usize) -> Result<Datum, String> {
        match self.defaults.get(place) {
            Some(Missing::Expression(text)) => Err(format!(
                "is missing, and only SQL can compute its default {text}; give it values, or use COPY"
            )),
            Some(Missing::Value(value)) if !value.is_null() => Ok(value.clone()),
            _ if !self.columns[place].nullable => Err("is missing, and it is not nullable".into()),
            _ => Ok(Datum::Null),
        }
    }

    /// Buffers for rows.
    pub fn buffers(&self) -> Vec<ColumnBuffer> {
        self.columns.iter().map(|column| ColumnBuffer::new(column.ty)).collect()
    }

    /// Appends the current record to buffers, a value each; nothing if it is bad.
    ///
    /// # Errors
    /// A value that does not fit its column.
    pub fn append(&self, records: &Records, buffers: &mut [ColumnBuffer]) -> Result<(), BadRecord> {
        let mut row = Vec::with_capacity(self.columns.len());
        for (place, column) in self.columns.iter().enumerate() {
            let Some(cell) = self.cell(records, place)? else {
                let value = self.missing(place).map_err(|what| records.bad(Some(&column.name), what))?;
                row.push(Value::Slow(value));
                continue;
            };
            let value = match quick(cell, column.ty) {
                Some(value) => Value::Quick(value),
                None => {
                    let value = convert_cell(cell, column);
                    Value::Slow(value.map_err(|what| records.bad(Some(&column.name), what))?)
                }
            };
            row.push(value);
        }
        self.refuse_unknown(records)?;
        for ((value, buffer), column) in row.iter().zip(buffers).zip(&*self.columns) {
            let value = match value {
                Value::Quick(value) => *value,
                Value::Slow(value) => value.as_ref(),
            };
            buffer.push(value).map_err(|error| records.bad(Some(&column.name), error.to_string()))?;
        }
        Ok(())
    }

    /// A JSON member that no column takes would be lost in silence.
    fn refuse_unknown(&self, records: &Records) -> Result<(), BadRecord> {
        if self.takes_some || !records.has_members() {
            return Ok(());
        }
        let is_known = |(position, name): &(usize, &str)| {
            self.columns.get(*position).is_some_and(|column| column.name == *name)
                || self.columns.iter().any(|column| column.name == *name)
        };
        match records.members().enumerate().find(|member| !is_known(member)) {
            Some((_, name)) => {
                let near = nearest(name, self.columns.iter().map(|column| column.name.as_str()));
                let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
                Err(records.bad(None, format!("there is no column \"{name}\"{near}")))
            }
            None => Ok(()),
        }
    }
}

/// A value on its way into a buffer.
enum Value<'a> {
    Quick(DatumRef<'a>),
    Slow(Datum),
}

/// The most digits that fit 64 bits, whatever they are.
const QUICK_DIGITS: usize = 18;

/// The values of text that are plainly what they are. The others, and what is wrong, are left to [`convert_cell`].
fn quick(cell: Cell<'_>, ty: Type) -> Option<DatumRef<'_>> {
    let (Cell::Text(text) | Cell::String(text) | Cell::Number(text)) = cell else { return None };
    match ty {
        Type::Utf8 => Some(DatumRef::Utf8(text)),
        Type::I64 => digits(text.as_bytes()).map(DatumRef::I64),
        Type::I32 => digits(text.as_bytes())?.try_into().ok().map(DatumRef::I32),
        Type::Decimal128 { precision, scale } => {
            let scale_digits = usize::try_from(scale).ok()?;
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit()) && !whole.is_empty();
            let zeros = scale_digits.checked_sub(fraction.len())?;
            if !is_plain || whole.len() + scale_digits > QUICK_DIGITS {
                return None;
            }
            let factor = |digits: usize| 10i64.pow(digits as u32);
            let whole_part = digits(whole.as_bytes())?;
            let fraction_part =
                if fraction.is_empty() { 0 } else { digits(fraction.as_bytes())? * factor(zeros) };
            let magnitude = whole_part.abs() * factor(scale_digits) + fraction_part;
            let unscaled = i128::from(if whole.starts_with('-') { -magnitude } else { magnitude });
            (unscaled.unsigned_abs() < 10u128.pow(precision.into()))
                .then_some(DatumRef::Decimal128 { unscaled, scale })
        }
        _ => None,
    }
}

/// An integer of few digits, with a minus or without.
fn digits(text: &[u8]) -> Option<i64> {
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        text => (false, text),
    };
    if text.is_empty() || text.len() > QUICK_DIGITS {
        return None;
    }
    let mut value = 0i64;
    for byte in text {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Some(if is_negative { -value } else { value })
}

fn convert_cell(cell: Cell<'_>, column: &Column) -> Result<Datum, String> {
    let value = match cell {
        Cell::Quoted(text) if column.ty.is_variable() => datum::parse(text, column.ty),
        Cell::Quoted(text) if let Ok(value) = datum::parse(text, column.ty) => return Ok(value),
        Cell::Null | Cell::Empty | Cell::Quoted(_) if column.nullable => return Ok(Datum::Null),
        // Text and bytes that may not be NULL are empty instead.
        Cell::Empty if column.ty.is_variable() => datum::parse("", column.ty),
        Cell::Null | Cell::Empty | Cell::Quoted(_) => {
            return Err("a value is missing, and the column is not nullable".into());
        }
        Cell::Nested(text) if column.ty != Type::Utf8 => Err(format!("'{text}' is no {}", column.ty)),
        Cell::Nested(text)
        | Cell::Text(text)
        | Cell::String(text)
        | Cell::Number(text)
        | Cell::Bool(text) => datum::parse(text, column.ty),
    };
    value.map_err(|error| shorten_quoted(&error))
}

/// Cells can be megabytes; messages are one line.
fn shorten_quoted(error: &str) -> String {
    match (error.find('\''), error.rfind('\'')) {
        (Some(open), Some(close)) if close > open + SHOWN_CHARS => {
            format!(
                "{}'{}'{}",
                &error[..open],
                shorten(&error[open + 1..close], SHOWN_CHARS),
                &error[close + 1..]
            )
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: the quick way reading another value than the one that knows all forms.
    #[test]
    fn quick_values_are_those_of_the_slow_way() {
        let decimal = Type::decimal(9, 2).unwrap();
        let texts = [
            "0",
            "-0",
            "7",
            "-7",
            "007",
            "1.5",
            "-1.5",
            "-0.25",
            "1.50",
            "1.",
            ".5",
            "-.5",
            "1.234",
            "9999999.99",
            "10000000.00",
            "-9999999.99",
            "123456789012345678",
            "1234567890123456789",
            "2147483647",
            "2147483648",
            "",
            "-",
            "+1",
            " 1",
            "1e3",
            "x",
            "--1",
            "1.-5",
            "1.2.3",
            "9223372036854775807",
            "-.",
        ];
        for ty in [Type::I32, Type::I64, Type::Utf8, decimal, Type::decimal(38, 10).unwrap()] {
            let column = Column { name: "c".into(), ty, nullable: false };
            let mut quickly = 0;
            for text in texts {
                let Some(value) = quick(Cell::Text(text), ty) else { continue };
                quickly += 1;
                assert_eq!(Ok(value.to_value()), convert_cell(Cell::Text(text), &column), "{text:?} as {ty}");
            }
            assert!(quickly >= 6, "{ty}");
        }
    }
}
