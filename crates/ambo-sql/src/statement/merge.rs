//! MERGE: a join of the target and a source, each pair with the number of the clause that is meant and the values that it sets.

use std::collections::HashSet;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch},
    compute::filter_record_batch,
    datatypes::Int64Type,
};
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{
        self, BinaryOperator, CaseWhen, Expr, Join, JoinConstraint, JoinOperator, MergeAction, MergeClause,
        MergeClauseKind, MergeInsertKind, SelectItem, TableFactor, Value,
        helpers::attached_token::AttachedToken,
    },
};

use super::{
    assignment::{assignments, or_default},
    incoming::{Labels, Stream, assign, complete, held, row_schema, rows_of},
    insert::numbered,
    merge_returning::{self, with_action},
    merge_short,
    returning::{Returning, Written},
    sought::Sought,
    target::{Parts, Read, Target, column_of, item, quoted, table_alias},
};
use crate::{
    Error, ErrorKind, Result,
    connection::Work,
    foreign_keys::note_change,
    hidden::seen,
    names::{ident, last, object},
    parse::NOTHING,
    rights::Right,
    table::ROW_NUMBER,
    value::{self, Values},
};

/// Not NULL where a row has one of the source.
const THERE: &str = "\u{1}there";

/// What a clause does.
enum Act {
    Nothing,
    Delete,
    /// Sets columns; of an insert the others have their defaults.
    Update(Vec<usize>),
    Insert(Vec<usize>),
}

/// A clause: when it is meant, what it does, and the values for that.
struct Clause {
    when: Expr,
    act: Act,
    values: Vec<Expr>,
}

/// A MERGE that is ready to be run.
pub(super) struct Asked {
    pub sought: Sought,
    clauses: Vec<Clause>,
    /// What RETURNING says.
    returned: Option<Vec<SelectItem>>,
}

impl Asked {
    pub(super) fn new(work: &Work<'_>, merge: &ast::Merge, with: Option<&ast::With>) -> Result<Self> {
        let mut merge = merge.clone();
        let target = Target::of_factor(work, &merge.table, &[Right::Select])?;
        target.unqualify(&mut merge);
        let returned = merge_returning::items(merge.output.take(), &target)?;
        let mut params = work.params.to_vec();
        let source_name = source_name(&merge.source)?;
        merge_short::write_out(work, &target, &mut merge, &source_name, with)?;
        for clause in &merge.clauses {
            let right = match &clause.action {
                MergeAction::Insert(_) => Right::Insert,
                MergeAction::Update(_) => Right::Update,
                MergeAction::Delete { .. } => Right::Delete,
            };
            work.require(&target.definition().name, right)?;
        }
        let source = source(merge.source, &source_name);
        let clauses = merge.clauses.iter().map(|clause| parse(&target, &source_name, clause, &mut params));
        let clauses = clauses.collect::<Result<Vec<_>>>()?;
        if clauses.is_empty() {
            return Err(Error::invalid("MERGE without WHEN does nothing"));
        }
        let kinds: Vec<_> = merge.clauses.iter().map(|clause| clause.clause_kind).collect();
        let mut relation = target.relation();
        relation.joins = vec![Join {
            relation: source,
            global: false,
            join_operator: join(&kinds)(JoinConstraint::On(Expr::Nested(merge.on))),
        }];
        let mut items = items(&target, &clauses);
        if returned.is_some() {
            items.push(merge_returning::of_source(&source_name));
        }
        let query = Parts {
            with: with.cloned(),
            items,
            from: vec![relation],
            selection: Some(Expr::IsNotNull(Box::new(chosen(&clauses)))),
            ..Parts::default()
        };
        Ok(Self { sought: Sought { target, query: query.query(), params }, clauses, returned })
    }
}

/// What is read of each pair of rows: the target's columns, the clause, the values of each clause.
fn items(target: &Target, clauses: &[Clause]) -> Vec<SelectItem> {
    let chosen = chosen(clauses);
    let mut items = target.items(Read::All);
    items.push(item(chosen.clone(), "\u{1}clause"));
    for (nth, clause) in clauses.iter().enumerate() {
        for (value, expr) in clause.values.iter().enumerate() {
            // Only where the clause is meant is there anything to compute.
            let is_meant = equal(chosen.clone(), number(nth));
            let guarded = case(vec![(is_meant, expr.clone())], None);
            items.push(item(guarded, &format!("\u{1}{nth}.{value}")));
        }
    }
    items
}

pub(super) fn apply(work: &mut Work<'_>, merge: &ast::Merge, with: Option<&ast::With>) -> Result<Written> {
    let Asked { sought, clauses, returned } = Asked::new(work, merge, with)?;
    let (schema, stream) = sought.stream(work)?;
    let Sought { target, params, .. } = sought;
    let from = source_from(&target, &clauses);
    let mut returning = merge_returning::returning(returned.as_deref(), &target, &schema, from);
    let affected = write(work, &target, &clauses, stream, &mut returning)?;
    returning.finish(work, affected, &params)
}

/// Where the columns of the source begin in the rows of the join, if they are read.
fn source_from(target: &Target, clauses: &[Clause]) -> usize {
    target.width(Read::All) + 1 + clauses.iter().map(|clause| clause.values.len()).sum::<usize>()
}

/// Does what the clauses say of the rows of the join.
fn write(
    work: &mut Work<'_>,
    target: &Target,
    clauses: &[Clause],
    stream: Stream,
    returning: &mut Returning<'_>,
) -> Result<u64> {
    let from = source_from(target, clauses);
    let definition = target.definition();
    let schema = row_schema(definition);
    let width = definition.columns.len();
    let place_of_clause = target.width(Read::All);
    let mut first = place_of_clause + 1;
    for clause in clauses {
        if let Act::Update(places) | Act::Insert(places) = &clause.act {
            stream.fits(definition, places.iter().enumerate().map(|(nth, column)| (first + nth, *column)))?;
        }
        first += clause.values.len();
    }
    let mut seen = HashSet::new();
    let mut inserts: Vec<(RecordBatch, RecordBatch)> = Vec::new();
    let mut changes = work.transaction.change_rows(&target.table);
    for batch in stream {
        let batch = batch?;
        let mut place = place_of_clause + 1;
        for (nth, clause) in clauses.iter().enumerate() {
            let values = place..place + clause.values.len();
            place = values.end;
            let meant = of_clause(&batch, place_of_clause, nth)?;
            if meant.num_rows() == 0 {
                continue;
            }
            let given: Vec<ArrayRef> = meant.columns()[values].to_vec();
            if matches!(clause.act, Act::Update(_) | Act::Delete) {
                once(target, &meant, &mut seen)?;
            }
            let keys = Values::stored(&meant);
            match &clause.act {
                Act::Nothing => {}
                Act::Delete => {
                    if returning.is_wanted() {
                        let old = meant.columns()[..width].to_vec();
                        let old = rows_of(schema.clone(), old, meant.num_rows())?;
                        returning.push(with_action(&old, "DELETE", &meant, from)?);
                    }
                    for row in 0..meant.num_rows() {
                        changes.delete(&target.stored_key(&keys, row, Read::All)?)?;
                    }
                }
                Act::Update(places) => {
                    let old = rows_of(schema.clone(), meant.columns()[..width].to_vec(), meant.num_rows())?;
                    let mut columns = old.columns().to_vec();
                    for (place, values) in places.iter().zip(&given) {
                        columns[*place] = assign(
                            values,
                            &definition.columns[*place],
                            &Labels::Numbers(1),
                            target.rules.zone(),
                        )?;
                    }
                    let new = rows_of(schema.clone(), columns, meant.num_rows())?;
                    let new = held(definition, &target.rules, new, &Labels::Numbers(1))?;
                    let (before, after) = (Values::stored(&old), Values::stored(&new));
                    for row in 0..meant.num_rows() {
                        let key = target.stored_key(&keys, row, Read::All)?;
                        let (before, after) = (before.row(row)?, after.row(row)?);
                        note_change(&mut work.moved, definition, &before, &after);
                        changes.update(key, &before, &after)?;
                    }
                    if returning.is_wanted() {
                        returning.push(with_action(&new, "UPDATE", &meant, from)?);
                    }
                }
                Act::Insert(places) => {
                    let fields: Vec<_> = batch.schema().fields()[place - places.len()..place].to_vec();
                    let given =
                        rows_of(arrow::datatypes::Schema::new(fields).into(), given, meant.num_rows())?;
                    let rows = complete(definition, &target.rules, places, &given, 1, None)?;
                    inserts.push((rows, meant));
                }
            }
        }
    }
    // New rows come when those that are changed or deleted are out of their way.
    let mut affected = changes.finish()?;
    for (rows, meant) in inserts {
        let values = Values::stored(&rows);
        let mut written = Vec::new();
        for row in 0..rows.num_rows() {
            let row = values.row(row)?;
            let number = work.transaction.insert_row(&target.table, &row)?;
            affected += 1;
            if returning.is_wanted() {
                written.push(numbered(target, row, number)?);
            }
        }
        if returning.is_wanted() {
            let rows = value::batch(&rows.schema(), &written)?;
            returning.push(with_action(&rows, "INSERT", &meant, from)?);
        }
    }
    Ok(affected)
}

/// The rows of a batch of which a clause is meant.
fn of_clause(batch: &RecordBatch, column: usize, nth: usize) -> Result<RecordBatch> {
    let clauses = batch.column(column).as_primitive::<Int64Type>();
    let is_meant = |row| clauses.is_valid(row) && clauses.value(row) == nth as i64;
    let meant: BooleanArray = (0..batch.num_rows()).map(|row| Some(is_meant(row))).collect();
    filter_record_batch(batch, &meant).map_err(value::wrong)
}

/// # Errors
/// A row of the target that is meant a second time.
fn once(target: &Target, rows: &RecordBatch, seen: &mut HashSet<Vec<u8>>) -> Result<()> {
    let values = Values::stored(rows);
    for row in 0..rows.num_rows() {
        if !seen.insert(target.stored_key(&values, row, Read::All)?) {
            return Err(Error::new(
                ErrorKind::Execution,
                format!("a row of \"{}\" is matched by more than one row of the source", target.alias),
            )
            .with_hint("ON has to choose one row of the source for each row of the table"));
        }
    }
    Ok(())
}

/// What the source is called.
fn source_name(factor: &TableFactor) -> Result<String> {
    let (TableFactor::Table { alias, .. }
    | TableFactor::Derived { alias, .. }
    | TableFactor::NestedJoin { alias, .. }
    | TableFactor::Function { alias, .. }) = factor
    else {
        return Err(Error::invalid(format!("{factor} is no source of MERGE")));
    };
    match (alias, factor) {
        (Some(alias), _) => Ok(ident(&alias.name)),
        (None, TableFactor::Table { name, .. }) => Ok(last(&object(name)?).to_owned()),
        _ => Err(Error::invalid("the source of MERGE has no name").with_hint("write USING (…) AS s")),
    }
}

/// The source with a column that is not NULL.
fn source(factor: TableFactor, name: &str) -> TableFactor {
    let there = Expr::value(Value::Boolean(true));
    let all = Parts {
        items: vec![SelectItem::Wildcard(Default::default()), item(there, THERE)],
        from: vec![ast::TableWithJoins { relation: factor, joins: Vec::new() }],
        ..Parts::default()
    };
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(all.query()),
        alias: Some(table_alias(name)),
        sample: None,
    }
}

/// The join that has all rows that clauses of these kinds are about.
fn join(kinds: &[MergeClauseKind]) -> fn(JoinConstraint) -> JoinOperator {
    let of = |kind| kinds.contains(&kind);
    let new = of(MergeClauseKind::NotMatched) || of(MergeClauseKind::NotMatchedByTarget);
    match (of(MergeClauseKind::NotMatchedBySource), new) {
        (false, false) => JoinOperator::Inner,
        (true, false) => JoinOperator::LeftOuter,
        (false, true) => JoinOperator::RightOuter,
        (true, true) => JoinOperator::FullOuter,
    }
}

fn parse(
    target: &Target,
    source: &str,
    clause: &MergeClause,
    params: &mut Vec<ScalarValue>,
) -> Result<Clause> {
    let definition = target.definition();
    let own = match definition.is_numbered() {
        true => ROW_NUMBER,
        false => &definition.columns[definition.key[0]].name,
    };
    let there = |column: Expr, is: bool| match is {
        true => Expr::IsNotNull(Box::new(column)),
        false => Expr::IsNull(Box::new(column)),
    };
    let (by_target, by_source) = match clause.clause_kind {
        MergeClauseKind::Matched => (true, true),
        MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => (false, true),
        MergeClauseKind::NotMatchedBySource => (true, false),
    };
    let sides = Expr::BinaryOp {
        left: Box::new(there(target.expr(own), by_target)),
        op: BinaryOperator::And,
        right: Box::new(there(column_of(source, THERE), by_source)),
    };
    let when = match &clause.predicate {
        None => sides,
        Some(predicate) => case(vec![(sides, predicate.clone())], Some(Expr::value(Value::Boolean(false)))),
    };
    let of_oracle = || {
        Error::invalid("WHERE behind an action of MERGE is not supported")
            .with_hint("write WHEN … AND condition")
    };
    let (act, values) = match &clause.action {
        MergeAction::Delete { .. } => (Act::Delete, Vec::new()),
        MergeAction::Update(update) => {
            if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                return Err(of_oracle());
            }
            match is_nothing(update.assignments.first().map(|set| set.target.to_string())) {
                true => (Act::Nothing, Vec::new()),
                false => {
                    let (columns, values) =
                        assignments(target, &update.assignments, params)?.into_iter().unzip();
                    (Act::Update(columns), values)
                }
            }
        }
        MergeAction::Insert(insert) => {
            if insert.insert_predicate.is_some() {
                return Err(of_oracle());
            }
            if is_nothing(insert.columns.first().map(ToString::to_string)) {
                return Ok(Clause { when, act: Act::Nothing, values: Vec::new() });
            }
            let MergeInsertKind::Values(values) = &insert.kind else {
                return Err(
                    Error::invalid("INSERT ROW is not supported").with_hint("write INSERT (…) VALUES (…)")
                );
            };
            let [row] = &values.rows[..] else {
                return Err(Error::invalid("MERGE inserts one row for each of the source"));
            };
            let columns = match insert.columns.is_empty() {
                true => seen(definition).collect(),
                false => target.columns_of(insert.columns.iter())?,
            };
            if columns.len() != row.content.len() {
                let (named, given) = (columns.len(), row.content.len());
                return Err(Error::invalid(format!("{given} values for {named} columns")));
            }
            let values = row.content.iter().zip(&columns);
            let values =
                values.map(|(expr, &place)| or_default(target, place, expr.clone(), params)).collect();
            (Act::Insert(columns), values)
        }
    };
    Ok(Clause { when, act, values })
}

/// Whether it is what DO NOTHING was made of.
fn is_nothing(first: Option<String>) -> bool {
    first.is_some_and(|first| first == quoted(NOTHING).to_string())
}

/// The number of the clause that is meant, or NULL.
fn chosen(clauses: &[Clause]) -> Expr {
    let clauses = clauses.iter().enumerate();
    case(clauses.map(|(nth, clause)| (clause.when.clone(), number(nth))).collect(), None)
}

fn number(nth: usize) -> Expr {
    Expr::value(Value::Number(nth.to_string(), false))
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Eq, right: Box::new(right) }
}

fn case(when: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    let conditions = when.into_iter().map(|(condition, result)| CaseWhen { condition, result }).collect();
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions,
        else_result: otherwise.map(Box::new),
    }
}
