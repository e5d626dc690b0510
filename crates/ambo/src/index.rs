//! Finding rows by an index.

use std::ops::Bound;

use ambo_codec::column::Compare;
use ambo_engine::{
    catalog::{IndexKind, IndexOf},
    database::{self, DistinctScan, IndexRange, IndexScan, ScanPlan},
    id::TableId,
    scan::{Filter, Test},
};

use crate::{Datum, Error, Read, Result, Row, Snapshot, Table, Value, moment::Moment, rows::fit};

/// An index of a table, which finds its rows by the values of some columns. See [`Database::create_index`](crate::Database::create_index).
#[derive(Clone)]
pub struct Index {
    table: Table,
    id: TableId,
    name: String,
    of: IndexOf,
}

impl Table {
    /// The index of this name over the table.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the table has no such index.
    pub fn index(&self, name: &str) -> Result<Index> {
        let catalog = self.catalog();
        let (id, definition, of) = catalog.find_index(name)?;
        if of.table != self.id() {
            let name = &definition.name;
            return Err(Error::NotFound(format!(
                "index \"{name}\" of table \"{}\"; it is one of another table",
                self.definition().name
            )));
        }
        let mut of = of.clone();
        let (own, there) = (self.format().definition(), catalog.table(self.id()));
        if let Some(there) = there.filter(|there| !std::sync::Arc::ptr_eq(there, own)) {
            // Its columns by their places in the handle's definition.
            for column in &mut of.columns {
                *column = own.column_in(there.stored_in(*column)).ok_or_else(|| {
                    Error::Invalid(format!(
                        "index \"{}\" is over column \"{}\", which this handle of table \"{}\" does not know; take a new one",
                        definition.name, there.columns[*column].name, own.name
                    ))
                })?;
            }
        }
        Ok(Index { table: self.clone(), id, name: definition.name.clone(), of })
    }

    /// The names of its indexes.
    pub fn indexes(&self) -> Vec<String> {
        let catalog = self.catalog();
        catalog.indexes_of(self.id()).map(|(_, definition)| definition.name.clone()).collect()
    }
}

impl Index {
    /// Its name, with the schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table whose rows it finds.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How its entries are found.
    pub fn kind(&self) -> IndexKind {
        self.of.kind
    }

    /// Whether no two rows may have the same values; rows with a NULL among them may.
    pub fn is_unique(&self) -> bool {
        self.of.unique
    }

    /// Whether it was created with its table, to find rows by a primary key that they are not stored by. It goes with the table.
    pub fn is_primary(&self) -> bool {
        self.table.primary() == Some(self.id)
    }

    /// Its columns, by their places in the table's definition.
    pub fn columns(&self) -> &[usize] {
        &self.of.columns
    }

    /// The first row with these values, in the order of keys.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that do not fit the columns, or too few for a hash index.
    pub fn get(&self, values: &[Datum]) -> Result<Option<Row>> {
        self.table.database().index_get(self, values)
    }

    pub(crate) fn get_in(&self, moment: &Moment<'_>, values: &[Datum]) -> Result<Option<Row>> {
        let found = moment.index_get(self.id, self.table.id(), &self.fit(values)?)?;
        found.map(|(key, row)| self.table.format().decode(&key, &row)).transpose()
    }

    /// The rows whose first columns of the index have these values, as they are now; of a hash index all columns are needed.
    ///
    /// ```
    /// use ambo::{IndexDefinition, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let towns = TableDefinition::new("towns").column("name", Type::Utf8).column("country", Type::Utf8);
    /// let towns = db.create_table(towns.primary_key(&["name"]))?;
    /// for (name, country) in [("Bern", "CH"), ("Basel", "CH"), ("Brest", "FR")] {
    ///     towns.insert_row(&[name.into(), country.into()])?;
    /// }
    /// db.create_index(&IndexDefinition::new("by_country", "towns", &["country"]).hash())?;
    /// let swiss: Vec<_> = towns.index("by_country")?.rows(&["CH".into()])?.collect::<Result<_, _>>()?;
    /// assert_eq!(swiss.len(), 2);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn rows(&self, values: &[Datum]) -> Result<IndexRows<'static>> {
        self.rows_in(self.now(), values)
    }

    pub(crate) fn rows_in<'a>(&self, moment: Moment<'a>, values: &[Datum]) -> Result<IndexRows<'a>> {
        let moment = moment.pinned();
        let scan = moment.index_scan(self.id, IndexRange::Equal(&self.fit(values)?))?;
        Ok(IndexRows { scan, moment, table: self.table.clone() })
    }

    /// The rows between two bounds on the first columns of an ordered index, in its order.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a hash index, and for values that do not fit.
    pub fn range(&self, lower: Bound<&[Datum]>, upper: Bound<&[Datum]>) -> Result<IndexRows<'static>> {
        self.range_in(self.now(), lower, upper)
    }

    pub(crate) fn range_in<'a>(
        &self,
        moment: Moment<'a>,
        lower: Bound<&[Datum]>,
        upper: Bound<&[Datum]>,
    ) -> Result<IndexRows<'a>> {
        let moment = moment.pinned();
        let scan = self.between(lower, upper, |range| moment.index_scan(self.id, range))?;
        Ok(IndexRows { scan, moment, table: self.table.clone() })
    }

    /// How many rows have these values in the first columns of the index. An ordered index counts its entries, a bitmap index positions;
    /// neither reads a compacted row.
    pub fn count(&self, values: &[Datum]) -> Result<u64> {
        if self.of.kind == IndexKind::Br64Any {
            return Err(Error::Invalid(format!(
                "index \"{}\" has rows under the value of each column; count by a condition on these",
                self.name
            )));
        }
        if !self.of.kind.has_entries() {
            let values = self.fit(values)?;
            if values.is_empty() || values.len() > self.of.columns.len() {
                let (given, columns) = (values.len(), self.of.columns.len());
                return Err(Error::Invalid(format!(
                    "index \"{}\" has {columns} columns, not {given}",
                    self.name
                )));
            }
            let filter = |(column, value): (&usize, &Datum)| Filter {
                column: *column,
                test: match value {
                    Datum::Null => Test::IsNull,
                    value => Test::Compare(Compare::Equal, value.clone()),
                },
            };
            let filters = self.of.columns.iter().zip(&values).map(filter).collect();
            let plan = ScanPlan { columns: Vec::new(), filters, ..ScanPlan::default() };
            return self.snapshot().scan_columns(self.table.id(), &plan)?.count(1);
        }
        self.snapshot().index_count(self.id, IndexRange::Equal(&self.fit(values)?))
    }

    /// The values of its columns in a row.
    pub(crate) fn values_of(&self, row: &[Datum]) -> Row {
        self.of.columns.iter().map(|&column| row[column].clone()).collect()
    }

    fn now(&self) -> Moment<'static> {
        Moment::Pinned(self.snapshot())
    }

    fn snapshot(&self) -> database::Snapshot {
        self.table.database().engine().snapshot()
    }

    fn fit(&self, values: &[Datum]) -> Result<Row> {
        let definition = self.table.definition();
        if values.len() > self.of.columns.len() {
            return Err(Error::Invalid(format!(
                "index \"{}\" has {} columns, {} values were given",
                self.name,
                self.of.columns.len(),
                values.len()
            )));
        }
        let columns = self.of.columns.iter().map(|&column| &definition.columns[column]);
        columns
            .zip(values)
            .map(|(column, value)| fit(&self.table, &column.name, column.kind, value))
            .collect()
    }

    fn between<R>(
        &self,
        lower: Bound<&[Datum]>,
        upper: Bound<&[Datum]>,
        scan: impl FnOnce(IndexRange<'_>) -> Result<R>,
    ) -> Result<R> {
        let fit = |bound: Bound<&[Datum]>| {
            Ok::<_, Error>(match bound {
                Bound::Unbounded => Bound::Unbounded,
                Bound::Included(values) => Bound::Included(self.fit(values)?),
                Bound::Excluded(values) => Bound::Excluded(self.fit(values)?),
            })
        };
        let (lower, upper) = (fit(lower)?, fit(upper)?);
        scan(IndexRange::Between(borrow(&lower), borrow(&upper)))
    }
}

fn borrow(bound: &Bound<Row>) -> Bound<&[Datum]> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(values) => Bound::Included(values),
        Bound::Excluded(values) => Bound::Excluded(values),
    }
}

/// An iterator over the rows that an index finds.
pub struct IndexRows<'a> {
    scan: IndexScan,
    moment: Moment<'a>,
    table: Table,
}

impl IndexRows<'_> {
    fn next_row(&mut self) -> Result<Option<Row>> {
        let Some((key, row)) = self.next_stored()? else { return Ok(None) };
        self.table.format().decode(&key, &row).map(Some)
    }

    /// The stored key of the next row.
    pub(crate) fn next_key(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.next_stored()?.map(|(key, _)| key))
    }

    /// The next row with its stored key.
    pub(crate) fn next_whole(&mut self) -> Result<Option<(Vec<u8>, Row)>> {
        let Some((key, row)) = self.next_stored()? else { return Ok(None) };
        let row = self.table.format().decode(&key, &row)?;
        Ok(Some((key, row)))
    }

    fn next_stored(&mut self) -> Result<Option<(Vec<u8>, Value)>> {
        self.moment.next_found(&mut self.scan, self.table.id())
    }
}

impl Iterator for IndexRows<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        self.next_row().transpose()
    }
}

/// The different values of a column, ascending, NULL first. See [`Snapshot::distinct_values`].
pub struct DistinctValues(DistinctScan);

impl DistinctValues {
    /// In whose order they stand, in words.
    pub fn path(&self) -> &str {
        self.0.path()
    }
}

impl Iterator for DistinctValues {
    type Item = Result<Datum>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_value().transpose()
    }
}

impl Snapshot {
    /// The different values of a column (its place in the definition), from the order of an ordered index that begins with it, or of the
    /// key: entries of one value are not looked at one by one. None if nothing is in its order.
    ///
    /// ```
    /// use ambo::{IndexDefinition, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let towns = TableDefinition::new("towns").column("name", Type::Utf8).column("country", Type::Utf8);
    /// let towns = db.create_table(towns.primary_key(&["name"]))?;
    /// for (name, country) in [("Bern", "CH"), ("Basel", "CH"), ("Brest", "FR")] {
    ///     towns.insert_row(&[name.into(), country.into()])?;
    /// }
    /// assert!(db.snapshot().distinct_values(&towns, 1)?.is_none());
    /// db.create_index(&IndexDefinition::new("by_country", "towns", &["country"]))?;
    /// let countries = db.snapshot().distinct_values(&towns, 1)?.expect("there is an index");
    /// assert_eq!(countries.collect::<Result<Vec<_>, _>>()?, ["CH".into(), "FR".into()]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if the table was not there at this moment.
    pub fn distinct_values(&self, table: &Table, column: usize) -> Result<Option<DistinctValues>> {
        let own = table.format().definition();
        let catalog = self.inner().catalog();
        let there =
            catalog.table(table.id()).ok_or_else(|| Error::NotFound(format!("table \"{}\"", own.name)))?;
        let Some(place) = there.column_in(own.stored_in(column)) else { return Ok(None) };
        Ok(self.inner().distinct_values(table.id(), place)?.map(DistinctValues))
    }
}
