//! What a query has found: rows of a key and a record, each as an array.

use ambo_codec::{Type, Value, ValueRef};
use ambo_types::{Error, Result};

use crate::predicate::{Column, Data, Nulls, width};

/// Values of one type, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    ty: Type,
    data: Vec<u8>,
    /// Where each begins in `data`, and where the last ends.
    offsets: Vec<u32>,
    /// A bit for each that is not NULL; none if all are.
    valid: Option<Vec<u64>>,
}

impl Stream {
    /// An empty array of a type.
    pub fn new(ty: Type) -> Self {
        Self { ty, data: Vec::new(), offsets: vec![0], valid: None }
    }

    /// The type of the values.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values one behind the other: of a type of fixed width an array of it, little-endian; at the places of NULLs stand zeros.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The bytes of a value. Panics if there is none.
    pub fn bytes(&self, row: usize) -> &[u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// A value. Panics if there is none.
    pub fn value(&self, row: usize) -> ValueRef<'_> {
        self.column().value(row)
    }

    /// The same as a column.
    pub fn column(&self) -> Column<'_> {
        let data = match width(self.ty) {
            Some(width) => Data::Strided { bytes: &self.data, offset: 0, stride: width },
            None => Data::Texts { offsets: &self.offsets, data: &self.data },
        };
        Column { ty: self.ty, data, nulls: self.valid.as_deref().map_or(Nulls::None, Nulls::Valid) }
    }

    /// Appends a value.
    ///
    /// # Errors
    /// [`Error::Invalid`] for bytes that are no value of the type, or more than 4 GiB.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(width) = width(self.ty).filter(|width| *width != bytes.len()) {
            return Err(Error::Invalid(format!(
                "a result of type {} has values of {width} bytes, not {}",
                self.ty,
                bytes.len()
            )));
        }
        self.append(bytes, true)
    }

    /// Appends a value of the type, or NULL.
    ///
    /// # Errors
    /// As [`Stream::push_bytes`].
    pub fn push(&mut self, value: ValueRef<'_>) -> Result<()> {
        match value {
            ValueRef::Null => {
                let zeros = [0; 16];
                self.append(&zeros[..width(self.ty).unwrap_or(0)], false)
            }
            ValueRef::Utf8(text) => self.push_bytes(text.as_bytes()),
            ValueRef::Binary(bytes) => self.push_bytes(bytes),
            value => {
                let (bytes, width) = crate::predicate::bytes_of(&value.to_value());
                self.push_bytes(&bytes[..width])
            }
        }
    }

    fn append(&mut self, bytes: &[u8], is_valid: bool) -> Result<()> {
        let row = self.len();
        let end = self.data.len() + bytes.len();
        let end = u32::try_from(end)
            .map_err(|_| Error::Invalid("the result has more than 4 GiB; ask for fewer rows".into()))?;
        self.data.extend_from_slice(bytes);
        self.offsets.push(end);
        if !is_valid && self.valid.is_none() {
            self.valid = Some(vec![u64::MAX; row / 64 + 1]);
        }
        if let Some(valid) = &mut self.valid {
            valid.resize(row / 64 + 1, u64::MAX);
            valid[row / 64] &= !(u64::from(!is_valid) << (row % 64));
        }
        Ok(())
    }

    /// Appends all of another of the same type.
    ///
    /// # Errors
    /// As [`Stream::push_bytes`].
    pub fn append_all(&mut self, other: &Self) -> Result<()> {
        (0..other.len()).try_for_each(|row| match other.value(row).is_null() {
            true => self.push(ValueRef::Null),
            false => self.push_bytes(other.bytes(row)),
        })
    }
}

/// The rows that a query has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UqiResult {
    /// Their keys; for aggregates of all rows its name with a zero byte, as upscaledb has it.
    pub keys: Stream,
    /// Their records.
    pub records: Stream,
}

impl Default for UqiResult {
    fn default() -> Self {
        Self::new(Type::Binary, Type::Binary)
    }
}

impl UqiResult {
    /// No rows, of keys and records of these types.
    pub fn new(keys: Type, records: Type) -> Self {
        Self { keys: Stream::new(keys), records: Stream::new(records) }
    }

    /// One row: the name of a function, and what it has found.
    ///
    /// # Errors
    /// None but those of [`Stream::push`].
    pub(super) fn of_all(name: &str, ty: Type, value: &Value) -> Result<Self> {
        let mut result = Self::new(Type::Binary, ty);
        result.add_row(&[name.as_bytes(), &[0]].concat(), &[])?;
        result.records = Stream::new(ty);
        result.records.push(value.as_ref())?;
        Ok(result)
    }

    /// How many rows: the values of a query for one of them leave the other empty.
    pub fn rows(&self) -> usize {
        self.keys.len().max(self.records.len())
    }

    /// The one value of a function of all rows, such as COUNT; `None` if there is none, or more.
    pub fn single(&self) -> Option<Value> {
        (self.records.len() == 1).then(|| self.records.value(0).to_value())
    }

    /// Appends a row. What is empty and of a fixed width is left out, as plug-ins for upscaledb do.
    ///
    /// # Errors
    /// [`Error::Invalid`] for bytes that are no value of the type.
    pub fn add_row(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
        for (stream, bytes) in [(&mut self.keys, key), (&mut self.records, record)] {
            if !(bytes.is_empty() && width(stream.ty).is_some()) {
                stream.push_bytes(bytes)?;
            }
        }
        Ok(())
    }
}
