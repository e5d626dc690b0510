//! Options of a table that can be changed while it has rows.

use ambo_codec::{integer::IntegerCodec, record::RecordCodec};

use super::{RecordWidth, Retention, StoredIn, TableDefinition};

/// What to change about a table; what is not named stays as it is.
///
/// ```
/// use ambo_types::TableOptions;
/// use ambo_codec::{integer::IntegerCodec, record::RecordCodec};
/// let options = TableOptions::new().key_compression(IntegerCodec::Bp128).record_compression(None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use = "it changes nothing by itself"]
pub struct TableOptions {
    key_compression: Option<Option<IntegerCodec>>,
    record_compression: Option<Option<RecordCodec>>,
    record_dictionary: Option<bool>,
    record_width: Option<RecordWidth>,
    updates: Option<bool>,
    retention: Option<Option<Retention>>,
    ttl: Option<Option<Retention>>,
    ttl_column: Option<Option<StoredIn>>,
    compaction_filter: Option<Option<String>>,
}

impl TableOptions {
    /// Changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// How keys are compressed, or `None` for not at all. See [`TableDefinition::key_compression`].
    pub fn key_compression(mut self, codec: impl Into<Option<IntegerCodec>>) -> Self {
        self.key_compression = Some(codec.into());
        self
    }

    /// How records are compressed, or `None` for not at all. A dictionary is given up with every codec but `zstd`.
    pub fn record_compression(mut self, codec: impl Into<Option<RecordCodec>>) -> Self {
        self.record_compression = Some(codec.into());
        self
    }

    /// Whether records are compressed with a trained dictionary. See [`TableDefinition::record_dictionary`].
    pub fn record_dictionary(mut self, on: bool) -> Self {
        self.record_dictionary = Some(on);
        self
    }

    /// How wide the records of storage `append` are that are written from now on.
    pub fn record_width(mut self, width: RecordWidth) -> Self {
        self.record_width = Some(width);
        self
    }

    /// Whether rows of storage `append` may be updated. See [`Records::updates`](super::Records::updates).
    pub fn updates(mut self, allowed: bool) -> Self {
        self.updates = Some(allowed);
        self
    }

    /// How long rows of storage `append` are kept, or `None` for ever.
    pub fn retention(mut self, retention: impl Into<Option<Retention>>) -> Self {
        self.retention = Some(retention.into());
        self
    }

    /// How long rows are there after the time in their column of time, or `None` for ever.
    pub fn ttl(mut self, ttl: impl Into<Option<Retention>>) -> Self {
        self.ttl = Some(ttl.into());
        self
    }

    /// The column that rows expire by, by where it is stored ([`TableDefinition::stored_in`]).
    pub fn ttl_column(mut self, column: impl Into<Option<StoredIn>>) -> Self {
        self.ttl_column = Some(column.into());
        self
    }

    /// The filter that says which rows go as the table is compacted, by its name, or `None` for no such filter.
    pub fn compaction_filter<'n>(mut self, name: impl Into<Option<&'n str>>) -> Self {
        self.compaction_filter = Some(name.into().map(str::to_owned));
        self
    }

    /// What was named: the codec of keys, of records, and whether there is a dictionary.
    #[allow(clippy::type_complexity, reason = "two are switches that may be left alone")]
    pub fn parts(&self) -> (Option<Option<IntegerCodec>>, Option<Option<RecordCodec>>, Option<bool>) {
        (self.key_compression, self.record_compression, self.record_dictionary)
    }

    /// These, and of `more` what that names.
    pub fn and(self, more: Self) -> Self {
        Self {
            key_compression: more.key_compression.or(self.key_compression),
            record_compression: more.record_compression.or(self.record_compression),
            record_dictionary: more.record_dictionary.or(self.record_dictionary),
            record_width: more.record_width.or(self.record_width),
            updates: more.updates.or(self.updates),
            retention: more.retention.or(self.retention),
            ttl: more.ttl.or(self.ttl),
            ttl_column: more.ttl_column.or(self.ttl_column),
            compaction_filter: more.compaction_filter.or(self.compaction_filter),
        }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The definition with these options.
    #[must_use]
    pub fn apply(&self, mut table: TableDefinition) -> TableDefinition {
        if let Some(codec) = self.key_compression {
            table.key_compression = codec;
        }
        if let Some(codec) = self.record_compression {
            table.record_compression = codec;
            table.record_dictionary &= matches!(codec, Some(RecordCodec::Zstd { .. }));
        }
        if let Some(on) = self.record_dictionary {
            table.record_dictionary = on;
        }
        table.records.width = self.record_width.unwrap_or(table.records.width);
        table.records.updates = self.updates.unwrap_or(table.records.updates);
        table.records.retention = self.retention.unwrap_or(table.records.retention);
        table.expiry.ttl = self.ttl.unwrap_or(table.expiry.ttl);
        if let Some(column) = self.ttl_column {
            table.expiry.column = column.and_then(|stored| table.column_in(stored));
        }
        if let Some(filter) = &self.compaction_filter {
            table.compaction_filter.clone_from(filter);
        }
        table
    }
}
