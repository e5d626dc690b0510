//! Columns in memory, as the generators make them and the encoders take them.

/// Strings end to end.
#[derive(Debug, Clone)]
pub struct Texts {
    /// All strings, one after the other.
    pub bytes: Vec<u8>,
    /// Where each begins; one more than there are strings.
    pub offsets: Vec<u32>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts { bytes: Vec::new(), offsets: vec![0] }
    }
}

impl Texts {
    /// Adds a string.
    pub fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.offsets.push(self.bytes.len() as u32);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The string at a place.
    pub fn get(&self, at: usize) -> &[u8] {
        &self.bytes[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }
}

/// The values of a column. Where the column is NULL, the value is zero or empty.
#[derive(Debug, Clone)]
pub enum Values {
    /// 32-bit integers.
    I32(Vec<i32>),
    /// Days since 1970.
    Date(Vec<i32>),
    /// 64-bit integers; decimals of two places as hundredths, which is how Parquet and DuckDB store them.
    I64(Vec<i64>),
    /// Floats.
    F64(Vec<f64>),
    /// UTF-8.
    Text(Texts),
}

impl Values {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Values::I32(values) | Values::Date(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Text(texts) => texts.len(),
        }
    }

    /// Bytes as arrays: the width of numbers, or the strings and an offset of four bytes for each.
    pub fn raw_bytes(&self) -> usize {
        match self {
            Values::I32(values) | Values::Date(values) => values.len() * 4,
            Values::I64(values) => values.len() * 8,
            Values::F64(values) => values.len() * 8,
            Values::Text(texts) => texts.bytes.len() + texts.len() * 4,
        }
    }
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Values,
    /// Which rows have a value; none: all.
    pub valid: Option<Vec<bool>>,
}

impl Column {
    /// A column without NULLs.
    pub fn new(name: &str, values: Values) -> Column {
        Column { name: name.into(), values, valid: None }
    }
}

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name in the figures.
    pub name: String,
    /// Where the data come from.
    pub source: String,
    /// Its columns, of one length.
    pub columns: Vec<Column>,
}
