//! What a CREATE TABLE says: a definition of a table, and the indexes that keep its columns unique.

use std::sync::Arc;

use ambo::{
    Check, Column, IndexDefinition, Logical, Object, ObjectKind, Records, Storage, TableDefinition, qualify,
};
use arrow::datatypes::Schema;
use datafusion::{
    logical_expr::Volatility,
    sql::sqlparser::ast::{
        self, ColumnOption, DataType, Expr, ForeignKeyConstraint, GeneratedAs, Ident,
        IdentityPropertyFormatKind, IdentityPropertyKind, IndexColumn, SequenceOptions, TableConstraint,
    },
};

use super::{
    expression::{Computed, refuse_queries, row_schema, unqualify},
    generated::{Generated, define_all, is_implied},
    length, narrow, options, references,
    rules::condition,
    sequence,
    types::{column_type_text, declared, is_serial},
};
use crate::{
    Error, ErrorKind, Result,
    collations::Collation,
    error::type_in_sql,
    foreign_keys::ForeignKey,
    hidden::hidden_name,
    names::{about, about_object, ident, last, object, shown, split, written},
    parse::{SequenceParts, TableSettings, parse_expression},
    planner::Planner,
    sequences::Definition,
    user_types::UserTypes,
    value,
};

/// A table that is to be.
pub(super) struct Wanted {
    pub table: TableDefinition,
    /// Indexes that keep columns unique.
    pub indexes: Vec<IndexDefinition>,
    /// Those that refer to other tables.
    pub keys: Vec<ForeignKey>,
    /// Sequences that number columns.
    pub sequences: Vec<Object>,
}

/// What a statement says of a table; with the columns of the query whose rows it is to have, if there is one.
///
/// # Errors
/// Anything that keeps it from being a table, checks and defaults included.
pub(super) fn define(
    planner: &Planner<'_>,
    create: &ast::CreateTable,
    settings: &TableSettings,
    (storage, records): (Storage, Records),
    query: Option<&Schema>,
) -> Result<Wanted> {
    let name = qualify(&object(&create.name)?).map_err(|error| about_object(error, &create.name))?;
    let mut making = Making {
        planner,
        types: planner.types()?,
        table: TableDefinition::new(&name).storage(storage).records(records),
        key: None,
        unique: Vec::new(),
        numbered: Vec::new(),
        generated: Vec::new(),
        references: Vec::new(),
        checks: Vec::new(),
    };
    match (create.columns.is_empty(), query) {
        (true, Some(query)) => making.columns_of(query)?,
        (false, Some(query)) if query.fields().len() != create.columns.len() => {
            return Err(Error::invalid(format!(
                "{} columns are named, the query has {}",
                create.columns.len(),
                query.fields().len()
            )));
        }
        _ => {
            for (place, column) in create.columns.iter().enumerate() {
                let of_query = query.map(|query| query.field(place));
                making.column(column, of_query).map_err(|error| about(error, &column.name))?;
            }
        }
    }
    for constraint in &create.constraints {
        making.constraint(constraint)?;
    }
    making.finish(create, settings)
}

struct Making<'a> {
    planner: &'a Planner<'a>,
    types: UserTypes,
    table: TableDefinition,
    key: Option<Vec<Ident>>,
    /// The columns that number themselves, with what they say of that.
    numbered: Vec<(Ident, Vec<SequenceOptions>)>,
    unique: Vec<(Option<Ident>, Vec<Ident>)>,
    generated: Vec<Generated>,
    references: Vec<(Option<Ident>, ForeignKeyConstraint)>,
    checks: Vec<(Option<Ident>, Option<String>, Expr)>,
}

impl Making<'_> {
    fn columns_of(&mut self, query: &Schema) -> Result<()> {
        for field in query.fields() {
            let column = value::column_of(field).ok_or_else(|| {
                Error::invalid(format!(
                    "column \"{}\" of the query is of type {}, which no table has",
                    field.name(),
                    field.data_type()
                ))
                .with_hint("cast it to text, or leave it out")
            })?;
            self.table.columns.push(column);
        }
        Ok(())
    }

    fn column(&mut self, column: &ast::ColumnDef, of_query: Option<&arrow::datatypes::Field>) -> Result<()> {
        let name = ident(&column.name);
        let column = &ast::ColumnDef { data_type: self.types.meant(&column.data_type)?, ..column.clone() };
        let typed = match (&column.data_type, of_query) {
            (DataType::Unspecified, Some(field)) => value::column_of(field).ok_or_else(|| {
                let ty = type_in_sql(field.data_type());
                Error::invalid(format!("column \"{name}\" is of type {ty}, which no table has"))
            })?,
            (DataType::Unspecified, None) => {
                return Err(Error::invalid(format!("column \"{name}\" has no type")));
            }
            // That of the expression, once it is known.
            (ty, _) if is_implied(ty) => Column::new(&name, ambo::Type::Utf8),
            (ty, _) => {
                let ty = narrow::wider(ty).unwrap_or_else(|| ty.clone());
                Column::typed(&name, declared(&ty, &self.types)?)
            }
        };
        let narrow = narrow::check(&name, &column.data_type)?;
        self.checks.extend(narrow.map(|check| (None, Some(name.clone()), check)));
        if let Some(most) = length::of_type(&column.data_type) {
            self.checks.push((Some(length_name(&name)), Some(name.clone()), length::check(&name, most)?));
        }
        let is_serial = is_serial(&column.data_type);
        let mut parts = Parts::of(column)?;
        if parts.collation.is_some() && parts.generated.is_some() {
            return Err(Error::invalid(format!("not supported: generated column \"{name}\" with COLLATE"))
                .with_hint("write COLLATE where it is compared"));
        }
        let typed = with_collation(typed, parts.collation.take())?;
        if let Some(expr) = parts.generated.take() {
            if of_query.is_some() {
                return Err(Error::invalid("the rows of a query have no generated columns"));
            }
            let is_typed = !is_implied(&column.data_type);
            self.generated.push(Generated { column: column.name.clone(), expr, is_typed });
        }
        if is_serial || parts.numbers_itself {
            self.numbered.push((column.name.clone(), std::mem::take(&mut parts.numbers)));
        }
        if parts.primary {
            self.set_key(vec![column.name.clone()])?;
        }
        self.references.append(&mut parts.references);
        self.unique.extend(parts.unique.into_iter().map(|named| (named, vec![column.name.clone()])));
        self.checks.extend(parts.checks.into_iter().map(|(named, expr)| (named, Some(name.clone()), expr)));
        let made = Column {
            nullable: !parts.not_null && !is_serial,
            comment: parts.comment,
            name: name.clone(),
            ..typed
        };
        let made = match parts.default {
            None => made,
            Some(expr) => with_default(self.planner, made, expr)?,
        };
        self.table.columns.push(made);
        Ok(())
    }

    fn set_key(&mut self, columns: Vec<Ident>) -> Result<()> {
        match self.key.replace(columns) {
            None => Ok(()),
            Some(_) => Err(Error::invalid("a table has one primary key")
                .with_hint("a key of several columns is written PRIMARY KEY (a, b)")),
        }
    }

    fn constraint(&mut self, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(of) => self.set_key(column_names(&of.columns)?),
            TableConstraint::Unique(of) => {
                self.unique.push((of.name.clone().or(of.index_name.clone()), column_names(&of.columns)?));
                Ok(())
            }
            TableConstraint::Check(of) => {
                enforced(of)?;
                self.checks.push((of.name.clone(), None, (*of.expr).clone()));
                Ok(())
            }
            TableConstraint::ForeignKey(of) => {
                self.references.push((of.name.clone(), of.clone()));
                Ok(())
            }
            other => Err(not_a_constraint(other)),
        }
    }

    fn finish(mut self, create: &ast::CreateTable, settings: &TableSettings) -> Result<Wanted> {
        let key = self.key.take().unwrap_or_default();
        let sequences = self.number(&key)?;
        let unique = self.unique_by_key(&key)?;
        define_all(self.planner, &mut self.table, std::mem::take(&mut self.generated))?;
        for named in key.iter().chain(&settings.sort_key) {
            let place = place(&self.table, named)?;
            if self.table.columns[place].generated().is_some() {
                return Err(about(Error::invalid("a generated column is in no key"), named)
                    .with_hint("CREATE UNIQUE INDEX keeps it unique"));
            }
            self.table.columns[place].nullable = false;
        }
        let names = |idents: &[Ident]| idents.iter().map(ident).collect::<Vec<_>>();
        fn borrowed(names: &[String]) -> Vec<&str> {
            names.iter().map(String::as_str).collect()
        }
        let (primary, sort) = (names(&key), names(&settings.sort_key));
        let mut table = self.table.primary_key(&borrowed(&primary));
        if !sort.is_empty() {
            table = table.sort_key(&borrowed(&sort));
        }
        table = options::apply(table, &create.table_options, settings)?;
        for (named, column, expr) in self.checks {
            let check = make_check(self.planner, &table, named.as_ref(), column.as_deref(), expr)?;
            table.checks.push(check);
        }
        let columns: Vec<_> = unique.iter().map(|index| index.columns.clone()).collect();
        let keys = references::define(&self.planner.definitions(), &mut table, &self.references, &columns)?;
        table.validate().map_err(|error| about_object(error, &create.name))?;
        Ok(Wanted { table, indexes: unique, keys, sequences })
    }

    /// The indexes that keep columns unique. Those of texts with a collation are over the keys by which they are compared, in columns that
    /// nobody sees; so are primary keys of such, beside the key itself.
    fn unique_by_key(&mut self, key: &[Ident]) -> Result<Vec<IndexDefinition>> {
        let mut unique = std::mem::take(&mut self.unique);
        if !self.keys_of(key)?.iter().all(Option::is_none) {
            unique.push((None, key.to_vec()));
        }
        let mut indexes: Vec<IndexDefinition> = Vec::new();
        for (named, columns) in unique {
            let taken: Vec<_> = indexes.iter().map(|index| index.name.clone()).collect();
            let names: Vec<_> = columns.iter().map(ident).collect();
            let mut index = unique_index(&self.table.name, named.as_ref(), &names, &taken);
            for (nth, by) in self.keys_of(&columns)?.into_iter().enumerate() {
                if let Some(expr) = by {
                    let name = hidden_name(split(&index.name).1, nth, false);
                    self.table.columns.push(Column::new(&name, ambo::Type::Utf8).nullable());
                    let column = Ident::with_quote('"', &name);
                    self.generated.push(Generated { column, expr, is_typed: false });
                    index.columns[nth] = name;
                }
            }
            indexes.push(index);
        }
        Ok(indexes)
    }

    /// By what columns are compared, where it is not their values.
    fn keys_of(&self, columns: &[Ident]) -> Result<Vec<Option<Expr>>> {
        let key = |named: &Ident| {
            let column = &self.table.columns[place(&self.table, named)?];
            let text = Expr::Identifier(Ident::with_quote('"', &column.name));
            collation_of(column)?.map(|how| how.key_text(&text)).transpose()
        };
        columns.iter().map(key).collect()
    }

    /// Has columns number themselves: a primary key that counts 1, 2, 3 by the table, others by sequences that go with it.
    fn number(&mut self, key: &[Ident]) -> Result<Vec<Object>> {
        let mut sequences: Vec<Object> = Vec::new();
        for (named, options) in std::mem::take(&mut self.numbered) {
            let is_key = matches!(key, [only] if ident(only) == ident(&named));
            if is_key && options.is_empty() {
                self.table.auto_increment = true;
                continue;
            }
            let place = place(&self.table, &named)?;
            if self.table.columns[place].generated().is_some() {
                let error = Error::invalid("a column that is generated of others has no numbers of its own");
                return Err(about(error, &named));
            }
            let of = SequenceParts { options, ..SequenceParts::default() };
            let of = sequence::definition(&of, None).map_err(|error| about(error, &named))?;
            let (schema, short) = split(&self.table.name);
            let definitions = self.planner.definitions();
            let taken = |name: &str| {
                let whole = format!("{schema}.{name}");
                sequences.iter().any(|of| of.name == whole)
                    || definitions.object(ObjectKind::Sequence, &whole).is_ok()
            };
            let name = free_name(&format!("{short}_{}_seq", ident(&named)), taken);
            let whole = format!("{schema}.{name}");
            let called = parse_expression(&format!("nextval({})", literal_text(shown(&whole))))?;
            let column = self.table.columns[place].clone();
            let made = with_default(self.planner, column, called).map_err(|error| about(error, &named))?;
            self.table.columns[place] = Column { nullable: false, ..made };
            let text = Definition { owner: Some(self.table.name.clone()), ..of }.to_string();
            sequences.push(Object { kind: ObjectKind::Sequence, name: whole, text, comment: None });
        }
        Ok(sequences)
    }
}

/// A text as a literal.
fn literal_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// What the options of a column say.
#[derive(Default)]
pub(super) struct Parts {
    pub not_null: bool,
    pub primary: bool,
    pub numbers_itself: bool,
    /// How it counts, if not 1, 2, 3.
    pub numbers: Vec<SequenceOptions>,
    pub default: Option<Expr>,
    pub generated: Option<Expr>,
    pub comment: Option<String>,
    pub collation: Option<Collation>,
    pub unique: Vec<Option<Ident>>,
    pub checks: Vec<(Option<Ident>, Expr)>,
    pub references: Vec<(Option<Ident>, ForeignKeyConstraint)>,
}

impl Parts {
    /// # Errors
    /// An option that columns do not have.
    pub fn of(column: &ast::ColumnDef) -> Result<Self> {
        let mut parts = Self::default();
        for option in &column.options {
            let named = option.name.clone();
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => parts.not_null = true,
                ColumnOption::PrimaryKey(_) => parts.primary = true,
                ColumnOption::Unique(_) => parts.unique.push(named),
                ColumnOption::Default(expr) => parts.default = Some(expr.clone()),
                ColumnOption::Check(check) => {
                    enforced(check)?;
                    parts.checks.push((named, (*check.expr).clone()));
                }
                ColumnOption::Collation(name) => {
                    let how = written(name).and_then(|name| Collation::named(&name));
                    parts.collation = Some(how.map_err(|error| about_object(error, name))?);
                }
                ColumnOption::Comment(comment) => parts.comment = Some(comment.clone()),
                ColumnOption::Identity(of) => {
                    parts.numbers_itself = true;
                    parts.numbers = numbers_of(of);
                }
                ColumnOption::Generated {
                    generated_as: GeneratedAs::Always | GeneratedAs::ByDefault,
                    generation_expr: None,
                    sequence_options,
                    ..
                } => {
                    parts.numbers_itself = true;
                    parts.numbers = sequence_options.clone().unwrap_or_default();
                    if parts.numbers.iter().all(is_usual) {
                        parts.numbers.clear();
                    }
                }
                ColumnOption::Generated { generation_expr: Some(expr), .. } => {
                    parts.generated = Some(expr.clone());
                }
                ColumnOption::DialectSpecific(tokens)
                    if ["AUTO_INCREMENT", "AUTOINCREMENT"].contains(&&*tokens_text(tokens)) =>
                {
                    parts.numbers_itself = true;
                }
                ColumnOption::ForeignKey(of) => {
                    let of = ForeignKeyConstraint { columns: vec![column.name.clone()], ..of.clone() };
                    parts.references.push((named, of));
                }
                other => {
                    return Err(Error::invalid(format!(
                        "not supported: column \"{}\" with {other}",
                        ident(&column.name)
                    )));
                }
            }
        }
        if parts.generated.is_some() && (parts.default.is_some() || parts.numbers_itself) {
            return Err(Error::invalid(format!(
                "column \"{}\" is generated, so it has no default and no number",
                ident(&column.name)
            )));
        }
        Ok(parts)
    }
}

/// The column with what COLLATE says of it.
///
/// # Errors
/// It has no texts.
pub(super) fn with_collation(column: Column, how: Option<Collation>) -> Result<Column> {
    let Some(how) = how else { return Ok(column) };
    if column.kind != ambo::Type::Utf8 || column.logical.is_some() {
        let ty = column_type_text(&column);
        return Err(Error::invalid(format!(
            "column \"{}\" is of type {ty}; COLLATE is for texts",
            column.name
        )));
    }
    let logical = (!how.is_binary()).then(|| Logical::Collated(how.to_string()));
    Ok(Column { logical, ..column })
}

/// By what values of a column are compared, if not as they are stored.
pub(super) fn collation_of(column: &Column) -> Result<Option<Collation>> {
    match &column.logical {
        Some(Logical::Collated(name)) => Collation::named(name).map(Some),
        _ => Ok(None),
    }
}

/// Whether an option of an identity says what is so without it.
fn is_usual(option: &SequenceOptions) -> bool {
    match option {
        SequenceOptions::IncrementBy(number, _) | SequenceOptions::StartWith(number, _) => {
            number.to_string() == "1"
        }
        _ => false,
    }
}

/// How an identity counts that says so as other systems have it: `IDENTITY(10, 2)`.
fn numbers_of(identity: &IdentityPropertyKind) -> Vec<SequenceOptions> {
    let (IdentityPropertyKind::Autoincrement(of) | IdentityPropertyKind::Identity(of)) = identity;
    let (IdentityPropertyFormatKind::FunctionCall(of) | IdentityPropertyFormatKind::StartAndIncrement(of)) =
        match &of.parameters {
            Some(of) => of,
            None => return Vec::new(),
        };
    let is_one = |expr: &Expr| expr.to_string() == "1";
    match is_one(&of.seed) && is_one(&of.increment) {
        true => Vec::new(),
        false => vec![
            SequenceOptions::IncrementBy(of.increment.clone(), true),
            SequenceOptions::StartWith(of.seed.clone(), true),
        ],
    }
}

fn tokens_text(tokens: &[datafusion::sql::sqlparser::tokenizer::Token]) -> String {
    tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ").to_uppercase()
}

fn enforced(check: &ast::CheckConstraint) -> Result<()> {
    match check.enforced {
        Some(false) => Err(Error::invalid("a check that is NOT ENFORCED is none; leave it out")),
        _ => Ok(()),
    }
}

fn not_a_constraint(constraint: &TableConstraint) -> Error {
    match constraint {
        TableConstraint::Index(_) => {
            Error::invalid("not supported: INDEX inside of CREATE TABLE").with_hint("CREATE INDEX … ON … (…)")
        }
        other => Error::invalid(format!("not supported: {other}")),
    }
}

/// The columns of a key or an index.
pub(super) fn column_names(columns: &[IndexColumn]) -> Result<Vec<Ident>> {
    let name = |column: &IndexColumn| match &column.column.expr {
        // Read in both directions, it need not know which was meant.
        Expr::Identifier(name) => Ok(name.clone()),
        other => Err(Error::invalid(format!("{other} is no column; keys and indexes are over columns"))),
    };
    columns.iter().map(name).collect()
}

/// The place of a column that a statement names.
///
/// # Errors
/// [`ErrorKind::NotFound`] with the nearest name.
pub(super) fn place(table: &TableDefinition, name: &Ident) -> Result<usize> {
    let known = ident(name);
    let alike = || {
        let mut alike = table.columns.iter().enumerate();
        let mut alike = alike.by_ref().filter(|(_, column)| column.name.eq_ignore_ascii_case(&known));
        alike.next().map(|(place, _)| place).filter(|_| alike.next().is_none())
    };
    table.column_index(&known).or_else(alike).ok_or_else(|| {
        let columns = table.columns.iter().map(|column| column.name.as_str());
        about(Error::not_found("column", &known, columns), name)
    })
}

/// The column with a default: as a value if it is one whatever the moment, or else as an expression.
pub(super) fn with_default(planner: &Planner<'_>, column: Column, expr: Expr) -> Result<Column> {
    let (text, computed) = default(planner, &column, expr)?;
    match computed.volatility {
        Volatility::Immutable => {
            let value = computed.value(&ambo::arrow::column_type(&column));
            match value.map_err(|error| in_default(&column, &error))? {
                ambo::Datum::Null => Ok(column),
                value => Ok(column.default_value(value)),
            }
        }
        _ => Ok(column.default_expression(text)),
    }
}

/// A default as its text and ready to be computed.
pub(super) fn default(planner: &Planner<'_>, column: &Column, expr: Expr) -> Result<(String, Computed)> {
    refuse_queries(&expr, "default").map_err(|error| in_default(column, &error))?;
    let text = expr.to_string();
    let nothing = Arc::new(Schema::empty());
    let computed =
        Computed::new(planner, expr, &nothing, "default").map_err(|error| in_default(column, &error))?;
    let ty = ambo::arrow::column_type(column);
    computed.require_for(&ty).map_err(|error| in_default(column, &error))?;
    Ok((text, computed))
}

pub(super) fn in_default(column: &Column, error: &Error) -> Error {
    let made = Error::new(
        ErrorKind::Invalid,
        format!("the default of column \"{}\": {}", column.name, error.message()),
    );
    let made = match error.hint() {
        Some(hint) => made.with_hint(hint),
        None => made,
    };
    match error.place() {
        Some(place) => made.at(place),
        None => made,
    }
}

/// What the check of a column's length is called.
pub(super) fn length_name(column: &str) -> Ident {
    Ident::with_quote('"', format!("{column}_length"))
}

/// A check over the columns of a table, with a name that none of its checks has.
pub(super) fn make_check(
    planner: &Planner<'_>,
    table: &TableDefinition,
    named: Option<&Ident>,
    column: Option<&str>,
    mut expr: Expr,
) -> Result<Check> {
    refuse_queries(&expr, "check")?;
    unqualify(&mut expr, &table.name);
    let text = expr.to_string();
    condition(planner, expr, &row_schema(table))?;
    let taken = |name: &str| table.checks.iter().any(|check| check.name == name);
    let name = match named {
        Some(named) => {
            let name = ident(named);
            if taken(&name) {
                return Err(about(
                    Error::new(ErrorKind::Constraint, format!("two checks are named \"{name}\"")),
                    named,
                ));
            }
            name
        }
        None => {
            let parts = [Some(last(&table.name)), column, Some("check")];
            free_name(&parts.into_iter().flatten().collect::<Vec<_>>().join("_"), taken)
        }
    };
    Ok(Check::new(name, text))
}

/// An index that keeps columns unique, in the schema of its table.
pub(super) fn unique_index(
    table: &str,
    named: Option<&Ident>,
    columns: &[String],
    taken: &[String],
) -> IndexDefinition {
    let (schema, short) = split(table);
    let is_taken = |name: &str| taken.iter().any(|taken| *taken == format!("{schema}.{name}"));
    let name = match named {
        Some(named) => ident(named),
        // Names of columns may have dots.
        None => free_name(&format!("{short}_{}_key", columns.join("_").replace('.', "_")), is_taken),
    };
    let columns: Vec<_> = columns.iter().map(String::as_str).collect();
    IndexDefinition::new(format!("{schema}.{name}"), table, &columns).unique()
}

/// A name, with a number behind it if it is taken.
pub(super) fn free_name(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1u64..).map(|number| format!("{wanted}{number}"));
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .unwrap_or_else(|| unreachable!("numbers do not end, {} do", shown(wanted)))
}
