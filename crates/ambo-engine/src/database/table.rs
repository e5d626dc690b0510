//! Rows of typed tables: keys and rows from values and back.

use std::sync::Arc;

use ambo_codec::{KeySpec, Projection, RowSpec, Value as Datum, ValueRef as DatumRef};
use ambo_types::{Error, Result, TableDefinition};
use smallvec::SmallVec;

/// How the rows of one table are stored; computed once from its definition.
#[derive(Debug)]
pub struct RowFormat {
    definition: Arc<TableDefinition>,
    keys: KeySpec,
    rows: RowSpec,
    /// The column in each slot of the row; none where it was dropped.
    slots: Vec<Option<usize>>,
    /// The slots that have a column, if some have none.
    live: Option<Projection>,
}

/// Some columns of the rows of one table, for look-ups that do not need whole rows.
#[derive(Clone, Debug)]
pub struct Picked {
    /// The parts of the key that are picked, and their places among the picked columns.
    keys: (Vec<usize>, Vec<usize>),
    /// The slots of the row that are.
    rows: (Projection, Vec<usize>),
    /// Of each slot, whether it is picked.
    slots: Box<[bool]>,
}

impl Picked {
    /// Whether each slot of the row is picked. Those that came later are not.
    pub(super) fn slots(&self) -> &[bool] {
        &self.slots
    }
}

impl RowFormat {
    /// The format of a validated definition.
    pub fn new(definition: Arc<TableDefinition>) -> Result<Self> {
        let rows = definition.row_spec().map_err(invalid)?;
        let slots: Vec<_> = definition.slots().iter().map(|slot| slot.column).collect();
        let live: Vec<_> = (0..slots.len()).filter(|&slot| slots[slot].is_some()).collect();
        debug_assert_eq!(
            live.len() + definition.key.len(),
            definition.columns.len(),
            "each column is of the key or in a slot"
        );
        let live = match live.len() == slots.len() {
            true => None,
            false => Some(rows.projection(&live).map_err(invalid)?),
        };
        Ok(Self { keys: definition.key_spec().map_err(invalid)?, rows, slots, live, definition })
    }

    /// What it is the format of.
    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.definition
    }

    /// Checks that a row has a value for each column.
    fn check_width(&self, row: &[Datum]) -> Result<()> {
        let wanted = self.definition.columns.len();
        match row.len() == wanted {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "table \"{}\" has {wanted} columns, the row has {} values",
                self.definition.name,
                row.len()
            ))),
        }
    }

    /// The stored key of a row. `number` ends it where the table has a hidden key or duplicates.
    pub fn encode_key(&self, row: &[Datum], number: u64) -> Result<Vec<u8>> {
        self.check_width(row)?;
        self.key_of(self.definition.key.iter().map(|&index| &row[index]), number)
    }

    /// The stored key for the values of the key's columns.
    pub fn encode_key_values(&self, key: &[Datum], number: u64) -> Result<Vec<u8>> {
        self.check_key_width(key)?;
        self.key_of(key.iter(), number)
    }

    fn check_key_width(&self, key: &[Datum]) -> Result<()> {
        let wanted = self.definition.key.len();
        match key.len() == wanted {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "the key of table \"{}\" has {wanted} columns, {} values were given",
                self.definition.name,
                key.len()
            ))),
        }
    }

    fn key_of<'a>(&self, values: impl Iterator<Item = &'a Datum>, number: u64) -> Result<Vec<u8>> {
        let mut columns: SmallVec<[DatumRef<'_>; 4]> = values.map(DatumRef::from).collect();
        if self.ends_in_number() {
            columns.push(DatumRef::from(number));
        }
        let mut out = Vec::new();
        self.keys.encode(&columns, &mut out).map_err(|error| self.in_key(error))?;
        debug_assert!(
            self.keys.decode(&out).is_ok_and(|read| read.len() == columns.len()),
            "a key is read as it was written"
        );
        Ok(out)
    }

    /// Bounds of all stored keys that begin with these key columns: lower inclusive, upper exclusive (none: to the end).
    pub fn key_prefix(&self, values: &[Datum]) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let refs: Vec<_> = values.iter().map(DatumRef::from).collect();
        let range = self.keys.prefix_range(&refs).map_err(|error| self.in_key(error))?;
        debug_assert!(
            range.upper.as_ref().is_none_or(|upper| range.lower < *upper),
            "keys that begin so lie between the bounds"
        );
        Ok((range.lower, range.upper))
    }

    /// Whether stored keys end in a number that is not a column: a hidden row number, or the order of duplicates.
    pub fn ends_in_number(&self) -> bool {
        self.definition.has_hidden_key() || self.definition.duplicates
    }

    /// The number at the end of a stored key, or the value of an auto-increment key.
    pub fn number_of(&self, key: &[u8]) -> Option<u64> {
        let mut values = self.keys.decode(key).ok()?;
        let numbered = match (self.definition.auto_increment, self.definition.primary_columns()) {
            (true, [column]) => self.definition.key.iter().position(|key| key == column)?,
            _ => values.len().checked_sub(1)?,
        };
        match values.swap_remove(numbered) {
            Datum::U64(number) => Some(number),
            Datum::U32(number) => Some(number.into()),
            Datum::I64(number) => u64::try_from(number).ok(),
            Datum::I32(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    /// The stored form of the columns that are not in the key.
    pub fn encode_row(&self, row: &[Datum]) -> Result<Vec<u8>> {
        self.encode_over(row, None)
    }

    /// As [`RowFormat::encode_row`], of a row that takes the place of a stored one: what that has in columns that were added since this
    /// format was made stays.
    pub fn encode_row_over(&self, row: &[Datum], stored: &[u8]) -> Result<Vec<u8>> {
        self.encode_over(row, Some(stored))
    }

    fn encode_over(&self, row: &[Datum], stored: Option<&[u8]>) -> Result<Vec<u8>> {
        self.check_width(row)?;
        if self.definition.is_raw() {
            return match &row[1] {
                Datum::Binary(bytes) => Ok(bytes.to_vec()),
                other => Err(Error::Invalid(format!("a value that is not binary: {other}"))),
            };
        }
        let mut values = SmallVec::<[DatumRef<'_>; 16]>::with_capacity(self.slots.len());
        for (slot, column) in self.slots.iter().enumerate() {
            values.push(match column {
                None => self.rows.missing(slot).unwrap_or(DatumRef::Null),
                Some(index)
                    if row[*index].is_null()
                        && !self.definition.columns[*index].nullable
                        && !self.has_null(stored, slot) =>
                {
                    return Err(self.refused_null(*index));
                }
                Some(index) => DatumRef::from(&row[*index]),
            });
        }
        let mut out = Vec::new();
        match stored {
            None => self.rows.encode(&values, &mut out),
            Some(stored) => self.rows.encode_over(&values, stored, &mut out),
        }
        .map_err(|error| self.in_row(error))?;
        Ok(out)
    }

    /// The row from its stored key and value.
    pub fn decode(&self, key: &[u8], value: &[u8]) -> Result<Vec<Datum>> {
        let mut row = vec![Datum::Null; self.definition.columns.len()];
        let mut of_key = self.definition.key.iter();
        let put = |value: DatumRef<'_>| {
            if let Some(&index) = of_key.next() {
                row[index] = value.to_value();
            }
        };
        self.keys.visit(key, &mut Vec::new(), put).map_err(|error| self.unreadable(error))?;
        if self.definition.is_raw() {
            row[1] = Datum::from(value);
            return Ok(row);
        }
        let columns = self.slots.iter().filter_map(|column| *column);
        match &self.live {
            None => {
                let fields = self.rows.fields(value).map_err(|error| self.unreadable(error))?;
                for (value, index) in fields.zip(columns) {
                    row[index] = value.map_err(|error| self.unreadable(error))?.to_value();
                }
            }
            Some(live) => {
                let mut values = Vec::with_capacity(live.len());
                self.rows
                    .decode_projection(live, value, &mut values)
                    .map_err(|error| self.unreadable(error))?;
                columns.zip(values).for_each(|(index, value)| row[index] = value.to_value());
            }
        }
        Ok(row)
    }

    /// The values of a stored key, in the order of its columns; a hidden number stands at the end.
    pub fn decode_key(&self, key: &[u8]) -> Result<Vec<Datum>> {
        self.keys.decode(key).map_err(|error| self.unreadable(error))
    }

    /// These columns of rows, in this order.
    pub fn pick(&self, columns: &[usize]) -> Result<Picked> {
        let places = |parts: &mut dyn FnMut(usize) -> Option<usize>| -> (Vec<usize>, Vec<usize>) {
            let mut found: Vec<_> = columns
                .iter()
                .zip(0..)
                .filter_map(|(&column, place)| Some((parts(column)?, place)))
                .collect();
            found.sort_unstable();
            found.into_iter().unzip()
        };
        let key = &self.definition.key;
        let keys = places(&mut |column| key.iter().position(|part| *part == column));
        let slot_of = |column| self.slots.iter().position(|slot| *slot == Some(column));
        let (slots, of_rows) = places(&mut |column| slot_of(column).filter(|_| !key.contains(&column)));
        debug_assert_eq!(keys.0.len() + slots.len(), columns.len(), "each column is found");
        // The one column of a raw table is the record.
        let read = if self.definition.is_raw() { &[] } else { &slots[..] };
        let projection = self.rows.projection(read).map_err(invalid)?;
        let is_picked = |slot| slots.contains(&slot);
        Ok(Picked {
            keys,
            rows: (projection, of_rows),
            slots: (0..self.slots.len()).map(is_picked).collect(),
        })
    }

    /// The values of the columns that are picked, from a stored key and value.
    pub fn decode_picked(&self, picked: &Picked, key: &[u8], value: &[u8]) -> Result<Vec<Datum>> {
        let unreadable = |error| self.unreadable(error);
        let Picked { keys: (parts, of_keys), rows: (projection, of_rows), .. } = picked;
        let mut values = vec![Datum::Null; of_keys.len() + of_rows.len()];
        if !parts.is_empty() {
            let put = |place: usize, value: DatumRef<'_>| {
                values[of_keys[place]] = value.to_value();
                Ok(())
            };
            self.keys.visit_columns(key, parts, &mut Vec::new(), put).map_err(unreadable)?;
        }
        if self.definition.is_raw() {
            of_rows.iter().for_each(|place| values[*place] = Datum::from(value));
            return Ok(values);
        }
        let put = |place: usize, value: DatumRef<'_>| {
            values[of_rows[place]] = value.to_value();
            Ok(())
        };
        self.rows.visit_projection(projection, value, put).map_err(unreadable)?;
        Ok(values)
    }

    /// Whether a stored row has NULL in a slot: then the column was dropped, or allowed NULL, since this format was made, and what was read
    /// may be written back.
    fn has_null(&self, stored: Option<&[u8]>, slot: usize) -> bool {
        stored.is_some_and(|stored| self.rows.decode_column(stored, slot).is_ok_and(DatumRef::is_null))
    }

    #[cold]
    fn refused_null(&self, column: usize) -> Error {
        Error::Invalid(format!(
            "a row of table \"{}\": NULL in column \"{}\", which is NOT NULL",
            self.definition.name, self.definition.columns[column].name
        ))
    }

    fn in_key(&self, error: ambo_codec::Error) -> Error {
        Error::Invalid(format!("a key of table \"{}\": {error}", self.definition.name))
    }

    fn in_row(&self, error: ambo_codec::Error) -> Error {
        Error::Invalid(format!("a row of table \"{}\": {error}", self.definition.name))
    }

    fn unreadable(&self, error: ambo_codec::Error) -> Error {
        Error::damaged(
            ambo_pages::page::NAME,
            0,
            format!("a row of table \"{}\" cannot be read: {error}", self.definition.name),
        )
    }
}

fn invalid(error: ambo_codec::Error) -> Error {
    Error::Invalid(error.to_string())
}
