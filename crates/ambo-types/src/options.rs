//! Options of a table that can be changed while it has rows.

use ambo_codec::{integer::IntegerCodec, record::RecordCodec};

use super::TableDefinition;

/// What to change about a table; what is not named stays as it is.
///
/// ```
/// use ambo_types::TableOptions;
/// use ambo_codec::{integer::IntegerCodec, record::RecordCodec};
/// let options = TableOptions::new().key_compression(IntegerCodec::Bp128).record_compression(None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use = "it changes nothing by itself"]
pub struct TableOptions {
    key_compression: Option<Option<IntegerCodec>>,
    record_compression: Option<Option<RecordCodec>>,
    record_dictionary: Option<bool>,
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

    /// What was named: the codec of keys, of records, and whether there is a dictionary.
    #[allow(clippy::type_complexity, reason = "two are switches that may be left alone")]
    pub fn parts(&self) -> (Option<Option<IntegerCodec>>, Option<Option<RecordCodec>>, Option<bool>) {
        (self.key_compression, self.record_compression, self.record_dictionary)
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
        table
    }
}
