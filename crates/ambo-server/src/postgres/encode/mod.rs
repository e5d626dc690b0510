//! Rows as messages, straight from columns or values into the buffer.

mod binary;
mod column;
mod numeric;
mod text;

use ambo::Datum;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::{
    message::{Format, nth_format, sized, write, write_text},
    types::{PgType, type_of, type_of_field},
};
pub(super) use column::Column;
pub(super) use numeric::{decimal_text, parse_numeric, read_numeric};

/// The text of a value.
pub(super) fn datum_text(value: &Datum) -> String {
    let mut out = Vec::new();
    column::write_datum(value, 0, Format::Text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The columns of rows, and how each is written.
pub(super) struct Shape {
    pub schema: SchemaRef,
    pub types: Vec<PgType>,
    formats: Vec<Format>,
    /// The zone of which clocks are.
    zone: String,
}

impl Shape {
    pub fn new(schema: SchemaRef, formats: &[Format], zone: String) -> Self {
        let types = schema.fields().iter().map(|field| type_of_field(field)).collect::<Vec<_>>();
        let formats = (0..types.len()).map(|nth| nth_format(formats, nth)).collect();
        Self { schema, types, formats, zone }
    }

    /// Writes the description of the rows, or that there are none.
    pub fn describe(&self, out: &mut Vec<u8>) {
        if self.types.is_empty() {
            return write(out, b'n', |_| {});
        }
        write(out, b'T', |out| {
            out.extend((self.types.len() as u16).to_be_bytes());
            for ((field, ty), format) in self.schema.fields().iter().zip(&self.types).zip(&self.formats) {
                write_text(out, field.name());
                out.extend(0u32.to_be_bytes());
                out.extend(0u16.to_be_bytes());
                out.extend(ty.oid.to_be_bytes());
                out.extend(ty.length.to_be_bytes());
                out.extend(ty.modifier.to_be_bytes());
                out.extend((*format as u16).to_be_bytes());
            }
        });
    }

    /// The columns of a batch, to write rows of.
    ///
    /// # Errors
    /// A type within that has no text.
    pub fn columns(&self, batch: &RecordBatch) -> Result<Vec<Column>, ArrowError> {
        let columns = batch.columns().iter().zip(&self.types);
        columns.map(|(array, ty)| Column::new(array, ty.oid, &self.zone)).collect()
    }

    /// Writes a row of columns.
    pub fn write_row(&self, columns: &[Column], row: usize, out: &mut Vec<u8>) {
        write(out, b'D', |out| self.write_fields(columns, row, out));
    }

    /// The same without a message around it.
    pub fn write_fields(&self, columns: &[Column], row: usize, out: &mut Vec<u8>) {
        out.extend((columns.len() as u16).to_be_bytes());
        for (column, format) in columns.iter().zip(&self.formats) {
            match column.is_null(row) {
                true => out.extend((-1i32).to_be_bytes()),
                false => sized(out, false, |out| column.write(row, *format, out)),
            }
        }
    }

    /// Whether values of all columns are written as [`Shape::write_values`] does.
    pub fn takes_values(&self) -> bool {
        let is_plain = |(field, ty): (&arrow_schema::FieldRef, &PgType)| {
            type_of(field.data_type()).oid == ty.oid
                && !matches!(field.data_type(), arrow_schema::DataType::Timestamp(_, Some(_)))
        };
        self.zone == "UTC" || self.schema.fields().iter().zip(&self.types).all(is_plain)
    }

    /// Writes a row of values.
    pub fn write_values(&self, values: &[Datum], out: &mut Vec<u8>) {
        write(out, b'D', |out| {
            out.extend((values.len() as u16).to_be_bytes());
            for ((value, format), ty) in values.iter().zip(&self.formats).zip(&self.types) {
                match value {
                    Datum::Null => out.extend((-1i32).to_be_bytes()),
                    value => sized(out, false, |out| column::write_datum(value, ty.oid, *format, out)),
                }
            }
        });
    }
}
