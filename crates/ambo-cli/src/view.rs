//! One table as a command sees it: directly, or through the transaction that the prompt has open.

use std::fs::File;
use std::io::{Read, Write};
use std::ops::Bound;
use std::path::Path;

use ambo::{Bytes, Datum, Read as _, Table, Transaction};

use crate::engine::OrFail;
use crate::failure::{Failure, Result};
use crate::schema::{self, Column};

/// One record of a table.
pub enum Record {
    /// Of a key-value table.
    Pair(Vec<u8>, Vec<u8>),
    /// Of a table with typed columns.
    Row(Vec<Datum>),
}

/// Which records are meant: the first three are for pairs, the last for rows.
#[derive(Clone, Debug, Default)]
pub struct Range {
    /// From this key on.
    pub from: Option<Vec<u8>>,
    /// Up to but without this key.
    pub to: Option<Vec<u8>>,
    /// Only keys that begin so.
    pub prefix: Option<Vec<u8>>,
    /// Only rows whose first key columns have these values.
    pub key: Vec<Datum>,
}

/// Records in key order, or the reverse.
pub type Records<'a> = Box<dyn Iterator<Item = ambo::Result<Record>> + 'a>;

/// A table, and the transaction to go through.
pub struct View<'a> {
    /// For messages.
    pub dir: &'a Path,
    /// The table.
    pub table: &'a Table,
    /// The open transaction; without one each operation stands for itself.
    pub tx: Option<&'a mut Transaction>,
}

impl View<'_> {
    /// Whether the table holds pairs of bytes.
    pub fn is_key_value(&self) -> bool {
        self.table.definition().is_raw()
    }

    /// The table's columns.
    pub fn columns(&self) -> Vec<Column> {
        schema::of(self.table.definition())
    }

    /// The columns of the key, in the key's order. A table with a hidden row number has none.
    pub fn key_columns(&self) -> Vec<Column> {
        let columns = self.columns();
        let find = |name: &String| columns.iter().find(|column| &column.name == name).cloned();
        schema::key_of(self.table.definition()).iter().filter_map(find).collect()
    }

    /// The value of a key of a key-value table.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value = match &self.tx {
            Some(tx) => tx.get(self.table, key).or_fail(self.dir)?.map(|value| value.to_vec()),
            None => self.table.get(key).or_fail(self.dir)?.map(|value| value.to_vec()),
        };
        Ok(value)
    }

    /// The row of a key.
    pub fn get_row(&self, key: &[Datum]) -> Result<Option<Vec<Datum>>> {
        match &self.tx {
            Some(tx) => tx.get_row(self.table, key).or_fail(self.dir),
            None => self.table.get_row(key).or_fail(self.dir),
        }
    }

    /// Stores a pair.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match &mut self.tx {
            Some(tx) => tx.put(self.table, key, value).or_fail(self.dir),
            None => self.table.put(key, value).or_fail(self.dir),
        }
    }

    /// Stores a file as the value of a key, without holding it in memory.
    pub fn put_stream(&mut self, key: &[u8], source: &mut File, name: &Path) -> Result<()> {
        if self.tx.is_some() {
            return Err(Failure::usage(
                "a file is stored outside of a transaction; commit or rollback first",
            ));
        }
        let mut stream = self.table.put_stream(key).or_fail(self.dir)?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            let length = source.read(&mut buffer).map_err(|error| Failure::file(name, &error))?;
            if length == 0 {
                break;
            }
            let written = stream.write_all(&buffer[..length]);
            written.map_err(|error| Failure::Database(format!("{}: {error}", self.dir.display())))?;
        }
        stream.finish().or_fail(self.dir)?;
        Ok(())
    }

    /// Stores a row, over the one with the same key if there is one.
    pub fn put_row(&mut self, row: &[Datum]) -> Result<()> {
        match &mut self.tx {
            Some(tx) => tx.upsert_row(self.table, row).or_fail(self.dir)?,
            None => self.table.upsert_row(row).or_fail(self.dir)?,
        };
        Ok(())
    }

    /// Removes a pair; false when there was none.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let was_there = self.get(key)?.is_some();
        match &mut self.tx {
            Some(tx) => tx.delete(self.table, key).or_fail(self.dir)?,
            None => self.table.delete(key).or_fail(self.dir)?,
        };
        Ok(was_there)
    }

    /// Removes a row; false when there was none.
    pub fn delete_row(&mut self, key: &[Datum]) -> Result<bool> {
        match &mut self.tx {
            Some(tx) => tx.delete_row(self.table, key).or_fail(self.dir),
            None => self.table.delete_row(key).or_fail(self.dir),
        }
    }

    /// The records of a range, in the order of their keys or the reverse.
    pub fn scan(&self, range: &Range, reverse: bool) -> Result<Records<'_>> {
        match self.is_key_value() {
            true => self.scan_pairs(range, reverse),
            false => self.scan_rows(range, reverse),
        }
    }

    fn scan_pairs(&self, range: &Range, reverse: bool) -> Result<Records<'_>> {
        let bounds = range.bounds();
        let scan = match &self.tx {
            Some(tx) => tx.scan(self.table, bounds),
            None => self.table.scan(bounds),
        };
        let pairs = scan.or_fail(self.dir)?;
        let record = |pair: ambo::Result<(Bytes, Bytes)>| {
            pair.map(|(key, value)| Record::Pair(key.into(), value.into()))
        };
        Ok(if reverse { Box::new(pairs.rev().map(record)) } else { Box::new(pairs.map(record)) })
    }

    fn scan_rows(&self, range: &Range, reverse: bool) -> Result<Records<'_>> {
        let scan = match &self.tx {
            Some(tx) => tx.rows_prefix(self.table, &range.key),
            None => self.table.rows_prefix(&range.key),
        };
        let rows = scan.or_fail(self.dir)?;
        let record = |row: ambo::Result<Vec<Datum>>| row.map(Record::Row);
        Ok(if reverse { Box::new(rows.rev().map(record)) } else { Box::new(rows.map(record)) })
    }

    /// How many records a range has, without reading them where that is possible.
    pub fn count(&self, range: &Range) -> Result<u64> {
        match (&self.tx, self.is_key_value()) {
            (Some(tx), true) => tx.count(self.table, range.bounds()).or_fail(self.dir),
            (None, true) => self.table.count(range.bounds()).or_fail(self.dir),
            (None, false) => self.table.count_prefix(&range.key).or_fail(self.dir),
            (Some(_), false) => {
                let mut records = self.scan(range, false)?;
                records.try_fold(0, |count, record| record.map(|_| count + 1)).or_fail(self.dir)
            }
        }
    }
}

impl Range {
    /// The bounds that hold all of the wishes at once.
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let from = self.from.iter().chain(&self.prefix).max().cloned();
        let behind = self.prefix.as_deref().and_then(ambo::successor);
        let to = self.to.iter().chain(&behind).min().cloned();
        (from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a prefix scan that misses the keys with 0xFF bytes.
    #[test]
    fn bounds_of_prefixes() {
        let range = |from: &[u8], prefix: &[u8]| Range {
            from: Some(from.to_vec()),
            prefix: Some(prefix.to_vec()),
            ..Range::default()
        };
        assert_eq!(
            range(b"a", b"b\xff").bounds(),
            (Bound::Included(b"b\xff".to_vec()), Bound::Excluded(b"c".to_vec()))
        );
        assert_eq!(
            range(b"bx", b"b").bounds(),
            (Bound::Included(b"bx".to_vec()), Bound::Excluded(b"c".to_vec()))
        );
        assert_eq!(range(b"", b"\xff\xff").bounds().1, Bound::Unbounded);
    }
}
