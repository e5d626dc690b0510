//! Rows as records of one width: what programs have that write structures to a file or take them off a wire.

use ambo_query::predicate::Layout;

use crate::{ColumnBuffer, Error, IngestWriter, LoadWriter, Result, Table};

/// So many records go on at once.
const RECORDS: usize = 64 << 10;

impl Table {
    /// The layout of records that [`LoadWriter::push_records`] and [`IngestWriter::push_records`] take, where a program has none of its
    /// own: a field for each column, the widest first, and behind them a bit for each column that may be NULL. The width is a multiple of
    /// 8.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a table with columns of text or bytes.
    pub fn record_layout(&self) -> Result<Layout> {
        let columns = &self.definition().columns;
        let columns: Vec<_> = columns.iter().map(|column| (column.kind, column.nullable)).collect();
        Layout::of(&columns, false)
    }
}

impl LoadWriter {
    /// Takes rows as records of one width, one behind the other; `layout` says where the columns are, in the order of the table's.
    ///
    /// ```
    /// use ambo::{LoadOptions, Storage, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let points = TableDefinition::new("points").column("x", Type::I64).column_nullable("y", Type::U16);
    /// let points = db.create_table(points.storage(Storage::Append))?;
    ///
    /// let layout = points.record_layout()?;
    /// assert_eq!(layout.size(), 16); // x, y, and a byte for the NULLs
    /// let mut records = Vec::new();
    /// for n in 0..1000i64 {
    ///     layout.encode(&[n.into(), (n % 7).into()], &mut records)?;
    /// }
    /// let ingest = points.ingest("sensor", LoadOptions::default())?;
    /// ingest.writer().push_records(&layout, &records)?;
    /// ingest.checkpoint(b"file 1, byte 16000")?;
    /// assert_eq!(points.len()?, 1000);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a layout that has not the columns of the table, for bytes that are no whole records, and as
    /// [`LoadWriter::push`]. Nothing of the load can be kept then.
    pub fn push_records(&mut self, layout: &Layout, records: &[u8]) -> Result<()> {
        check(self.table(), layout, records)?;
        for part in records.chunks(RECORDS * layout.size()) {
            let first = self.rows() + 1;
            let columns = columns_of(layout, part).map_err(|error| {
                // Records before these were taken.
                self.inner_mut().fail();
                self.wrong(first, &error)
            })?;
            self.push(columns)?;
        }
        Ok(())
    }

    fn wrong(&self, first: u64, error: &ambo_codec::Error) -> Error {
        Error::Invalid(format!(
            "table \"{}\": {error}, counted from row {first}",
            self.table().definition().name
        ))
    }
}

impl IngestWriter {
    /// Takes rows as [`LoadWriter::push_records`] does.
    ///
    /// # Errors
    /// As [`LoadWriter::push_records`]. The next checkpoint fails then, too, unless it was said before a record was taken.
    pub fn push_records(&mut self, layout: &Layout, records: &[u8]) -> Result<()> {
        self.with_writer(|writer| writer.push_records(layout, records))
    }
}

/// That a layout is one of the table's rows, and there are whole records.
fn check(table: &Table, layout: &Layout, records: &[u8]) -> Result<()> {
    let definition = table.definition();
    let wrong =
        |what: String| Err(Error::Invalid(format!("records of table \"{}\": {what}", definition.name)));
    let (fields, columns) = (layout.fields(), &definition.columns);
    if fields.len() != columns.len() {
        return wrong(format!("it has {} columns, and the layout {} fields", columns.len(), fields.len()));
    }
    for (field, column) in fields.iter().zip(columns) {
        if field.ty != column.kind {
            let (name, kind, ty) = (&column.name, column.kind, field.ty);
            return wrong(format!("column \"{name}\" is of type {kind}, and its field of type {ty}"));
        }
    }
    let size = layout.size();
    match records.len() % size {
        0 => Ok(()),
        more => {
            wrong(format!("{} bytes are not whole records of {size}: there are {more} more", records.len()))
        }
    }
}

/// A buffer for each column.
fn columns_of(layout: &Layout, records: &[u8]) -> ambo_codec::Result<Vec<ColumnBuffer>> {
    let column = |field: &ambo_query::predicate::Field| {
        let mut buffer = ColumnBuffer::new(field.ty);
        let null = field.null.map(|(byte, bit)| (usize::from(byte), bit));
        buffer.append_strided(records, layout.size(), field.offset.into(), null)?;
        Ok(buffer)
    };
    layout.fields().iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Datum, LoadOptions, Options, Storage, TableDefinition, Type, predicate::Field};

    fn definition(storage: Storage) -> TableDefinition {
        let decimal = Type::decimal(9, 2).unwrap();
        TableDefinition::new("t")
            .column("id", Type::I64)
            .column_nullable("flag", Type::Bool)
            .column_nullable("price", decimal)
            .column("day", Type::Date32)
            .column_nullable("x", Type::F32)
            .storage(storage)
    }

    fn row(n: i64) -> Vec<Datum> {
        let some = |value: Datum, every: i64| if n % every == 0 { Datum::Null } else { value };
        vec![
            n.into(),
            some(Datum::Bool(n % 2 == 0), 5),
            some(Datum::Decimal128 { unscaled: i128::from(n) * 3, scale: 2 }, 7),
            Datum::Date32(n as i32),
            some(Datum::F32(n as f32 / 4.0), 3),
        ]
    }

    fn records(layout: &Layout, numbers: std::ops::Range<i64>) -> Vec<u8> {
        let mut records = Vec::new();
        numbers.for_each(|n| layout.encode(&row(n), &mut records).unwrap());
        records
    }

    // Keeps away: values that are another column's or another row's, NULLs that get lost, and a token without its records.
    #[test]
    fn records_are_rows_with_their_token() {
        for storage in [Storage::Append, Storage::Column] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("db");
            {
                let db = Options::new().open(&path).unwrap();
                let t = db.create_table(definition(storage)).unwrap();
                let layout = t.record_layout().unwrap();
                let ingest = t.ingest("feed", LoadOptions::default()).unwrap();
                let mut writer = ingest.writer();
                writer.push_records(&layout, &records(&layout, 0..70_000)).unwrap();
                writer.push_records(&layout, &[]).unwrap();
                // A layout of the program's own, with fields anywhere.
                let mut fields = layout.fields().to_vec();
                fields.iter_mut().for_each(|field| {
                    field.offset += 5;
                    field.null = field.null.map(|(_, bit)| (1, bit));
                });
                let own = Layout::new(fields, 50).unwrap();
                writer.push_records(&own, &records(&own, 70_000..70_010)).unwrap();
                assert_eq!((t.len().unwrap(), db.ingest_token("feed").unwrap()), (0, None));
                assert_eq!(ingest.checkpoint(b"70010").unwrap().rows, 70_010);
                writer.push_records(&layout, &records(&layout, 0..3)).unwrap();
            }
            let db = Database::open(&path).unwrap();
            let t = db.table("t").unwrap();
            assert_eq!(db.ingest_token("feed").unwrap(), Some(b"70010".to_vec()));
            let found: Vec<_> = t.select(&[]).unwrap().rows().unwrap().map(|row| row.unwrap()).collect();
            assert_eq!(found.len(), 70_010);
            for (n, found) in (0..).zip(found) {
                assert_eq!(found.to_vec(), row(n));
            }
            assert!(db.check().unwrap().is_sound());
        }
    }

    // Keeps away: records that are taken though they are none of the table's, and errors that do not say what is wrong.
    #[test]
    fn what_are_no_records_is_refused() {
        let db = Database::in_memory().unwrap();
        let t = db.create_table(definition(Storage::Append)).unwrap();
        let layout = t.record_layout().unwrap();
        let ingest = t.ingest("feed", LoadOptions::default()).unwrap();
        let mut writer = ingest.writer();
        let mut refused = |layout: &Layout, records: &[u8], words: &str| {
            let error = writer.push_records(layout, records).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        let good = records(&layout, 0..3);
        refused(&layout, &good[1..], "there are");
        let fewer = Layout::new(layout.fields()[..4].to_vec(), layout.size()).unwrap();
        refused(&fewer, &good, "it has 5 columns, and the layout 4 fields");
        let mut fields = layout.fields().to_vec();
        fields[3].ty = Type::I32;
        refused(&Layout::new(fields, layout.size()).unwrap(), &good, "column \"day\" is of type date");
        // What was not begun harms nothing; what was ends the ingest.
        writer.push_records(&layout, &good).unwrap();
        assert_eq!(ingest.checkpoint(b"1").unwrap().rows, 3);
        let Field { offset, .. } = layout.fields()[1];
        let mut bad = good.clone();
        bad[layout.size() + usize::from(offset)] = 9;
        let mut large = good.clone();
        let Field { offset, .. } = layout.fields()[2];
        large[layout.size() + usize::from(offset)..][..16].copy_from_slice(&i128::MAX.to_le_bytes());
        for (records, words) in
            [(bad, "record 1 has 9 for a boolean"), (large, "does not fit type decimal(9,2)")]
        {
            let ingest = t.ingest("feed", LoadOptions::default()).unwrap();
            let mut writer = ingest.writer();
            writer.push_records(&layout, &good).unwrap();
            let error = writer.push_records(&layout, &records).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
            let error = ingest.checkpoint(b"2").err().unwrap().to_string();
            assert!(error.contains("a writer of a load that failed"), "{error}");
            assert_eq!(ingest.token().unwrap(), b"1");
        }
        assert_eq!(t.len().unwrap(), 3);
        let text =
            db.create_table(TableDefinition::new("u").column("s", Type::Utf8).storage(Storage::Append));
        assert!(text.unwrap().record_layout().unwrap_err().to_string().contains("no fixed width"));
        assert!(db.check().unwrap().is_sound());
    }
}
