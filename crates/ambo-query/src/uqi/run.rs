//! A query from its text to its result.

use std::sync::{Arc, Mutex, PoisonError};

use ambo_codec::Type;
use ambo_engine::{
    database::{PartialStates, Snapshot},
    scan::{Identity, Morsel},
};
use ambo_types::{Error, Result, TableDefinition, id::TableId, parts::fold_parts};

use super::{
    Aggregate, AggregatePlugin, Batch, Input, Plugins, Statement, UqiResult,
    by_key::ByKey,
    condition::{Binder, Bound, asks_others, rows_of, tests},
    functions::{BuiltIn, Function, named},
    reader::{Held, Range, Reader, type_of},
    text::Name,
};
use crate::predicate::Column;

/// A query that was read, with the table that it is of.
pub struct Prepared {
    text: Box<str>,
    statement: Statement,
    table: TableId,
    definition: Arc<TableDefinition>,
    plugin: Arc<dyn AggregatePlugin>,
    /// The function, if it is built in.
    built_in: Option<BuiltIn>,
}

/// Which columns are read, and what they are.
struct Asked {
    /// Places in the definition; behind its columns stands the number of the row.
    columns: Vec<usize>,
    types: Vec<(Type, bool)>,
    /// The places of names among the columns.
    places: Vec<usize>,
    first: Option<usize>,
    second: Option<usize>,
    key: Option<usize>,
    record: Option<usize>,
    input: Input,
}

impl Prepared {
    /// Reads a text, and finds its table and its function.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a text that is no query, [`Error::NotFound`] for its table or its function.
    pub fn new(plugins: &Plugins, snapshot: &Snapshot, text: &str) -> Result<Self> {
        let statement = Statement::parse(text)?;
        let (table, definition) = snapshot.catalog().find(&statement.target.table())?;
        let function = named(&statement.function);
        let has_limit = matches!(function, Some(Function::Top | Function::Bottom));
        if statement.limit.is_some() && !has_limit {
            return Err(Error::Invalid(format!(
                "LIMIT is for TOP and BOTTOM alone, not for {}",
                statement.function.to_uppercase()
            )));
        }
        let limit = statement.limit.unwrap_or(1).try_into().unwrap_or(usize::MAX);
        let built_in =
            function.map(|function| BuiltIn { function, limit, is_distinct: statement.is_distinct });
        let plugin = match built_in {
            Some(built_in) => Arc::new(built_in) as Arc<dyn AggregatePlugin>,
            None => plugins.aggregate(&statement.function)?,
        };
        let text = text.into();
        Ok(Self { text, table, definition: definition.clone(), plugin, built_in, statement })
    }

    /// The table that it is of.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// What the table is.
    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.definition
    }

    /// Computes it of the rows whose stored keys are not less than `lower` and less than `upper`, by up to so many threads. REQUIRES: the
    /// snapshot is the one that it was prepared with, or of the same moment.
    ///
    /// # Errors
    /// [`Error::Invalid`] for input that the function does not take, and what has no result; what reading says.
    pub fn run(
        &self,
        plugins: &Plugins,
        snapshot: &Snapshot,
        (lower, upper): (Option<&[u8]>, Option<&[u8]>),
        threads: usize,
    ) -> Result<UqiResult> {
        let range = Range { lower, upper };
        if let Some(found) = self.by_key(snapshot, range, threads)? {
            return Ok(found);
        }
        let asked = self.asked()?;
        let condition = self.bind(plugins, &asked)?;
        let can_be_merged = self.plugin.can_be_merged() && !self.strips_duplicates();
        let any_thread = condition.as_ref().is_none_or(Bound::any_thread);
        let threads = if can_be_merged && any_thread { threads.max(1) } else { 1 };
        let tests = self.tests(plugins, &asked)?;
        let of = (self.table, &self.definition);
        if self.strips_duplicates() && self.definition.storage.traits().by_column {
            return Err(Error::Invalid(format!(
                "DISTINCT needs rows in the order of keys, and table \"{}\" is of storage column",
                self.definition.name
            )));
        }
        let reader = Reader::new(snapshot, of, &asked.columns, tests, range)?;
        let run = Run { query: self, asked: &asked, condition: condition.as_ref(), reader: &reader };
        run.all(threads)
    }

    /// Whether rows have to be passed over because of their keys.
    fn strips_duplicates(&self) -> bool {
        self.statement.is_distinct && self.definition.duplicates
    }

    /// The answer, if keys know it.
    fn by_key(&self, snapshot: &Snapshot, range: Range<'_>, threads: usize) -> Result<Option<UqiResult>> {
        let Some(BuiltIn { function, limit, .. }) = self.built_in else { return Ok(None) };
        if self.statement.condition.is_some() || self.strips_duplicates() {
            return Ok(None);
        }
        let of = ByKey { snapshot, table: self.table, definition: &self.definition, range, threads };
        if function == Function::Count {
            self.asked()?;
            return of.count().map(Some);
        }
        let inputs = &self.statement.inputs;
        let column = inputs.first().map(|first| self.column(&self.statement.names[*first])).transpose()?;
        if inputs.len() != 1 || column != of.column() {
            return Ok(None);
        }
        match function {
            Function::Sum | Function::Average => of.sum(function),
            Function::Min | Function::Max | Function::Top | Function::Bottom => {
                let Some(key) = column else { return Ok(None) };
                let record = self.record();
                let second = record.map(|record| type_of(&self.definition, record));
                let input = Input { first: Some(type_of(&self.definition, key)), second, is_record: false };
                let is_top = matches!(function, Function::Max | Function::Top);
                of.ends(input, (key, record), (is_top, limit)).map(Some)
            }
            Function::Count | Function::Value => Ok(None),
        }
    }

    /// The place of the one column of the key: of a table without one, the number of a row.
    fn key(&self) -> Option<usize> {
        match self.definition.primary_columns()[..] {
            [] => Some(self.definition.columns.len()),
            [column] => Some(column),
            _ => None,
        }
    }

    /// The place of the one column that is not in the key.
    fn record(&self) -> Option<usize> {
        let key = self.definition.primary_columns();
        let mut others = (0..self.definition.columns.len()).filter(|column| !key.contains(column));
        others.next().filter(|_| others.next().is_none())
    }

    /// The place of what a name stands for.
    fn column(&self, name: &Name) -> Result<usize> {
        let definition = &self.definition;
        let several = |what: &str| {
            let names: Vec<_> = definition.columns.iter().map(|column| column.name.as_str()).collect();
            Error::Invalid(format!(
                "table \"{}\" has not one column {what}; name the column: {}",
                definition.name,
                names.join(", ")
            ))
        };
        match name {
            Name::Key => self.key().ok_or_else(|| several("of the key, as $key is")),
            Name::Record => self.record().ok_or_else(|| several("beside the key, as $record is")),
            Name::Column(name) => definition.column_index(name).ok_or_else(|| {
                let names: Vec<_> = definition.columns.iter().map(|column| column.name.as_str()).collect();
                Error::NotFound(format!(
                    "column \"{name}\" of table \"{}\"; it has {}",
                    definition.name,
                    names.join(", ")
                ))
            }),
        }
    }

    /// Which columns are read.
    fn asked(&self) -> Result<Asked> {
        let statement = &self.statement;
        let is_count = self.built_in.is_some_and(|of| of.function == Function::Count);
        let mut columns = Vec::new();
        let mut place = |column: usize| {
            columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            })
        };
        let mut places = Vec::with_capacity(statement.names.len());
        for (number, name) in statement.names.iter().enumerate() {
            let is_counted = is_count && statement.inputs.contains(&number);
            match self.column(name) {
                // What is counted is not read: a key of several columns is as good as any.
                Err(_) if is_counted && !matches!(name, Name::Column(_)) => places.push(0),
                column => places.push(place(column?)),
            }
        }
        let needs_both = self.plugin.needs_both() || statement.condition.is_some();
        let key = self.key().filter(|_| needs_both || self.strips_duplicates()).map(&mut place);
        let record = self.record().filter(|_| needs_both).map(&mut place);
        let first = statement.inputs.first().map(|first| places[*first]).filter(|_| !is_count);
        let written = statement.inputs.get(1).map(|second| places[*second]);
        let is_key = statement
            .inputs
            .first()
            .is_some_and(|first| self.column(&statement.names[*first]).ok() == self.key());
        let partner = if is_key { record } else { key };
        let second = written.or(partner.filter(|_| self.plugin.needs_both())).filter(|_| !is_count);
        let types: Vec<_> = columns.iter().map(|column| self.type_of(*column)).collect();
        let ty = |place: usize| types[place].0;
        let input = Input { first: first.map(ty), second: second.map(ty), is_record: !is_key };
        Ok(Asked { columns, places, first, second, key, record, input, types })
    }

    fn type_of(&self, column: usize) -> (Type, bool) {
        let nullable = self.definition.columns.get(column).is_some_and(|column| column.nullable);
        (type_of(&self.definition, column), nullable)
    }

    fn binder<'b>(plugins: &'b Plugins, asked: &'b Asked) -> Binder<'b> {
        Binder { plugins, places: &asked.places, columns: &asked.types, key: asked.key, record: asked.record }
    }

    fn bind(&self, plugins: &Plugins, asked: &Asked) -> Result<Option<Bound>> {
        let condition = self.statement.condition.as_ref();
        condition.map(|condition| Self::binder(plugins, asked).bind(condition)).transpose()
    }

    /// What the storage is asked: it passes over rows that the condition would not leave.
    fn tests(&self, plugins: &Plugins, asked: &Asked) -> Result<Vec<(usize, ambo_engine::scan::Test)>> {
        let mut found = Vec::new();
        // Which rows of a key are passed over is not for conditions to say.
        let condition = self.statement.condition.as_ref().filter(|_| !self.strips_duplicates());
        for predicate in condition.map(rows_of).unwrap_or_default() {
            let bound = Self::binder(plugins, asked).rows(predicate)?;
            tests(&bound, &asked.types, &mut found);
        }
        Ok(found)
    }
}

/// A query while it runs.
struct Run<'q> {
    query: &'q Prepared,
    asked: &'q Asked,
    condition: Option<&'q Bound>,
    reader: &'q Reader,
}

/// What a thread has.
#[derive(Default)]
struct Thread<'q> {
    aggregate: Option<Box<dyn Aggregate>>,
    condition: Option<super::condition::Asked<'q>>,
    /// The key of the row before, where further rows of a key are passed over.
    last: Option<Vec<u8>>,
}

impl<'q> Run<'q> {
    fn all(&self, threads: usize) -> Result<UqiResult> {
        let states = match self.reader.scan() {
            Some(scan) => scan.fold_partials(threads, self.identity(), self)?.0,
            None => fold_parts(self.reader.parts()?, threads, Thread::default, |thread, part| {
                self.start(thread)?;
                self.reader.read(part, |held| self.batch(thread, held))
            })?,
        };
        let mut done: Option<Box<dyn Aggregate>> = None;
        for aggregate in states.into_iter().filter_map(|thread| thread.aggregate) {
            match &mut done {
                Some(done) => done.merge(aggregate)?,
                None => done = Some(aggregate),
            }
        }
        match done {
            Some(done) => done.finish(),
            None => self.query.plugin.start(&self.asked.input)?.finish(),
        }
    }

    /// What is computed, if it may be kept of segments: by functions that are built in, under conditions that are. Which of equal values
    /// is one of the greatest must follow from their keys, and not from where they stand.
    fn identity(&self) -> Option<Identity> {
        let (query, asked) = (self.query, self.asked);
        let is_known = match query.built_in?.function {
            Function::Count | Function::Sum | Function::Average => true,
            Function::Min | Function::Max | Function::Top | Function::Bottom => {
                let input = &asked.input;
                input.is_record
                    && input.second.is_some()
                    && asked.second == asked.key
                    && !query.definition.duplicates
            }
            Function::Value => false,
        };
        if !is_known
            || query.strips_duplicates()
            || query.statement.condition.as_ref().is_some_and(asks_others)
        {
            return None;
        }
        let identity = Identity::new("uqi").and_bytes(query.text.as_bytes());
        let identity = identity.and_numbers(&asked.columns).and_numbers(&asked.places);
        Some(identity.and_columns(asked.types.iter().copied()))
    }

    fn start(&self, thread: &mut Thread<'q>) -> Result<()> {
        if thread.aggregate.is_none() {
            thread.aggregate = Some(self.query.plugin.start(&self.asked.input)?);
            thread.condition = self.condition.map(Bound::start).transpose()?;
        }
        Ok(())
    }

    fn batch(&self, thread: &mut Thread<'q>, held: &Held) -> Result<()> {
        let columns = held.columns();
        let distinct = match (self.query.strips_duplicates(), self.asked.key) {
            (true, Some(key)) => Some(first_of_keys(&columns[key], held.rows, &mut thread.last)),
            _ => None,
        };
        let selected = match &mut thread.condition {
            Some(condition) => Some(condition.select(&columns, held.rows, distinct.as_deref())?),
            None => distinct,
        };
        if selected.as_ref().is_some_and(|words| words.iter().all(|word| *word == 0)) {
            return Ok(());
        }
        let batch = Batch {
            rows: held.rows,
            first: self.asked.first.map(|place| columns[place]),
            second: self.asked.second.map(|place| columns[place]),
            selected: selected.as_deref(),
            position: held.position,
        };
        match &mut thread.aggregate {
            Some(aggregate) => aggregate.many(&batch),
            None => Ok(()),
        }
    }
}

impl<'q> PartialStates for Run<'q> {
    type State = Thread<'q>;
    type Kept = Mutex<Option<Box<dyn Aggregate>>>;

    fn begin(&self) -> Result<Thread<'q>> {
        let mut thread = Thread::default();
        self.start(&mut thread)?;
        Ok(thread)
    }

    fn add(&self, thread: &mut Thread<'q>, unit: usize, morsel: &Morsel<'_>) -> Result<()> {
        self.reader.read_morsel(unit, morsel, |held| self.batch(thread, held))
    }

    fn add_kept(&self, thread: &mut Thread<'q>, kept: &Self::Kept) -> Result<()> {
        let copy = kept.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|kept| kept.copy());
        match (&mut thread.aggregate, copy) {
            (Some(aggregate), Some((copy, _))) => aggregate.merge(copy),
            _ => unreachable!("only what has begun, and can be copied, is kept"),
        }
    }

    fn keep(&self, thread: Thread<'q>) -> (Self::Kept, usize) {
        let bytes = thread.aggregate.as_ref().and_then(|of| of.copy()).map_or(0, |(_, bytes)| bytes);
        (Mutex::new(thread.aggregate), bytes)
    }
}

/// The rows whose key is not that of the row before.
fn first_of_keys(keys: &Column<'_>, rows: usize, last: &mut Option<Vec<u8>>) -> Vec<u64> {
    let mut words = vec![0u64; rows.div_ceil(64)];
    for row in 0..rows {
        let key = keys.bytes(row);
        if last.as_deref() != Some(key) {
            words[row / 64] |= 1 << (row % 64);
            *last = Some(key.to_vec());
        }
    }
    words
}
