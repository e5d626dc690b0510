//! What a statement returned, in values that all databases have, and the letters of its types.

use std::{cmp::Ordering, fmt};

use ambo::Datum;
use arrow_schema::DataType;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Bool(bool),
    /// An integer or a decimal: its digits, and how many of them are behind the point.
    Exact(i128, i8),
    Double(f64),
    Text(String),
    Blob(Vec<u8>),
    /// Days, or microseconds, from 1970 on or from midnight.
    Date(i64),
    Time(i64),
    Moment(i64),
}

/// Rows, and a letter for the type of each column: I integers, D decimals, R doubles, B booleans, T texts, X blobs, A dates, M times of
/// day, P timestamps, Z timestamps with time zone, U UUIDs, L lists, ? another.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub types: String,
    pub rows: Vec<Vec<Cell>>,
    /// How many rows a statement wrote, if it is one that writes.
    pub changed: Option<u64>,
}

impl Answer {
    pub fn sorted(mut self) -> Self {
        self.rows.sort_by(|a, b| order_of_rows(a, b));
        self
    }

    /// Whether both have the same rows, but for how doubles were added.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        let alike = |(a, b): (&Vec<Cell>, &Vec<Cell>)| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b))
        };
        self.rows.len() == other.rows.len() && self.rows.iter().zip(&other.rows).all(alike)
    }
}

fn order_of_rows(a: &[Cell], b: &[Cell]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| a.order(b));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match self {
            Self::Bool(is) => Some(f64::from(u8::from(*is))),
            Self::Exact(digits, scale) => Some(*digits as f64 / 10_f64.powi(i32::from(*scale))),
            Self::Double(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether they are one value; doubles that were added in another order are.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(..), Self::Exact(..)) => self.reduced() == other.reduced(),
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => {
                    a == b
                        || (a.is_nan() && b.is_nan())
                        || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
                }
                _ => self == other,
            },
        }
    }

    /// Without zeros behind the point.
    fn reduced(&self) -> Self {
        let Self::Exact(mut digits, mut scale) = *self else { return self.clone() };
        while scale > 0 && digits % 10 == 0 {
            (digits, scale) = (digits / 10, scale - 1);
        }
        Self::Exact(digits, scale)
    }

    /// An order in which values that are alike are neighbours, nearly always.
    fn order(&self, other: &Self) -> Ordering {
        let rank = |cell: &Self| match cell {
            Self::Null => 0,
            Self::Bool(_) | Self::Exact(..) | Self::Double(_) => 1,
            Self::Text(_) => 2,
            Self::Blob(_) => 3,
            Self::Date(_) | Self::Time(_) | Self::Moment(_) => 4,
        };
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Blob(a), Self::Blob(b)) => a.cmp(b),
            (
                Self::Date(a) | Self::Time(a) | Self::Moment(a),
                Self::Date(b) | Self::Time(b) | Self::Moment(b),
            ) => a.cmp(b),
            // Doubles have not all of their digits.
            (Self::Exact(a, scale), Self::Exact(b, of_b)) if scale == of_b => a.cmp(b),
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => {
                    let round =
                        |number: f64| if number.abs() < 1e15 { (number * 1e6).round() + 0.0 } else { number };
                    round(a).total_cmp(&round(b))
                }
                _ => rank(self).cmp(&rank(other)),
            },
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  types {}", self.types)?;
        for row in self.rows.iter().take(40) {
            let cells: Vec<_> = row.iter().map(|cell| format!("{cell:?}")).collect();
            writeln!(f, "  {}", cells.join(", "))?;
        }
        writeln!(f, "  {} rows", self.rows.len())
    }
}

/// The answer of Ambo.
///
/// # Errors
/// The statement failed.
pub fn of_ambo(
    connection: &mut ambo_sql::Connection,
    statement: &str,
    parameters: &[Datum],
) -> ambo_sql::Result<Answer> {
    let rows = match parameters {
        [] => connection.sql(statement)?,
        parameters => connection.query(statement, parameters)?,
    };
    let types = rows.schema().fields().iter().map(|field| letter(field.data_type())).collect();
    let changed = rows.affected();
    let rows = rows.map(|row| Ok(row?.values().iter().map(of_datum).collect()));
    Ok(Answer { types, rows: rows.collect::<ambo_sql::Result<_>>()?, changed })
}

fn letter(data_type: &DataType) -> char {
    match data_type {
        data_type if data_type.is_integer() => 'I',
        data_type if data_type.is_floating() => 'R',
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => 'D',
        DataType::Boolean => 'B',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => 'X',
        DataType::FixedSizeBinary(16) => 'U',
        DataType::List(_) => 'L',
        DataType::Date32 | DataType::Date64 => 'A',
        DataType::Time32(_) | DataType::Time64(_) => 'M',
        DataType::Timestamp(_, None) => 'P',
        DataType::Timestamp(_, Some(_)) => 'Z',
        _ => '?',
    }
}

fn of_datum(value: &Datum) -> Cell {
    match value {
        Datum::Null => Cell::Null,
        Datum::Bool(value) => Cell::Bool(*value),
        Datum::Utf8(text) => Cell::Text(text.clone()),
        Datum::I8(number) => Cell::Exact(i128::from(*number), 0),
        Datum::I16(number) => Cell::Exact(i128::from(*number), 0),
        Datum::I32(number) => Cell::Exact(i128::from(*number), 0),
        Datum::I64(number) => Cell::Exact(i128::from(*number), 0),
        Datum::U8(number) => Cell::Exact(i128::from(*number), 0),
        Datum::U16(number) => Cell::Exact(i128::from(*number), 0),
        Datum::U32(number) => Cell::Exact(i128::from(*number), 0),
        Datum::U64(number) => Cell::Exact(i128::from(*number), 0),
        Datum::F32(number) => Cell::Double(f64::from(*number)),
        Datum::F64(number) => Cell::Double(*number),
        Datum::Decimal128 { unscaled, scale } => Cell::Exact(*unscaled, *scale),
        Datum::Binary(bytes) => Cell::Blob(bytes.clone()),
        // The one without end is called by either of the two least numbers.
        Datum::Date32(days) => Cell::Date(i64::from(*days).max(-i64::from(i32::MAX))),
        Datum::Time64(nanos) => Cell::Time(nanos / 1000),
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => Cell::Moment((*micros).max(-i64::MAX)),
    }
}
