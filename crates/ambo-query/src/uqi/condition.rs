//! Conditions with the columns of a table: what is asked of the storage, of vectors and of plug-ins.

use ambo_codec::{Type, Value};
use ambo_engine::scan::Test;
use ambo_types::{Error, Result};

use super::{
    Batch, Input,
    plugin::{Plugins, PredicatePlugin, RowTest},
    text::Condition,
};
use crate::predicate::{Column, Compare, Operand, Predicate, Vectors};

/// A condition whose columns are those of a reader, by place.
pub(super) enum Bound {
    Rows(Box<Vectors>),
    Plugin(BoundPlugin),
    And(Vec<Bound>),
    Or(Vec<Bound>),
}

/// See [`Bound`].
pub(super) struct BoundPlugin {
    plugin: std::sync::Arc<dyn PredicatePlugin>,
    input: Input,
    first: usize,
    second: Option<usize>,
    is: bool,
}

/// Whether a condition asks a predicate of others, which may answer otherwise the next time.
pub(super) fn asks_others(condition: &Condition) -> bool {
    match condition {
        Condition::Rows(_) => false,
        Condition::Plugin { .. } => true,
        Condition::And(parts) | Condition::Or(parts) => parts.iter().any(asks_others),
    }
}

/// What a condition is bound to.
pub(super) struct Binder<'b> {
    pub(super) plugins: &'b Plugins,
    /// The places of names among the columns of the reader.
    pub(super) places: &'b [usize],
    /// The columns of the reader, each with whether it may be NULL.
    pub(super) columns: &'b [(Type, bool)],
    /// Where key and record are among them, where they were asked for.
    pub(super) key: Option<usize>,
    pub(super) record: Option<usize>,
}

impl Binder<'_> {
    pub(super) fn bind(&self, condition: &Condition) -> Result<Bound> {
        let all = |parts: &[Condition]| parts.iter().map(|part| self.bind(part)).collect::<Result<Vec<_>>>();
        Ok(match condition {
            Condition::And(parts) => Bound::And(all(parts)?),
            Condition::Or(parts) => Bound::Or(all(parts)?),
            Condition::Rows(predicate) => {
                Bound::Rows(Box::new(Vectors::new(&self.rows(predicate)?, self.columns)?))
            }
            Condition::Plugin { name, inputs, is } => {
                let plugin = self.plugins.predicate(name)?;
                let first = self.places[inputs[0]];
                let written = inputs.get(1).map(|second| self.places[*second]);
                let is_record = Some(first) == self.record;
                let second = written.or(if plugin.needs_both() {
                    if is_record { self.key } else { self.record }
                } else {
                    None
                });
                let ty = |place: usize| self.columns[place].0;
                let input = Input { first: Some(ty(first)), second: second.map(ty), is_record };
                // What it does not take is said before rows are read.
                plugin.start(&input)?;
                Bound::Plugin(BoundPlugin { plugin, input, first, second, is: *is })
            }
        })
    }

    /// A predicate on names as one on columns, with texts as values of the columns' types.
    pub(super) fn rows(&self, predicate: &Predicate) -> Result<Predicate> {
        let all = |parts: &[Predicate]| parts.iter().map(|part| self.rows(part)).collect::<Result<Vec<_>>>();
        Ok(match predicate {
            Predicate::And(parts) => Predicate::And(all(parts)?),
            Predicate::Or(parts) => Predicate::Or(all(parts)?),
            Predicate::Not(part) => self.rows(part)?.not(),
            Predicate::IsNull(of) => Predicate::IsNull(self.operand(of)),
            Predicate::Text(of, test) => Predicate::Text(self.operand(of), test.clone()),
            Predicate::In(of, list) => {
                let like = |value: &Value| self.literal(value, of);
                Predicate::In(self.operand(of), list.iter().map(like).collect::<Result<_>>()?)
            }
            Predicate::Between(of, low, high) => {
                Predicate::Between(self.operand(of), self.beside(low, of)?, self.beside(high, of)?)
            }
            Predicate::Compare(by, left, right) => {
                Predicate::Compare(*by, self.beside(left, right)?, self.beside(right, left)?)
            }
        })
    }

    fn operand(&self, of: &Operand) -> Operand {
        match of {
            Operand::Column { column, .. } => Operand::column(self.places[*column]),
            Operand::Arithmetic(left, what, right) => self.operand(left).with(*what, self.operand(right)),
            other => other.clone(),
        }
    }

    /// An operand that is compared with another.
    fn beside(&self, of: &Operand, other: &Operand) -> Result<Operand> {
        match of {
            Operand::Literal(value) => self.literal(value, other).map(Operand::Literal),
            of => Ok(self.operand(of)),
        }
    }

    /// A text that is compared with a column is read as a value of its type.
    fn literal(&self, value: &Value, other: &Operand) -> Result<Value> {
        let (Value::Utf8(text), Operand::Column { column, .. }) = (value, other) else {
            return Ok(value.clone());
        };
        match self.columns[self.places[*column]].0 {
            Type::Utf8 => Ok(value.clone()),
            Type::Binary => Ok(Value::Binary(text.as_bytes().to_vec())),
            ty => Value::parse(text, ty).map_err(|error| Error::Invalid(error.to_string())),
        }
    }
}

/// The questions about single columns that all rows have to answer with yes: storages answer these on what is compressed.
pub(super) fn tests(predicate: &Predicate, columns: &[(Type, bool)], tests: &mut Vec<(usize, Test)>) {
    let mut ask = |column: usize, test: Test| {
        // Decimals of other scales are for vectors.
        if let Ok(test) = test.fit(columns[column].0) {
            tests.push((column, test));
        }
    };
    match predicate {
        Predicate::And(parts) => parts.iter().for_each(|part| self::tests(part, columns, tests)),
        Predicate::Compare(by, Operand::Column { column, .. }, Operand::Literal(value)) => {
            ask(*column, Test::Compare(*by, value.clone()));
        }
        Predicate::Compare(by, Operand::Literal(value), Operand::Column { column, .. }) => {
            ask(*column, Test::Compare(Compare::turned(*by), value.clone()));
        }
        Predicate::Between(Operand::Column { column, .. }, Operand::Literal(low), Operand::Literal(high)) => {
            ask(*column, Test::Compare(Compare::GreaterEqual, low.clone()));
            ask(*column, Test::Compare(Compare::LessEqual, high.clone()));
        }
        _ => {}
    }
}

/// The conditions on rows that hold for all rows that are left, of a condition with others.
pub(super) fn rows_of(condition: &Condition) -> Vec<&Predicate> {
    match condition {
        Condition::Rows(predicate) => vec![predicate],
        Condition::And(parts) => parts.iter().flat_map(rows_of).collect(),
        Condition::Plugin { .. } | Condition::Or(_) => Vec::new(),
    }
}

/// A condition that a thread asks.
pub(super) enum Asked<'b> {
    Rows(&'b Vectors),
    Plugin(&'b BoundPlugin, Box<dyn RowTest>),
    And(Vec<Asked<'b>>),
    Or(Vec<Asked<'b>>),
}

impl Bound {
    /// Whether several threads may ask it.
    pub(super) fn any_thread(&self) -> bool {
        match self {
            Self::Rows(_) => true,
            Self::Plugin(of) => of.plugin.any_thread(),
            Self::And(parts) | Self::Or(parts) => parts.iter().all(Self::any_thread),
        }
    }

    /// Begins, for a thread.
    pub(super) fn start(&self) -> Result<Asked<'_>> {
        Ok(match self {
            Self::Rows(vectors) => Asked::Rows(vectors),
            Self::Plugin(of) => Asked::Plugin(of, of.plugin.start(&of.input)?),
            Self::And(parts) => Asked::And(parts.iter().map(Self::start).collect::<Result<_>>()?),
            Self::Or(parts) => Asked::Or(parts.iter().map(Self::start).collect::<Result<_>>()?),
        })
    }
}

impl Asked<'_> {
    /// The bits of the rows that are left, of those of `among`.
    pub(super) fn select(
        &mut self,
        columns: &[Column<'_>],
        rows: usize,
        among: Option<&[u64]>,
    ) -> Result<Vec<u64>> {
        let words = rows.div_ceil(64);
        match self {
            Self::Rows(vectors) => {
                let mut selected = Vec::new();
                vectors.select(columns, rows, &mut selected)?;
                if let Some(among) = among {
                    selected.iter_mut().zip(among).for_each(|(word, among)| *word &= among);
                }
                Ok(selected)
            }
            Self::Plugin(of, test) => {
                let column = |place: usize| columns[place];
                let batch = Batch {
                    rows,
                    first: Some(column(of.first)),
                    second: of.second.map(column),
                    selected: among,
                    position: 0,
                };
                let mut bits = vec![0; words];
                test.test(&batch, &mut bits)?;
                for (word, bits) in bits.iter_mut().enumerate() {
                    let there = rows - word * 64;
                    let all = if there < 64 { (1 << there) - 1 } else { u64::MAX };
                    let among = among.map_or(all, |among| among[word] & all);
                    *bits = if of.is { *bits & among } else { !*bits & among };
                }
                Ok(bits)
            }
            Self::And(parts) => {
                let mut selected = among.map(<[u64]>::to_vec);
                for part in parts {
                    selected = Some(part.select(columns, rows, selected.as_deref())?);
                }
                Ok(selected.unwrap_or_else(|| all_of(rows)))
            }
            Self::Or(parts) => {
                let mut selected = vec![0; words];
                for part in parts {
                    let more = part.select(columns, rows, among)?;
                    selected.iter_mut().zip(&more).for_each(|(word, more)| *word |= more);
                }
                Ok(selected)
            }
        }
    }
}

/// A bit for each row.
pub(super) fn all_of(rows: usize) -> Vec<u64> {
    let mut words = vec![u64::MAX; rows.div_ceil(64)];
    if let (Some(last), 1..) = (words.last_mut(), rows % 64) {
        *last = (1 << (rows % 64)) - 1;
    }
    words
}
