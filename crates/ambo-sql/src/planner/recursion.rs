//! Recursive tables have the types that all of their rows have.
//!
//! The planner gives them the types of the part that does not recurse and casts the others to these, so that `SELECT 1 UNION ALL
//! SELECT n * 1.5 …` had whole numbers. So both parts are planned, and the first is cast to what they have in common, until that
//! is steady. Where it never is (each product of decimals has more places), numbers have as many places as leave half of the
//! digits for what is before the point.
//!
//! The planner reads over ORDER BY, LIMIT and OFFSET of the UNION itself; these are refused. Of one that does not recurse they are kept.

use std::ops::ControlFlow;

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field};
use datafusion::{
    common::DFSchemaRef,
    sql::sqlparser::{
        ast::{self, Cte, Expr, Ident, ObjectName, SelectItem, SetExpr, SetOperator, Visitor, With},
        parser::Parser,
    },
};

use crate::{
    Error, Result,
    error::{NO_COMMON_TYPE, type_in_sql},
    names::{about, ident, object},
    optimizer::common_type,
    parse::DIALECT,
    times::rules,
    walk::Walk,
};

/// The columns of a query; `None` if they cannot be told.
pub(super) type SchemaOf<'a> = dyn Fn(ast::Query) -> Option<DFSchemaRef> + 'a;

/// How often the types of a table are looked at anew.
const ROUNDS: usize = 4;
const STEADY_PLACES: i8 = 18;

/// Gives the recursive tables of a query, which sees these others, the types of all their rows.
pub(super) fn widen(with: &mut With, around: Option<With>, schema_of: &SchemaOf<'_>) -> Result<()> {
    if !with.recursive {
        return Ok(());
    }
    for nth in 0..with.cte_tables.len() {
        let mut sight = around.clone().unwrap_or_else(|| With { cte_tables: Vec::new(), ..with.clone() });
        sight.recursive = true;
        sight.cte_tables.extend(with.cte_tables[..nth].iter().cloned());
        let table = &mut with.cte_tables[nth];
        if is_recursive(table) {
            check(table)?;
            with_own_tables(table);
            widen_table(table, &sight, schema_of)?;
        } else if matches!(*table.query.body, SetExpr::SetOperation { .. }) {
            as_any_query(table);
        }
    }
    Ok(())
}

/// Whether a table is a UNION whose second part names it.
pub(super) fn is_recursive(table: &Cte) -> bool {
    let SetExpr::SetOperation { op: SetOperator::Union, right, .. } = table.query.body.as_ref() else {
        return false;
    };
    right.walk(&mut Naming(ident(&table.alias.name))).is_break()
}

struct Naming(String);

impl Visitor for Naming {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        match object(relation).is_ok_and(|name| name == self.0) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn check(table: &Cte) -> Result<()> {
    let query = &table.query;
    let what = match (&query.order_by, &query.limit_clause, &query.fetch) {
        (Some(_), ..) => "ORDER BY",
        (_, Some(_), _) => "LIMIT and OFFSET",
        (.., Some(_)) => "FETCH",
        _ => return Ok(()),
    };
    let refused = Error::invalid(format!("not supported: {what} of a recursive table")).with_hint(
        "say in WHERE of the recursive part where it ends, and order and limit the rows in the query that reads the table",
    );
    Err(about(refused, &table.alias.name))
}

/// Of a UNION that names tables of its own, both parts get them: the planner reads over WITH there.
fn with_own_tables(table: &mut Cte) {
    let Some(own) = table.query.with.take() else { return };
    if let SetExpr::SetOperation { left, right, .. } = table.query.body.as_mut() {
        for part in [left, right] {
            **part = SetExpr::Query(Box::new(query(own.clone(), part.as_ref().clone())));
        }
    }
}

/// A set operation that does not recurse becomes a table of a SELECT: else the planner takes it for one that might, and reads
/// over its ORDER BY, LIMIT and WITH.
fn as_any_query(table: &mut Cte) {
    let parsed = Parser::new(&DIALECT).try_with_sql("SELECT * FROM (SELECT 1) AS own");
    let Ok(mut around) = parsed.and_then(|mut parser| parser.parse_query()) else { return };
    if let SetExpr::Select(select) = around.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let ast::TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        std::mem::swap(subquery, &mut table.query);
        table.query = around;
    }
}

fn widen_table(table: &mut Cte, sight: &With, schema_of: &SchemaOf<'_>) -> Result<()> {
    for round in 0..ROUNDS {
        let SetExpr::SetOperation { left, right, .. } = table.query.body.as_ref() else { return Ok(()) };
        let Some(own) = schema_of(query(sight.clone(), left.as_ref().clone())) else { return Ok(()) };
        let mut with = sight.clone();
        let alone = With { cte_tables: Vec::new(), ..sight.clone() };
        let first = Box::new(query(alone, left.as_ref().clone()));
        with.cte_tables.retain(|known| ident(&known.alias.name) != ident(&table.alias.name));
        with.cte_tables.push(Cte { query: first, alias: table.alias.clone(), ..table.clone() });
        let Some(others) = schema_of(query(with, right.as_ref().clone())) else { return Ok(()) };
        if own.fields().len() != others.fields().len() {
            return Ok(());
        }
        let types = own.fields().iter().zip(others.fields());
        for (own, other) in types.clone() {
            let name = || about(no_common(own, other), &table.alias.name);
            let (own, other) = (own.data_type(), other.data_type());
            let common = common_type(own, other).ok_or_else(name)?;
            for from in [own, other] {
                rules::refuse_numbers(from, &common)?;
            }
        }
        let is_last = round + 1 == ROUNDS;
        let types: Vec<_> =
            types.map(|(own, other)| wider(own.data_type(), other.data_type(), is_last)).collect();
        let names = own.fields().iter().map(|field| field.name().as_str());
        let cast = types.iter().any(Option::is_some).then(|| cast(left, names.zip(&types))).flatten();
        match (cast, table.query.body.as_mut()) {
            (Some(cast), SetExpr::SetOperation { left, .. }) => **left = cast,
            _ => return Ok(()),
        }
    }
    Ok(())
}

fn no_common(own: &Field, other: &Field) -> Error {
    let [own_type, other_type] = [own, other].map(|field| type_in_sql(field.data_type()));
    let words = NO_COMMON_TYPE.replace("$l", &own_type).replace("$r", &other_type);
    Error::invalid(words.replace("$c", own.name()))
}

/// The type that values of both have, if it is not the first one's. Sums of decimals have a digit more each time: they get all
/// digits. Moments of files are computed in microseconds.
fn wider(own: &DataType, other: &DataType, is_last: bool) -> Option<DataType> {
    const DIGITS: u8 = DECIMAL128_MAX_PRECISION;
    let common = common_type(own, other).map(|common| rules::own(&common)).filter(|common| common != own)?;
    match (own, &common) {
        (DataType::Decimal128(_, places), DataType::Decimal128(_, more)) if places == more => {
            Some(DataType::Decimal128(DIGITS, *places))
        }
        (_, common) if is_last && common.is_decimal() => Some(DataType::Decimal128(DIGITS, STEADY_PLACES)),
        _ => (!is_last).then_some(common),
    }
}

pub(super) fn query(with: With, body: SetExpr) -> ast::Query {
    let with = (!with.cte_tables.is_empty()).then_some(with);
    ast::Query {
        with,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// `SELECT a, arrow_cast(b, '…') AS b FROM (first part) AS first (a, b)`.
fn cast<'c>(
    first: &SetExpr,
    columns: impl Iterator<Item = (&'c str, &'c Option<DataType>)>,
) -> Option<SetExpr> {
    let columns: Vec<_> = columns.collect();
    let mut around = parsed("SELECT 1 FROM (SELECT 1) AS first")?;
    let SetExpr::Select(select) = &mut around else { return None };
    let relation = &mut select.from.first_mut()?.relation;
    let ast::TableFactor::Derived { subquery, alias, .. } = relation else { return None };
    *subquery.body = first.clone();
    let name = |name: &str| Ident::with_quote('"', name);
    let names = columns.iter().map(|(column, _)| name(column));
    alias.as_mut()?.columns = names.map(|name| ast::TableAliasColumnDef { name, data_type: None }).collect();
    let item = |(column, to): &(&str, &Option<DataType>)| {
        let column = name(column);
        let Some(to) = to else { return Some(SelectItem::UnnamedExpr(Expr::Identifier(column))) };
        let call = format!("arrow_cast({column}, '{to}')");
        let expr = Parser::new(&DIALECT).try_with_sql(&call).and_then(|mut parser| parser.parse_expr());
        Some(SelectItem::ExprWithAlias { expr: expr.ok()?, alias: column })
    };
    select.projection = columns.iter().map(item).collect::<Option<_>>()?;
    Some(around)
}

fn parsed(text: &str) -> Option<SetExpr> {
    let query = Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_query());
    query.ok().map(|query| *query.body)
}
