//! The definition of a table.

mod expiry;
mod filter;
mod format;
mod notes;
mod records;
mod slots;
mod sort_key;
mod storage;

use std::fmt;

use ambo_codec::{KeyColumn, KeySpec, Type, Value, ValueRef, integer::IntegerCodec, record::RecordCodec};

pub use expiry::Expiry;
pub use records::{RecordWidth, Records, Retention};
use slots::Dropped;
pub use slots::{Slot, StoredIn};
pub use storage::{Storage, StorageTraits};

use crate::{Error, Logical, Part, Result, index::IndexOf, logical::uuid_text, names};
use sort_key::SortKey;

/// The most columns of a table.
pub const COLUMNS_MAX: usize = 4096;

/// The width of a table's stored keys, where all have one that can be compressed as integers: the keys' bytes, big-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyWidth {
    /// 4 bytes: a `u32`.
    Four,
    /// 8 bytes: a `u64`.
    Eight,
}

impl KeyWidth {
    /// In bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// Around the expression of a generated column.
const GENERATED: &str = "GENERATED ALWAYS AS (";
const STORED: &str = ") STORED";

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// What its values are stored in.
    pub kind: Type,
    /// What they mean, if that is more: [`Column::of`] gives both.
    pub logical: Option<Logical>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// What a row without it reads: one that was written before the column was added. Never changed.
    pub default: Option<Value>,
    /// What is inserted where no value is given, as an SQL expression; kept for SQL, which evaluates it. Of a generated column
    /// ([`Column::generated`]) it is `GENERATED ALWAYS AS (expression) STORED`.
    pub default_expression: Option<String>,
    /// What users say about it.
    pub comment: Option<String>,
}

impl Column {
    /// A column that is never NULL.
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self {
            name: name.into(),
            kind,
            logical: None,
            nullable: false,
            default: None,
            default_expression: None,
            comment: None,
        }
    }

    /// A column of a logical type that is never NULL.
    pub fn of(name: impl Into<String>, logical: Logical) -> Self {
        Self { logical: Some(logical.clone()), ..Self::new(name, logical.kind()) }
    }

    /// A column of any type that is never NULL.
    pub fn typed(name: impl Into<String>, part: Part) -> Self {
        match part {
            Part::Plain(kind) => Self::new(name, kind),
            Part::Logical(logical) => Self::of(name, logical),
        }
    }

    /// The same, which may be NULL.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// The same, whose values are computed of the other columns of a row by an SQL expression.
    #[must_use]
    pub fn generated_as(self, expression: impl fmt::Display) -> Self {
        self.default_expression(format!("{GENERATED}{expression}{STORED}"))
    }

    /// The SQL expression that its values are computed by, if it is generated. It is kept where others have their default.
    pub fn generated(&self) -> Option<&str> {
        self.default_expression.as_deref()?.strip_prefix(GENERATED)?.strip_suffix(STORED)
    }

    /// What to call it in messages: its name, or what it is computed from where SQL made it for an index, under a name that begins with a
    /// character that is not seen.
    pub fn title(&self) -> &str {
        match self.generated() {
            Some(expression) if self.name.starts_with('\u{2060}') => expression,
            _ => &self.name,
        }
    }

    /// Whether a stored value is one that it means. Whether it may be NULL is left to others.
    ///
    /// # Errors
    /// What is wrong with the value.
    #[inline]
    pub fn check(&self, value: ValueRef<'_>) -> Result<(), String> {
        self.logical.as_ref().map_or(Ok(()), |logical| logical.check(value))
    }

    /// A value as messages show it.
    pub fn shown(&self, value: ValueRef<'_>) -> String {
        match (&self.logical, value) {
            (Some(Logical::Uuid), ValueRef::Binary(uuid)) => uuid_text(uuid),
            (Some(Logical::Enum(of)), ValueRef::U16(code)) => {
                of.label(code).map_or_else(|_| value.to_string(), str::to_owned)
            }
            (_, value) => value.to_string(),
        }
    }

    /// The name of its type.
    pub fn type_name(&self) -> String {
        self.logical.as_ref().map_or_else(|| self.kind.to_string(), Logical::to_string)
    }

    /// What a row without it reads.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// What SQL inserts where no value is given.
    #[must_use]
    pub fn default_expression(mut self, sql: impl Into<String>) -> Self {
        self.default_expression = Some(sql.into());
        self
    }

    /// What users say about it.
    #[must_use]
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }
}

impl Column {
    /// Whether it is as those of a plain key-value table.
    fn is_plain_binary(&self) -> bool {
        self.kind == Type::Binary && self.logical.is_none() && !self.nullable && self.default.is_none()
    }

    /// That keys and indexes can find its values by their bytes.
    pub(crate) fn require_ordered(&self, place: &str) -> Result<(), String> {
        match self.logical.as_ref().is_none_or(Logical::is_ordered) {
            true => Ok(()),
            false => Err(format!(
                "column \"{}\" is of type {}, whose values cannot be {place}",
                self.name,
                self.type_name()
            )),
        }
    }
}

/// What is wrong with the logical type of a column, if anything.
fn check_logical(column: &Column) -> Result<(), String> {
    let Some(logical) = &column.logical else { return Ok(()) };
    logical.validate()?;
    if column.kind != logical.kind() {
        return Err(format!("{logical} is stored in {}, not in {}", logical.kind(), column.kind));
    }
    let default = column.default.as_ref().map_or(ValueRef::Null, Value::as_ref);
    logical.check(default).map_err(|what| format!("its default: {what}"))
}

/// A condition that all rows are to fulfil, kept for SQL, which evaluates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, unique in the table.
    pub name: String,
    /// An SQL expression over the table's columns.
    pub expression: String,
}

impl Check {
    /// A condition of this name.
    pub fn new(name: impl Into<String>, expression: impl Into<String>) -> Self {
        Self { name: name.into(), expression: expression.into() }
    }
}

/// What a table is: columns, key, storage and options.
///
/// ```
/// use ambo_types::TableDefinition;
/// use ambo_codec::Type;
/// let flights = TableDefinition::new("flights")
///     .column("id", Type::I64)
///     .column_nullable("delay", Type::F64)
///     .primary_key(&["id"]);
/// flights.validate()?;
/// # Ok::<(), ambo_types::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TableDefinition {
    /// `schema.table`, or `table` for the schema `main`.
    pub name: String,
    /// The columns in their order.
    pub columns: Vec<Column>,
    /// Indexes of the stored key's columns, in key order; empty for a hidden row number. With a sort key its columns come first
    /// ([`TableDefinition::sort_key`]); those of the primary key are [`TableDefinition::primary_columns`].
    pub key: Vec<usize>,
    /// The shape of the base.
    pub storage: Storage,
    /// Whether commits to it go to the log. Without, they are durable from the next checkpoint on.
    pub log: bool,
    /// Whether the key's only column, an integer, is given the next number when it is NULL.
    pub auto_increment: bool,
    /// Whether several rows may have the same key, in an order that the writer chooses.
    pub duplicates: bool,
    /// How the keys of compacted rows are compressed.
    pub key_compression: Option<IntegerCodec>,
    /// How compacted records, long ones too, are compressed where that makes them smaller.
    pub record_compression: Option<RecordCodec>,
    /// Whether records are compressed with a dictionary that is trained as they compact; for `zstd`.
    pub record_dictionary: bool,
    /// If it is an index: of what.
    pub index: Option<IndexOf>,
    /// What users say about it.
    pub comment: Option<String>,
    /// Conditions on its rows.
    pub checks: Vec<Check>,
    /// What its records are like, if it is of storage `append`.
    pub records: Records,
    /// When its rows expire.
    pub expiry: Expiry,
    /// The filter that says which of its rows go as it is compacted, by the name under which programs register it.
    pub compaction_filter: Option<String>,
    /// Columns that are gone, whose places in stored rows stay.
    dropped: Vec<Dropped>,
    /// Sort key and primary key, where they differ.
    sorted: Option<SortKey>,
    /// Whether key and value are stored as the user's bytes.
    raw: bool,
    /// Names given to `primary_key` that are no column, kept for the error message.
    unknown_key: Option<String>,
}

impl TableDefinition {
    /// A table without columns yet, of storage `btree`, logged.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            key: Vec::new(),
            storage: Storage::default(),
            log: true,
            auto_increment: false,
            duplicates: false,
            key_compression: None,
            record_compression: None,
            record_dictionary: false,
            index: None,
            comment: None,
            checks: Vec::new(),
            records: Records::default(),
            expiry: Expiry::default(),
            compaction_filter: None,
            dropped: Vec::new(),
            sorted: None,
            raw: false,
            unknown_key: None,
        }
    }

    /// The table `(key BINARY PRIMARY KEY, value BINARY)`, whose bytes are stored as they are.
    pub fn key_value(name: impl Into<String>) -> Self {
        let mut table =
            Self::new(name).column("key", Type::Binary).column("value", Type::Binary).primary_key(&["key"]);
        table.raw = true;
        table
    }

    /// Adds a column that is never NULL.
    #[must_use]
    pub fn column(self, name: impl Into<String>, kind: Type) -> Self {
        self.with_column(Column::new(name, kind))
    }

    /// Adds a column.
    #[must_use]
    pub fn with_column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// Adds a column that may be NULL.
    #[must_use]
    pub fn column_nullable(self, name: impl Into<String>, kind: Type) -> Self {
        self.with_column(Column::new(name, kind).nullable())
    }

    /// Gives the last added column a default.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.default = Some(value.into());
        }
        self
    }

    /// Says something about the table.
    #[must_use]
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }

    /// Adds a condition that SQL holds rows to.
    #[must_use]
    pub fn check(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.checks.push(Check::new(name, expression));
        self
    }

    /// Sets the key. Without it the table has a hidden row number as its key.
    #[must_use]
    pub fn primary_key(mut self, names: &[&str]) -> Self {
        let mut primary = Vec::new();
        for name in names {
            match self.columns.iter().position(|column| column.name == *name) {
                Some(index) => primary.push(index),
                None => self.unknown_key = Some((*name).to_owned()),
            }
        }
        self.set_primary(primary);
        self
    }

    /// Sets the shape of the base.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self.log &= storage.traits().durable;
        if !storage.traits().records {
            self.records = Records::default();
        }
        self
    }

    /// The same table with another storage, and without what that cannot have: in a column table each column is encoded by itself, and one
    /// in memory is not logged. One that comes from memory is logged, as if it were new.
    #[must_use]
    pub fn with_storage(&self, storage: Storage) -> Self {
        let mut table = self.clone();
        table.storage = storage;
        table.log = storage.traits().durable && (self.log || !self.storage.traits().durable);
        if storage.traits().by_column {
            table.key_compression = None;
            table.record_compression = None;
            table.record_dictionary = false;
        }
        if !storage.traits().records {
            table.records = Records::default();
        }
        table
    }

    /// Switches the log on or off for commits to this table.
    #[must_use]
    pub fn log(mut self, log: bool) -> Self {
        self.log = log && self.storage.traits().durable;
        self
    }

    /// Lets the key's only column, an integer, number itself: 1, 2, 3 ….
    #[must_use]
    pub fn auto_increment(mut self) -> Self {
        self.auto_increment = true;
        self
    }

    /// Lets several rows have the same key.
    #[must_use]
    pub fn duplicates(mut self) -> Self {
        self.duplicates = true;
        self
    }

    /// Compresses the keys of compacted rows, which must be 4 or 8 bytes long ([`TableDefinition::key_width`]).
    #[must_use]
    pub fn key_compression(mut self, codec: impl Into<Option<IntegerCodec>>) -> Self {
        self.key_compression = codec.into();
        self
    }

    /// Compresses compacted records.
    #[must_use]
    pub fn record_compression(mut self, codec: impl Into<Option<RecordCodec>>) -> Self {
        self.record_compression = codec.into();
        self
    }

    /// Compresses records with a dictionary that is trained as they compact. Small records that are alike gain from it; only `zstd`
    /// can use one.
    #[must_use]
    pub fn record_dictionary(mut self, on: bool) -> Self {
        self.record_dictionary = on;
        self
    }

    /// What the check is called that a generated column has the value of its expression.
    pub fn generated_check(column: &str) -> String {
        format!("{column}_generated")
    }

    /// Whether a check says that a generated column has the value of its expression.
    pub fn is_of_generated(&self, check: &Check) -> bool {
        let mut generated = self.columns.iter().filter(|column| column.generated().is_some());
        generated.any(|column| Self::generated_check(&column.name) == check.name)
    }

    /// Whether key and value are stored as the user's bytes.
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// The index of a column.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Whether the primary key is a hidden row number.
    pub fn has_hidden_key(&self) -> bool {
        self.primary_columns().is_empty()
    }

    /// Whether a column, by its place, is the primary key that numbers itself: a row that has NULL there is given the next number.
    pub fn numbers_itself(&self, column: usize) -> bool {
        self.auto_increment && self.primary_columns() == [column]
    }

    /// Checks that the definition can be a table.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the column and what is wrong with it.
    pub fn validate(&self) -> Result<()> {
        names::qualify(&self.name)?;
        let table = &self.name;
        let invalid = |what: String| Err(Error::Invalid(format!("table \"{table}\": {what}")));
        if let Some(name) = &self.unknown_key {
            return invalid(format!("the key's column \"{name}\" is not one of its columns"));
        }
        if self.columns.is_empty() || self.columns.len() > COLUMNS_MAX {
            return invalid(format!(
                "it has {} columns; 1 to {COLUMNS_MAX} are possible",
                self.columns.len()
            ));
        }
        for (index, column) in self.columns.iter().enumerate() {
            names::check("column", &column.name)?;
            if self.columns[..index].iter().any(|other| other.name == column.name) {
                return invalid(format!("two columns are named \"{}\"", column.name));
            }
            check_logical(column).or_else(|what| invalid(format!("column \"{}\": {what}", column.name)))?;
        }
        self.check_sort_key().or_else(invalid)?;
        for (position, &index) in self.key.iter().enumerate() {
            let Some(column) = self.columns.get(index) else {
                return invalid(format!("the key names column {index}, which is not there"));
            };
            if column.nullable {
                return invalid(format!(
                    "column \"{}\" is part of the key, so it cannot be NULL",
                    column.name
                ));
            }
            column.require_ordered("part of the key").or_else(invalid)?;
            if self.key[..position].contains(&index) {
                return invalid(format!("column \"{}\" is twice in the key", column.name));
            }
        }
        if self.auto_increment && !self.can_number_itself() {
            return invalid(
                "auto-increment needs a key of one column of a 32- or 64-bit integer type".into(),
            );
        }
        if self.duplicates && (self.key.is_empty() || self.auto_increment || self.raw) {
            return invalid("duplicate keys need declared key columns without auto-increment, and no plain key-value table".into());
        }
        if !self.storage.traits().durable && self.log {
            return invalid(format!("a {} table is never logged", self.storage.name()));
        }
        if self.raw && !self.looks_raw() {
            return invalid(
                "a plain key-value table is (key BINARY, value BINARY) with the first as its key".into(),
            );
        }
        if self.index.is_some() && (!self.raw || self.storage.of_indexes() != self.storage) {
            return invalid("an index is a plain key-value table of storage btree or memory".into());
        }
        self.check_slots().or_else(invalid)?;
        for (index, check) in self.checks.iter().enumerate() {
            names::check("check", &check.name)?;
            if self.checks[..index].iter().any(|other| other.name == check.name) {
                return invalid(format!("two checks are named \"{}\"", check.name));
            }
        }
        self.check_compression().or_else(invalid)?;
        self.check_records().or_else(invalid)?;
        self.check_expiry().or_else(invalid)?;
        self.check_filter().or_else(invalid)?;
        let wrap = |error: ambo_codec::Error| Error::Invalid(format!("table \"{table}\": {error}"));
        self.key_spec().map_err(wrap)?;
        self.row_spec().map_err(wrap)?;
        Ok(())
    }

    /// What is wrong with the compression, if anything.
    fn check_compression(&self) -> Result<(), String> {
        if self.storage.traits().by_column
            && (self.key_compression.is_some() || self.record_compression.is_some())
        {
            return Err(format!(
                "a table of storage {} stores each column by itself; key and record compression are for btree and memory",
                self.storage.name()
            ));
        }
        if let Some(codec) = self.key_compression
            && self.key_width().is_none()
        {
            let found = match self.key_spec().map(|spec| spec.fixed_width()) {
                _ if self.raw => "those of a plain key-value table have any length; make a table with a u32 or u64 key column".into(),
                Ok(Some(width)) => format!("its keys have {width}{}", if self.duplicates { ", the order number of duplicates included" } else { "" }),
                _ => "its keys have a column of any length".to_owned(),
            };
            return Err(format!("key compression \"{codec}\" needs keys of 4 or 8 bytes; {found}"));
        }
        if let Some(codec) = self.record_compression
            && RecordCodec::from_parts(codec.number(), codec.level()) != Some(codec)
        {
            let levels = if matches!(codec, RecordCodec::Zstd { .. }) { "1 to 22" } else { "1 to 9" };
            return Err(format!(
                "record compression {} has levels {levels}, not {}",
                codec.name(),
                codec.level()
            ));
        }
        if self.record_dictionary && !matches!(self.record_compression, Some(RecordCodec::Zstd { .. })) {
            return Err("a record dictionary needs record compression zstd".into());
        }
        Ok(())
    }

    fn can_number_itself(&self) -> bool {
        matches!(self.primary_columns(), [index] if matches!(self.columns[*index].kind, Type::I32 | Type::I64 | Type::U32 | Type::U64))
    }

    fn looks_raw(&self) -> bool {
        self.key == [0]
            && self.columns.len() == 2
            && self.columns.iter().all(|column| column.is_plain_binary())
    }

    /// How keys are stored: the key's columns; with duplicates an order number (u64) behind them; a hidden key
    /// is the row number (u64) alone, or behind the columns of the sort key.
    pub fn key_spec(&self) -> ambo_codec::Result<KeySpec> {
        let mut columns: Vec<_> =
            self.key.iter().map(|&index| KeyColumn::new(self.columns[index].kind)).collect();
        if self.is_numbered() {
            columns.push(KeyColumn::new(Type::U64));
        }
        KeySpec::new(columns)
    }

    /// Whether stored keys end in a number of the row.
    pub fn is_numbered(&self) -> bool {
        self.duplicates || self.has_hidden_key()
    }

    /// The width of stored keys, if all have the same and it is that of an integer: what key compression needs. Composite keys whose
    /// columns sum up to it have one, too.
    pub fn key_width(&self) -> Option<KeyWidth> {
        match self.key_spec().ok()?.fixed_width()? {
            4 => Some(KeyWidth::Four),
            8 => Some(KeyWidth::Eight),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
