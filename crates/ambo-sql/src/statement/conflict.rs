//! Rows that cannot be inserted because another has their key, or their values in a unique index: refused, left out, put in the place of
//! the other, or changing it.

use std::collections::HashSet;

use ambo::{Column, Datum, Duplicates, Index, Logical, Row};
use arrow::array::{Array, AsArray, RecordBatch};
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, ConflictTarget, Expr, OnConflictAction, OnInsert, SqliteOnConflict},
};

use super::{
    assignment::{assignments, qualify},
    definition::collation_of,
    evaluate::Frame,
    incoming::{Labels, assign, held, row_schema, rows_of},
    insert::numbered,
    target::{Target, item},
};
use crate::{
    Error, Result,
    connection::Work,
    foreign_keys::note_change,
    hidden,
    names::{ident, last, quoted, written},
    parse::{conflict_expression, parse_expression},
    value::{self, Values},
    walk::each_expr_mut,
};

/// What the new row is called in ON CONFLICT.
const EXCLUDED: &str = "excluded";

/// Rows that wait for what changes them to be computed at once.
const PAIRS_MAX: usize = 4096;

/// By what a row is in the way.
enum By {
    Key,
    Index(Index),
}

/// What is done about rows that are in the way. `by` is empty if it does not matter by what they are.
pub(super) struct OnConflict {
    by: Vec<By>,
    act: Act,
}

enum Act {
    Refuse,
    Ignore,
    Replace,
    Update(Box<Update>),
}

struct Update {
    set: Vec<(usize, Expr)>,
    selection: Option<Expr>,
    /// Whether it changes what rows are told apart by: then rows are changed one by one.
    changes_keys: bool,
}

impl OnConflict {
    /// What a statement says of it.
    pub(super) fn new(target: &Target, insert: &ast::Insert, params: &mut Vec<ScalarValue>) -> Result<Self> {
        let simple = match insert {
            ast::Insert { replace_into: true, .. }
            | ast::Insert { or: Some(SqliteOnConflict::Replace), .. } => Act::Replace,
            ast::Insert { ignore: true, .. } | ast::Insert { or: Some(SqliteOnConflict::Ignore), .. } => {
                Act::Ignore
            }
            _ => Act::Refuse,
        };
        let Some(on) = &insert.on else { return Ok(Self { by: all(target)?, act: simple }) };
        if !matches!(simple, Act::Refuse) {
            return Err(Error::invalid(
                "ON CONFLICT and REPLACE or IGNORE say two things about the same rows",
            ));
        }
        let (by, set, selection) = match on {
            OnInsert::DuplicateKeyUpdate(set) => (all(target)?, set, None),
            OnInsert::OnConflict(on) => {
                let by = match &on.conflict_target {
                    None => all(target)?,
                    Some(of) => vec![named(target, of)?],
                };
                match &on.action {
                    OnConflictAction::DoNothing => return Ok(Self { by, act: Act::Ignore }),
                    OnConflictAction::DoUpdate(update) => (by, &update.assignments, update.selection.clone()),
                }
            }
            other => return Err(Error::invalid(format!("not supported: {other}"))),
        };
        if by.is_empty() {
            return Err(Error::invalid(format!(
                "no row of table \"{}\" can be in the way of another: it has no primary key and no unique index",
                target.alias
            )));
        }
        if target.alias == EXCLUDED {
            return Err(Error::invalid(
                "excluded is what the new row is called; give the table another name",
            ));
        }
        let (mut set, mut selection) = (set.to_vec(), selection);
        mean_excluded(&mut set);
        target.unqualify(&mut set);
        target.unqualify(&mut selection);
        let mut set = assignments(target, &set, params)?;
        set.iter_mut().for_each(|(_, expr)| qualify(target, expr));
        qualify(target, &mut selection);
        let tells_apart = all(target)?.iter().flat_map(|by| by.columns(target)).collect::<Vec<_>>();
        let changes_keys = set.iter().any(|(column, _)| tells_apart.contains(column));
        Ok(Self { by, act: Act::Update(Box::new(Update { set, selection, changes_keys })) })
    }

    /// Rows that are in the way are errors.
    pub(super) fn refuse() -> Self {
        Self { by: Vec::new(), act: Act::Refuse }
    }

    /// What a bulk load is to do about rows of the same key, if that is all that it has to know: rows are only in the way of each other by
    /// their key, and the new row goes, or is all that is left.
    pub(super) fn duplicates(&self, target: &Target) -> Option<Duplicates> {
        let by_key = matches!(&self.by[..], [By::Key]) && !target.definition().has_sort_key();
        let nothing_else = by_key && all(target).is_ok_and(|all| all.len() == 1);
        match &self.act {
            Act::Refuse => Some(Duplicates::Refuse),
            Act::Ignore if nothing_else => Some(Duplicates::KeepFirst),
            Act::Replace if nothing_else => Some(Duplicates::KeepLast),
            Act::Update(update) if nothing_else && update.replaces(target) => Some(Duplicates::KeepLast),
            _ => None,
        }
    }
}

impl Update {
    /// Whether it leaves nothing of a row but its key.
    fn replaces(&self, target: &Target) -> bool {
        let definition = target.definition();
        let is_set = |place: usize| {
            self.set.iter().any(|(column, value)| {
                *column == place
                    && matches!(value, Expr::CompoundIdentifier(parts)
                        if matches!(&parts[..], [table, name]
                            if ident(table) == EXCLUDED && ident(name) == definition.columns[place].name))
            })
        };
        self.selection.is_none()
            && (0..definition.columns.len()).all(|place| definition.key.contains(&place) != is_set(place))
    }
}

impl By {
    fn columns(&self, target: &Target) -> Vec<usize> {
        match self {
            Self::Key => target.definition().primary_columns().to_vec(),
            Self::Index(index) => index.columns().to_vec(),
        }
    }

    fn find(&self, work: &Work<'_>, target: &Target, row: &[Datum]) -> Result<Option<(Vec<u8>, Row)>> {
        let index = match self {
            Self::Key => None,
            Self::Index(index) => Some(index),
        };
        Ok(work.transaction.find_same(&target.table, row, index)?)
    }
}

/// All that keeps rows of a table apart.
fn all(target: &Target) -> Result<Vec<By>> {
    let mut all = Vec::new();
    if !target.definition().has_hidden_key() && !target.definition().duplicates {
        all.push(By::Key);
    }
    for name in target.table.indexes() {
        let index = target.table.index(&name)?;
        if index.is_unique() && !index.is_primary() {
            all.push(By::Index(index));
        }
    }
    Ok(all)
}

/// What a column of an index is made of, as statements write it: of one that nobody sees its expression, or the column whose values are
/// compared by it.
fn made_of(columns: &[Column], place: usize) -> Result<String> {
    let Some((None, of)) = hidden::parts(&columns[place])? else { return Ok(quoted(&columns[place].name)) };
    for column in columns {
        let text = Expr::Identifier(ast::Ident::with_quote('"', &column.name));
        if let Some(how) = collation_of(column)?
            && how.key_text(&text)? == of
        {
            return Ok(quoted(&column.name));
        }
    }
    Ok(plain(of))
}

/// The text of an expression, in which it makes no difference how names are written.
fn plain(mut expr: Expr) -> String {
    while let Expr::Nested(inner) = expr {
        expr = *inner;
    }
    let _ = each_expr_mut(&mut expr, |expr| {
        match expr {
            Expr::Identifier(name) => *name = ast::Ident::with_quote('"', ident(name)),
            Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                function.name = ast::ObjectName::from(vec![ast::Ident::new(name)]);
            }
            _ => {}
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
    expr.to_string()
}

/// The key or index that ON CONFLICT names.
fn named(target: &Target, of: &ConflictTarget) -> Result<By> {
    let table = last(&target.definition().name);
    match of {
        ConflictTarget::Columns(columns) => {
            let known = &target.definition().columns;
            let mut has_collation = false;
            let mut wanted = Vec::with_capacity(columns.len());
            for name in columns {
                wanted.push(match conflict_expression(&name.value) {
                    Some(text) => plain(parse_expression(text)?),
                    None => {
                        let column = &known[target.column(&ident(name))?];
                        has_collation |= matches!(column.logical, Some(Logical::Collated(_)));
                        quoted(&column.name)
                    }
                });
            }
            wanted.sort_unstable();
            wanted.dedup();
            let is_of = |by: &By| {
                // A key of such keeps apart what is stored, and an index what is compared.
                let is_stored = matches!(by, By::Key) && has_collation;
                let columns = by.columns(target).into_iter().map(|place| made_of(known, place));
                let mut columns: Vec<_> = columns.filter_map(Result::ok).collect();
                columns.sort_unstable();
                columns == wanted && !is_stored
            };
            let names: Vec<_> = columns
                .iter()
                .map(|name| conflict_expression(&name.value).map_or_else(|| ident(name), str::to_owned))
                .collect();
            all(target)?.into_iter().find(is_of).ok_or_else(|| {
                Error::invalid(format!(
                    "neither the primary key of table \"{table}\" nor a unique index of it is of ({})",
                    names.join(", ")
                ))
                .with_hint("CREATE UNIQUE INDEX, or ON CONFLICT without columns")
            })
        }
        ConflictTarget::OnConstraint(name) => {
            let wanted = written(name)?;
            let is_of = |by: &By| match by {
                By::Key => wanted == format!("{table}_pkey"),
                By::Index(index) => index.name() == wanted || last(index.name()) == wanted,
            };
            all(target)?.into_iter().find(is_of).ok_or_else(|| {
                let known: Vec<_> = target.table.indexes().iter().map(|name| last(name).to_owned()).collect();
                Error::not_found("unique index", &wanted, known.iter().map(String::as_str))
            })
        }
    }
}

/// `VALUES(a)` of MySQL is `excluded.a`.
fn mean_excluded(set: &mut [ast::Assignment]) {
    let values = |expr: &mut Expr| {
        if let Expr::Function(function) = expr
            && function.name.to_string().eq_ignore_ascii_case("values")
            && let ast::FunctionArguments::List(list) = &function.args
            && let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(Expr::Identifier(column)))] =
                &list.args[..]
        {
            *expr = Expr::CompoundIdentifier(vec![ast::Ident::new(EXCLUDED), column.clone()]);
        }
        std::ops::ControlFlow::<()>::Continue(())
    };
    for assignment in set {
        let _ = each_expr_mut(&mut assignment.value, values);
    }
}

/// A row that is there, by its stored key, and the one that it is in the way of.
struct Pair {
    key: Vec<u8>,
    there: Row,
    new: Row,
}

/// Inserts rows, one after the other.
pub(super) struct Conflicts<'t> {
    target: &'t Target,
    on: OnConflict,
    params: &'t [ScalarValue],
    /// Rows to be changed, each once.
    pairs: Vec<Pair>,
    waiting: HashSet<Vec<u8>>,
    affected: u64,
}

impl<'t> Conflicts<'t> {
    pub(super) fn new(target: &'t Target, on: OnConflict, params: &'t [ScalarValue]) -> Self {
        Self { target, on, params, pairs: Vec::new(), waiting: HashSet::new(), affected: 0 }
    }

    /// Rows that were inserted or changed.
    pub(super) fn affected(&self) -> u64 {
        self.affected
    }

    /// Inserts a row, or does what is to be done instead; what is written then goes to `written`.
    pub(super) fn insert(&mut self, work: &mut Work<'_>, row: Row, written: &mut Vec<Row>) -> Result<()> {
        let table = &self.target.table;
        match &self.on.act {
            Act::Refuse => {}
            Act::Replace => {
                while let Some((key, _)) = self.in_the_way(work, &row)? {
                    work.transaction.delete(table, &key)?;
                }
            }
            Act::Ignore => {
                if self.in_the_way(work, &row)?.is_some() {
                    return Ok(());
                }
            }
            Act::Update(update) => {
                let changes_keys = update.changes_keys;
                if let Some((key, there)) = self.in_the_way(work, &row)? {
                    let (key, there) = match self.waiting.contains(&key) {
                        false => (key, there),
                        // It is to be changed already, and then again.
                        true => {
                            self.flush(work, written)?;
                            match self.in_the_way(work, &row)? {
                                Some(found) => found,
                                None => return self.put(work, row, written),
                            }
                        }
                    };
                    self.waiting.insert(key.clone());
                    self.pairs.push(Pair { key, there, new: row });
                    return match changes_keys || self.pairs.len() == PAIRS_MAX {
                        true => self.flush(work, written),
                        false => Ok(()),
                    };
                }
            }
        }
        self.put(work, row, written)
    }

    fn put(&mut self, work: &mut Work<'_>, row: Row, written: &mut Vec<Row>) -> Result<()> {
        let number = work.transaction.insert_row(&self.target.table, &row)?;
        self.affected += 1;
        written.push(numbered(self.target, row, number)?);
        Ok(())
    }

    fn in_the_way(&self, work: &Work<'_>, row: &[Datum]) -> Result<Option<(Vec<u8>, Row)>> {
        for by in &self.on.by {
            if let Some(found) = by.find(work, self.target, row)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Changes the rows that wait for it.
    pub(super) fn flush(&mut self, work: &mut Work<'_>, written: &mut Vec<Row>) -> Result<()> {
        let pairs = std::mem::take(&mut self.pairs);
        self.waiting.clear();
        let Act::Update(update) = &self.on.act else { return Ok(()) };
        if pairs.is_empty() {
            return Ok(());
        }
        let definition = self.target.definition();
        let evaluated = evaluate(work, self.target, update, &pairs, self.params)?;
        let mut changes = work.transaction.change_rows(&self.target.table);
        for batch in &evaluated {
            let places = batch.column(0).as_primitive::<arrow::datatypes::UInt64Type>();
            let is_meant = |row: usize| match &update.selection {
                Some(_) => batch.column(1).is_valid(row) && batch.column(1).as_boolean().value(row),
                None => true,
            };
            let meant: Vec<usize> = (0..batch.num_rows()).filter(|row| is_meant(*row)).collect();
            let there: Vec<Row> =
                meant.iter().map(|&row| pairs[places.value(row) as usize].there.clone()).collect();
            let labels = Labels::Numbers(1);
            let mut columns = value::batch(&row_schema(definition), &there)?.columns().to_vec();
            let chosen = arrow::array::UInt64Array::from_iter_values(meant.iter().map(|&row| row as u64));
            for (place_of_set, (place, _)) in update.set.iter().enumerate() {
                let values = batch.column(place_of_set + 1 + usize::from(update.selection.is_some()));
                let values = arrow::compute::take(values, &chosen, None).map_err(value::wrong)?;
                columns[*place] =
                    assign(&values, &definition.columns[*place], &labels, self.target.rules.zone())?;
            }
            let after = rows_of(row_schema(definition), columns, meant.len())?;
            let after = held(definition, &self.target.rules, after, &labels)?;
            let after = Values::stored(&after);
            for (nth, &row) in meant.iter().enumerate() {
                let pair = &pairs[places.value(row) as usize];
                let new = after.row(nth)?;
                note_change(&mut work.moved, definition, &pair.there, &new);
                changes.update(pair.key.clone(), &pair.there, &new)?;
                written.push(new);
            }
        }
        self.affected += changes.finish()?;
        Ok(())
    }
}

/// For each pair its place, whether it is meant (if there is a WHERE), and what columns are set to.
fn evaluate(
    work: &Work<'_>,
    target: &Target,
    update: &Update,
    pairs: &[Pair],
    params: &[ScalarValue],
) -> Result<Vec<RecordBatch>> {
    let definition = target.definition();
    let place = arrow::datatypes::Field::new("\u{1}place", arrow::datatypes::DataType::UInt64, false);
    let mut fields = vec![(None, place)];
    fields.extend(Frame::table(&target.alias, definition));
    fields.extend(Frame::table(EXCLUDED, definition));
    let schema = row_schema(definition);
    let there: Vec<Row> = pairs.iter().map(|pair| pair.there.clone()).collect();
    let new: Vec<Row> = pairs.iter().map(|pair| pair.new.clone()).collect();
    let places = arrow::array::UInt64Array::from_iter_values(0..pairs.len() as u64);
    let mut columns: Vec<arrow::array::ArrayRef> = vec![std::sync::Arc::new(places)];
    columns.extend(value::batch(&schema, &there)?.columns().iter().cloned());
    columns.extend(value::batch(&schema, &new)?.columns().iter().cloned());
    let fields_of = fields.iter().map(|(_, field)| field.clone()).collect::<Vec<_>>();
    let batch = rows_of(arrow::datatypes::Schema::new(fields_of).into(), columns, pairs.len())?;
    let mut items = vec![item(Expr::Identifier(super::target::quoted("\u{1}place")), "\u{1}0")];
    let exprs = update.selection.iter().chain(update.set.iter().map(|(_, expr)| expr));
    items.extend(exprs.enumerate().map(|(nth, expr)| item(expr.clone(), &format!("\u{1}{}", nth + 1))));
    let (_, batches) = Frame::new(fields, vec![batch])?.select(&work.planner()?, &items, params)?;
    Ok(batches)
}
