//! Some columns of rows by their keys: a column table reads no others.

use ambo_engine::database;

use crate::{Datum, Read, Result, Row, Table, Value, select::column};

/// Some columns of a table, to look them up by the primary key.
///
/// ```
/// use ambo::{Database, Storage, TableDefinition, Type};
/// # let dir = tempfile::tempdir()?;
/// # let db = Database::open(dir.path())?;
/// let people = db.create_table(
///     TableDefinition::new("people")
///         .column("id", Type::I64)
///         .column("name", Type::Utf8)
///         .column("story", Type::Utf8)
///         .primary_key(&["id"])
///         .storage(Storage::Column),
/// )?;
/// people.insert_row(&[1i64.into(), "Ada".into(), "a long one".into()])?;
/// let name = people.pick(&["name"])?;
/// assert_eq!(name.get(&[1i64.into()])?, Some(vec!["Ada".into()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PickedColumns {
    table: Table,
    columns: Vec<usize>,
    picked: database::Picked,
}

impl Table {
    /// Some columns, in this order, to look them up by the primary key. In a column table a look-up costs what these columns cost, not the
    /// row.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the table has no such column.
    pub fn pick(&self, columns: &[&str]) -> Result<PickedColumns> {
        let columns = columns.iter().map(|name| column(self, name)).collect::<Result<Vec<_>>>()?;
        let picked = self.format().pick(&columns)?;
        Ok(PickedColumns { table: self.clone(), columns, picked })
    }
}

impl PickedColumns {
    /// Their values in the row with this primary key, if there is one: as it is committed now.
    pub fn get(&self, key: &[Datum]) -> Result<Option<Row>> {
        self.get_by(
            key,
            |key| self.table.database().engine().get_picked(self.table.id(), key, Some(&self.picked)),
            |key| self.table.get_row(key),
        )
    }

    /// As [`PickedColumns::get`], as a view of the database shows the row.
    pub fn get_in(&self, view: &impl Read, key: &[Datum]) -> Result<Option<Row>> {
        self.get_by(
            key,
            |key| view.view().get_picked(self.table.id(), key, &self.picked),
            |key| view.get_row(&self.table, key),
        )
    }

    fn get_by(
        &self,
        key: &[Datum],
        record: impl FnOnce(&[u8]) -> Result<Option<Value>>,
        row: impl FnOnce(&[Datum]) -> Result<Option<Row>>,
    ) -> Result<Option<Row>> {
        // Where rows lie in another order, an index leads to whole ones.
        if self.table.definition().has_sort_key() {
            let of = |row: Row| self.columns.iter().map(|column| row[*column].clone()).collect();
            return Ok(row(key)?.map(of));
        }
        let key = self.table.whole_key(key)?;
        record(&key)?.map(|value| self.table.format().decode_picked(&self.picked, &key, &value)).transpose()
    }
}
