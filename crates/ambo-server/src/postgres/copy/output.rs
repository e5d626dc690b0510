//! COPY … TO STDOUT.

use ambo_files::write_copy_text;

use super::{
    super::{
        client::{Client, Stop},
        encode::{Column, Shape},
        failure::Failure,
        message::{Format, write, write_text},
        stream::Stream,
    },
    options::{Copy, Form, Kind, Of},
};

/// What stands before rows in binary form, with no flags and no more.
pub(super) const SIGNATURE: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

impl Client {
    pub fn copy_out(&mut self, copy: &Copy, stream: &mut Stream) -> Result<u64, Stop> {
        let query = match &copy.of {
            Of::Query(query) => query.clone(),
            Of::Table { name, columns } => {
                format!("SELECT {} FROM {name}", columns.as_deref().unwrap_or("*"))
            }
        };
        let failed = |error: ambo_sql::Error| Failure::of(&error, "", 0);
        let mut prepared = self.session.prepare(&query).map_err(failed)?;
        self.session.begin(&query);
        let rows = self.session.run(&mut prepared, Vec::new()).map_err(failed)?;
        let is_binary = copy.form.kind == Kind::Binary;
        let format = if is_binary { Format::Binary } else { Format::Text };
        let shape = self.shape(rows.schema().clone(), &[format]);
        response(b'H', format, shape.types.len(), stream);
        // Clients take what stands before all rows for a part of the first.
        let mut before: &[u8] = if is_binary { SIGNATURE } else { &[] };
        if copy.form.header {
            write(&mut stream.out, b'd', |out| header(&copy.form, &shape, out));
        }
        let (mut count, mut cell) = (0, Vec::new());
        for batch in rows.batches() {
            let batch = batch.map_err(failed)?;
            let columns = shape.columns(&batch).map_err(|error| Failure::new("XX000", error.to_string()))?;
            for row in 0..batch.num_rows() {
                match is_binary {
                    true => write(&mut stream.out, b'd', |out| {
                        out.extend_from_slice(std::mem::take(&mut before));
                        shape.write_fields(&columns, row, out);
                    }),
                    false => {
                        write(&mut stream.out, b'd', |out| line(&copy.form, &columns, row, &mut cell, out))
                    }
                }
                stream.flush_if_large()?;
            }
            count += batch.num_rows() as u64;
        }
        if is_binary {
            write(&mut stream.out, b'd', |out| {
                out.extend_from_slice(before);
                out.extend((-1i16).to_be_bytes());
            });
        }
        write(&mut stream.out, b'c', |_| {});
        Ok(count)
    }
}

/// Says in which form rows go or come.
pub(super) fn response(tag: u8, format: Format, columns: usize, stream: &mut Stream) {
    write(&mut stream.out, tag, |out| {
        out.push(format as u8);
        out.extend((columns as u16).to_be_bytes());
        (0..columns).for_each(|_| out.extend((format as u16).to_be_bytes()));
    });
}

pub(super) fn complete(count: u64, stream: &mut Stream) {
    write(&mut stream.out, b'C', |out| write_text(out, &format!("COPY {count}")));
}

fn header(form: &Form, shape: &Shape, out: &mut Vec<u8>) {
    for (nth, field) in shape.schema.fields().iter().enumerate() {
        if nth > 0 {
            out.push(form.delimiter);
        }
        field_of(form, field.name().as_bytes(), out);
    }
    out.push(b'\n');
}

fn line(form: &Form, columns: &[Column], row: usize, cell: &mut Vec<u8>, out: &mut Vec<u8>) {
    for (nth, column) in columns.iter().enumerate() {
        if nth > 0 {
            out.push(form.delimiter);
        }
        if column.is_null(row) {
            out.extend_from_slice(form.null.as_bytes());
            continue;
        }
        cell.clear();
        column.write(row, Format::Text, cell);
        field_of(form, cell, out);
    }
    out.push(b'\n');
}

fn field_of(form: &Form, cell: &[u8], out: &mut Vec<u8>) {
    if form.kind == Kind::Csv {
        let is_special = |byte: &u8| [form.delimiter, form.quote, b'\n', b'\r'].contains(byte);
        if cell != form.null.as_bytes() && !cell.iter().any(is_special) && cell != b"\\." {
            return out.extend_from_slice(cell);
        }
        out.push(form.quote);
        for byte in cell {
            if *byte == form.quote || *byte == form.escape {
                out.push(form.escape);
            }
            out.push(*byte);
        }
        return out.push(form.quote);
    }
    write_copy_text(cell, form.delimiter, out);
}
