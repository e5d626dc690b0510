//! ALTER TABLE … ALTER COLUMN … TYPE, … ADD PRIMARY KEY: the table anew, with its rows and indexes, in one transaction.

use std::ops::ControlFlow;

use ambo::{
    CatalogEdit, Column, Index, IndexDefinition, ObjectKind, Table, TableDefinition, arrow::column_type,
};
use arrow::{array::RecordBatch, datatypes::Schema};
use datafusion::sql::sqlparser::{
    ast::{self, DataType, Expr, Ident},
    parser::Parser,
};

use super::{
    definition::{in_default, length_name, make_check, place},
    expression::Computed,
    generated::is_implied,
    incoming::{Stream, complete},
    length, references,
    rules::{Rules, show},
    types::{column_type_text, declared, stored_literal},
};
use crate::{
    Connection, Error, ErrorKind, Result,
    catalog::indexes,
    connection::Work,
    names::{about, ident, quoted, quoted_object, shown},
    parse::{DIALECT, parse_expression},
    planner::Planner,
    user_types::UserTypes,
    value::Values,
    walk::each_expr_mut,
};

/// What becomes of a column.
pub(super) struct Change<'a> {
    pub column: &'a Ident,
    pub ty: &'a DataType,
    pub using: Option<&'a Expr>,
    /// Whether a default becomes what a value of a row does: a field of both comes, goes or has another name.
    pub is_of_defaults: bool,
}

impl Change<'_> {
    /// What a value of the column, written as an expression, becomes.
    fn made_of(&self, value: &str, from: &Column, to: &Column) -> Result<Expr> {
        let Some(using) = self.using.filter(|_| self.is_of_defaults) else {
            return parse_expression(&format!("CAST({value} AS {})", column_type_text(to)));
        };
        let mut made = using.clone();
        let value = parse_expression(&format!("CAST({value} AS {})", column_type_text(from)))?;
        let column = &from.name;
        let _ = each_expr_mut(&mut made, |expr| {
            if matches!(expr, Expr::Identifier(name) if ident(name) == *column) {
                *expr = value.clone();
            }
            ControlFlow::<()>::Continue(())
        });
        Ok(made)
    }
}

/// Gives a column of a table another type, and its rows the values in it.
///
/// # Errors
/// A row whose value does not fit, with both; a default, check or index that does not.
pub(super) fn set(connection: &mut Connection, table: &str, change: &Change<'_>) -> Result<()> {
    let using = change.using.map(|using| (change.column, using));
    anew(connection, table, using, |work, planner, old| {
        references::refuse_column(&work.definitions(), old, &ident(change.column))?;
        changed(planner, old, change, &planner.types()?)
    })
}

/// Gives a table without a primary key one, in whose order its rows are from then on.
///
/// # Errors
/// A row that has NULL in it, or the values of another.
pub(super) fn set_key(connection: &mut Connection, table: &str, columns: &[Ident]) -> Result<()> {
    anew(connection, table, None, |_, _, old| {
        if !old.primary_columns().is_empty() {
            let what = format!("table \"{}\" has a primary key already", shown(&old.name));
            return Err(Error::new(ErrorKind::Constraint, what));
        }
        let mut new = old.clone();
        new.forget_dropped();
        for named in columns {
            let place = place(old, named)?;
            if old.columns[place].generated().is_some() {
                return Err(about(Error::invalid("a generated column is in no key"), named));
            }
            new.columns[place].nullable = false;
        }
        let names: Vec<_> = columns.iter().map(ident).collect();
        let new = new.primary_key(&names.iter().map(String::as_str).collect::<Vec<_>>());
        new.validate()?;
        Ok(new)
    })
}

/// Puts a table in the place of another, with its rows and indexes; a column may get other values.
fn anew(
    connection: &mut Connection,
    table: &str,
    using: Option<(&Ident, &Expr)>,
    make: impl Fn(&Work<'_>, &Planner<'_>, &TableDefinition) -> Result<TableDefinition>,
) -> Result<()> {
    connection.write(&[], |work| {
        let found = work.definitions().table(table)?;
        work.transaction.hold(&found)?;
        let old = found.definition();
        refuse(old)?;
        let (new, rules, source) = {
            let planner = work.own_planner()?;
            let new = make(work, &planner, old)?;
            let rules = Rules::new(&planner, &new)?;
            (new.clone(), rules, rows_of(&planner, old, &new, using)?)
        };
        // Who may do what with the table may do it with the new one.
        let rights = work.definitions().object(ObjectKind::Rights, table).ok();
        let again: Vec<_> = indexes(&found).iter().map(|index| again(index, old)).collect();
        work.transaction.define(&CatalogEdit::DropTable(table.to_owned()))?;
        work.transaction.define(&CatalogEdit::CreateTable(new))?;
        if let Some(rights) = rights {
            let object = (*rights).clone();
            work.transaction.define(&CatalogEdit::CreateObject { object, replace: true })?;
        }
        let made = work.definitions().table(table)?.checked_by_caller();
        fill(work, &made, &rules, source)?;
        again.iter().try_for_each(|index| Ok(work.transaction.create_index(index)?))
    })
}

fn refuse(table: &TableDefinition) -> Result<()> {
    let what = match () {
        () if table.is_raw() => "is a plain key-value table, whose columns are binary",
        () if table.duplicates => "may have several rows of one key, in an order that would be lost",
        () => return Ok(()),
    };
    Err(Error::invalid(format!("table \"{}\" {what}", shown(&table.name))))
}

/// The table with the column in its new type.
fn changed(
    planner: &Planner<'_>,
    old: &TableDefinition,
    change: &Change<'_>,
    types: &UserTypes,
) -> Result<TableDefinition> {
    let at = place(old, change.column)?;
    let mut new = old.clone();
    new.forget_dropped();
    let column = &old.columns[at];
    if column.generated().is_some() || is_implied(change.ty) {
        return Err(Error::invalid(format!("column \"{}\" is generated", column.name))
            .with_hint("drop it, and add it with its new type"));
    }
    let ty = types.meant(change.ty)?;
    let typed = Column::typed(&column.name, declared(&ty, types)?);
    let mut typed = Column {
        nullable: column.nullable,
        comment: column.comment.clone(),
        default_expression: column.default_expression.clone(),
        ..typed
    };
    if let Some(expression) = typed.default_expression.as_ref().filter(|_| change.is_of_defaults) {
        typed.default_expression =
            Some(change.made_of(&format!("({expression})"), column, &typed)?.to_string());
    }
    if let Some(value) = &column.default {
        let made = change.made_of(&stored_literal(value, column)?, column, &typed)?;
        let computed = Computed::new(planner, made, &Schema::empty().into(), "default");
        let value = computed.and_then(|computed| computed.value(&column_type(&typed)));
        let value = value.map_err(|error| in_default(column, &error).with_hint("DROP DEFAULT first"))?;
        typed = typed.default_value(value);
    }
    let name = typed.name.clone();
    new.columns[at] = typed;
    // The length that its type had goes with that.
    new.checks.retain(|check| {
        let expression = parse_expression(&check.expression).ok();
        expression.and_then(|expression| length::limit(&expression)).is_none_or(|(of, _)| of != name)
    });
    if let Some(most) = length::of_type(&ty) {
        let check = length::check(&name, most)?;
        new.checks.push(make_check(planner, &new, Some(&length_name(&name)), Some(&name), check)?);
    }
    new.validate()?;
    Ok(new)
}

/// The rows of the table, with other values for a column; generated columns are left out.
fn rows_of(
    planner: &Planner<'_>,
    old: &TableDefinition,
    new: &TableDefinition,
    using: Option<(&Ident, &Expr)>,
) -> Result<(Vec<usize>, Stream)> {
    let using = using.map(|(column, using)| Ok::<_, Error>((place(old, column)?, using))).transpose()?;
    let places: Vec<usize> =
        (0..old.columns.len()).filter(|place| old.columns[*place].generated().is_none()).collect();
    let item = |place: &usize| match using {
        Some((at, using)) if at == *place => format!("({using}) AS {}", quoted(&old.columns[*place].name)),
        _ => quoted(&old.columns[*place].name),
    };
    let items: Vec<_> = places.iter().map(item).collect();
    let text = format!("SELECT {} FROM {}", items.join(", "), quoted_object(&old.name));
    let query = *Parser::new(&DIALECT).try_with_sql(&text)?.parse_query()?;
    let stream = Stream::new(planner, &planner.plan_query(&query, &[])?)?;
    stream.fits(new, places.iter().copied().enumerate())?;
    Ok((places, stream))
}

fn fill(
    work: &mut Work<'_>,
    table: &Table,
    rules: &Rules,
    (places, rows): (Vec<usize>, Stream),
) -> Result<()> {
    let mut first = 1;
    for batch in rows {
        work.interrupter.check()?;
        let batch = batch?;
        let whole = complete(table.definition(), rules, &places, &batch, first, None)
            .map_err(|error| at_row(table, rules, &places, &batch, error))?;
        let values = Values::stored(&whole);
        for row in 0..whole.num_rows() {
            work.transaction.insert_row(table, &values.row(row)?)?;
        }
        first += whole.num_rows() as u64;
        work.progress.report(first - 1);
    }
    Ok(())
}

/// The error of the first row that does not fit, with that row.
fn at_row(table: &Table, rules: &Rules, places: &[usize], batch: &RecordBatch, error: Error) -> Error {
    let fails =
        |row: &usize| complete(table.definition(), rules, places, &batch.slice(*row, 1), 1, None).is_err();
    match (0..batch.num_rows()).find(fails).and_then(|row| show(batch, row).ok()) {
        Some(row) => {
            let what = error.message().split_once(": ").map_or(error.message(), |(_, what)| what);
            Error::new(error.kind(), format!("the row {row}: {what}"))
        }
        None => error,
    }
}

/// An index as it is to be made again.
fn again(index: &Index, table: &TableDefinition) -> IndexDefinition {
    let columns: Vec<_> = index.columns().iter().map(|place| table.columns[*place].name.as_str()).collect();
    let made = IndexDefinition::new(index.name(), &table.name, &columns);
    let made = match index.kind() {
        ambo::IndexKind::Ordered => made,
        ambo::IndexKind::Hash => made.hash(),
        ambo::IndexKind::Bitmap => made.bitmap(),
        ambo::IndexKind::Br64 => made.br64(),
        ambo::IndexKind::Br64Any => made.br64_any(),
    };
    if index.is_unique() { made.unique() } else { made }
}

/// The statement is one of its own.
pub(super) fn alone(operation: &ast::AlterTableOperation) -> Option<Change<'_>> {
    match operation {
        ast::AlterTableOperation::AlterColumn {
            column_name,
            op: ast::AlterColumnOperation::SetDataType { data_type, using, .. },
        } => {
            Some(Change { column: column_name, ty: data_type, using: using.as_ref(), is_of_defaults: false })
        }
        _ => None,
    }
}
