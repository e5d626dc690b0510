//! The table of a fast statement, and what its conditions and checks say.

use ambo::{Compare, Database, Index, Logical, Table, TableDefinition, Type};
use datafusion::sql::sqlparser::ast::{self, BinaryOperator, Expr, TableFactor};

use super::{
    condition::Condition,
    expression::Expression,
    moment::{Assigned, Moment},
    plan::{KeyBounds, Lookup, Search},
};
use crate::{
    foreign_keys::has_references,
    names::{ident, last, object},
    parse::parse_expression,
    statement::length_limit,
};

/// More keys than these are not looked up one by one.
const KEYS_MAX: usize = 1000;

/// A table and what the statement calls it.
pub(super) struct Target {
    pub table: Table,
    name: String,
}

impl Target {
    pub(super) fn new(
        db: &Database,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
    ) -> Option<Self> {
        let name = object(name).ok()?;
        let table = db.table(&name).ok()?.checked_by_caller();
        if table.definition().duplicates || table.definition().is_raw() {
            return None;
        }
        // Values that are shown and compared otherwise than they are stored are the planner's.
        let is_other = |column: &ambo::Column| {
            let is_other =
                |logical: &Logical| logical.kind() != Type::Utf8 || matches!(logical, Logical::Collated(_));
            column.logical.as_ref().is_some_and(is_other)
        };
        if table.definition().columns.iter().any(is_other) {
            return None;
        }
        let name = match alias {
            None => last(&name).to_owned(),
            Some(alias) if alias.columns.is_empty() => ident(&alias.name),
            Some(_) => return None,
        };
        Some(Self { table, name })
    }

    pub(super) fn of(db: &Database, table: &ast::TableWithJoins) -> Option<Self> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } = &table.relation
        else {
            return None;
        };
        let is_plain = table.joins.is_empty()
            && with_hints.is_empty()
            && partitions.is_empty()
            && index_hints.is_empty();
        is_plain.then(|| Self::new(db, name, alias.as_ref())).flatten()
    }

    pub(super) fn definition(&self) -> &TableDefinition {
        self.table.definition()
    }

    /// The place of a column that is called by its name, or by the table's and its.
    pub(super) fn column(&self, name: &[&str]) -> Option<usize> {
        match name {
            [column] => self.definition().column_index(column),
            [table, column] if *table == self.name => self.definition().column_index(column),
            _ => None,
        }
    }

    pub(super) fn expression(&self, expr: &Expr) -> Option<Expression> {
        Expression::of(expr, &|name| self.column(name))
    }

    /// An expression without columns.
    pub(super) fn constant(&self, expr: &Expr) -> Option<Expression> {
        self.expression(expr).filter(Expression::is_constant)
    }

    /// What a column is given in a row that is put in.
    pub(super) fn given(&self, column: usize, expr: &Expr) -> Option<Assigned> {
        self.assigned(column, expr, || self.constant(expr))
    }

    /// The column that is set, and what it is given. `named` knows the places of names.
    pub(super) fn set(
        &self,
        assignment: &ast::Assignment,
        named: &dyn Fn(&[&str]) -> Option<usize>,
    ) -> Option<(usize, Assigned)> {
        let column = self.set_column(assignment)?;
        let value = &assignment.value;
        Some((column, self.assigned(column, value, || Expression::of(value, named))?))
    }

    fn assigned(
        &self,
        column: usize,
        expr: &Expr,
        value: impl FnOnce() -> Option<Expression>,
    ) -> Option<Assigned> {
        match Moment::of(expr, self.definition().columns[column].kind) {
            Some(moment) => Some(Assigned::Moment(moment)),
            None => value().map(Assigned::Value),
        }
    }

    fn set_column(&self, assignment: &ast::Assignment) -> Option<usize> {
        let ast::AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
        match &name.0[..] {
            [part] => self.column(&[&ident(part.as_ident()?)]),
            _ => None,
        }
    }

    /// Which rows a condition means, if it says that by the key or by a unique index.
    pub(super) fn search(&self, condition: &Expr) -> Option<Search> {
        let mut asked = Asked::default();
        self.conditions(condition, &mut asked)?;
        let Asked { mut equal, keys, mut rest } = asked;
        let key = self.definition().primary_columns();
        let plain = |lookup| Some(Search { lookup, rest: Vec::new() });
        if let Some((column, values)) = keys {
            let is_key =
                equal.is_empty() && rest.is_empty() && key[..] == [column] && values.len() <= KEYS_MAX;
            return is_key.then_some(()).and_then(|()| plain(Lookup::Keys(values)));
        }
        if key.is_empty() {
            return None;
        }
        let has_all =
            |columns: &[usize]| columns.iter().all(|column| equal.iter().any(|(of, _)| of == column));
        let index = match has_all(key) {
            true => None,
            false => self.unique_indexes().find(|index| has_all(index.columns())),
        };
        let columns = match &index {
            Some(index) => index.columns().to_vec(),
            None if has_all(key) => key.to_vec(),
            None if rest.is_empty() && !self.definition().has_sort_key() => {
                let prefix = key.get(..equal.len()).filter(|prefix| !prefix.is_empty() && has_all(prefix))?;
                let values = taken(&mut equal, prefix);
                return plain(Lookup::Prefix { values, reverse: false, limit: None });
            }
            None => return None,
        };
        let values = taken(&mut equal, &columns);
        let lookup = match index {
            Some(index) => Lookup::Unique(index, values),
            None => Lookup::Key(values),
        };
        rest.extend(
            equal.into_iter().map(|(column, value)| Condition::Compare(column, Compare::Equal, value)),
        );
        Some(Search { lookup, rest })
    }

    /// The range of keys that a condition means, if it says nothing else and nothing depends on the rows: of a table that may have ranges
    /// deleted as such.
    pub(super) fn key_bounds(&self, condition: Option<&Expr>) -> Option<KeyBounds> {
        let is_plain = self.table.indexes().is_empty() && !has_references(self.definition());
        is_plain.then(|| self.bounds(condition)).flatten()
    }

    /// The range of keys that a condition means, if it says nothing else.
    pub(super) fn bounds(&self, condition: Option<&Expr>) -> Option<KeyBounds> {
        let definition = self.definition();
        let is_plain = !definition.has_sort_key() && !definition.primary_columns().is_empty();
        let mut asked = Asked::default();
        if let Some(condition) = condition {
            self.conditions(condition, &mut asked)?;
        }
        let Asked { mut equal, keys: None, rest } = asked else { return None };
        let key = definition.primary_columns();
        let known = key.iter().take_while(|column| equal.iter().any(|(of, _)| of == *column)).count();
        let prefix = taken(&mut equal, &key[..known]);
        if !is_plain || !equal.is_empty() {
            return None;
        }
        let next = key.get(known);
        let bound = |condition: Condition| match condition {
            Condition::Compare(column, compare, value)
                if Some(&column) == next
                    && compare != Compare::NotEqual
                    && is_ordered(definition, column)
                    && value.is_constant() =>
            {
                Some((compare, value))
            }
            _ => None,
        };
        let bounds = rest.into_iter().map(bound).collect::<Option<Vec<_>>>()?;
        let are_ordered = key[..known].iter().all(|column| is_ordered(definition, *column));
        are_ordered.then_some(KeyBounds { prefix, bounds })
    }

    /// The checks of the table, if all are conditions of columns.
    pub(super) fn checks(&self) -> Option<Vec<Condition>> {
        let check = |check: &ambo::Check| self.condition(&parse_expression(&check.expression).ok()?);
        let checks = self.definition().checks.iter().map(check).collect::<Option<Vec<_>>>()?;
        // A row has its number when it is written, which is too late.
        let is_late = |column| self.definition().numbers_itself(column);
        (!checks.iter().any(|check| check.names(&is_late))).then_some(checks)
    }

    fn condition(&self, expr: &Expr) -> Option<Condition> {
        let mut asked = Asked::default();
        self.conditions(expr, &mut asked)?;
        let Asked { equal, keys, rest: mut all } = asked;
        all.extend(
            equal.into_iter().map(|(column, value)| Condition::Compare(column, Compare::Equal, value)),
        );
        all.extend(keys.map(|(column, values)| Condition::In(column, values)));
        Some(Condition::All(all))
    }

    pub(super) fn unique_indexes(&self) -> impl Iterator<Item = Index> {
        let open = |name: String| self.table.index(&name).ok();
        self.table.indexes().into_iter().filter_map(open).filter(Index::is_unique)
    }

    fn conditions(&self, condition: &Expr, asked: &mut Asked) -> Option<()> {
        match condition {
            Expr::Nested(inner) => self.conditions(inner, asked),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.conditions(left, asked)?;
                self.conditions(right, asked)
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                asked.rest.push(Condition::Any(vec![self.condition(left)?, self.condition(right)?]));
                Some(())
            }
            _ if let Some((column, most)) = length_limit(condition) => {
                let column = self.column(&[&column])?;
                let is_text = self.definition().columns[column].kind == Type::Utf8;
                is_text.then(|| asked.rest.push(Condition::NotLonger(column, most)))
            }
            Expr::BinaryOp { left, op, right } => {
                let compare = comparison(op)?;
                let (column, compare, value) = match (self.expression(left)?, self.expression(right)?) {
                    (Expression::Column(column), value) => (column, compare, value),
                    (value, Expression::Column(column)) => (column, compare.turned(), value),
                    _ => return None,
                };
                let is_known = asked.equal.iter().any(|(known, _)| *known == column);
                match compare == Compare::Equal && value.is_constant() && !is_known {
                    true => asked.equal.push((column, value)),
                    false => asked.rest.push(Condition::Compare(column, compare, value)),
                }
                Some(())
            }
            Expr::Between { expr, negated: false, low, high } => {
                let Expression::Column(column) = self.expression(expr)? else { return None };
                let (low, high) = (self.expression(low)?, self.expression(high)?);
                asked.rest.push(Condition::Compare(column, Compare::GreaterEqual, low));
                asked.rest.push(Condition::Compare(column, Compare::LessEqual, high));
                Some(())
            }
            Expr::InList { expr, list, negated: false } => {
                let Expression::Column(column) = self.expression(expr)? else { return None };
                let values = list.iter().map(|item| self.constant(item)).collect::<Option<_>>()?;
                match asked.keys.is_none() && self.definition().primary_columns()[..] == [column] {
                    true => asked.keys = Some((column, values)),
                    false => asked.rest.push(Condition::In(column, values)),
                }
                Some(())
            }
            Expr::IsNull(of) | Expr::IsNotNull(of) => {
                let Expression::Column(column) = self.expression(of)? else { return None };
                asked.rest.push(match condition {
                    Expr::IsNull(_) => Condition::IsNull(column),
                    _ => Condition::IsNotNull(column),
                });
                Some(())
            }
            _ => None,
        }
    }
}

/// Whether values of a column compare in SQL as they are stored. Those of floating point have two zeros, and what is no number.
pub(super) fn is_ordered(definition: &TableDefinition, column: usize) -> bool {
    !matches!(definition.columns[column].kind, Type::F32 | Type::F64)
}

/// The parts of a condition that all have to hold.
#[derive(Default)]
struct Asked {
    /// Columns that are equal to constants, each once.
    equal: Vec<(usize, Expression)>,
    /// A column that is in a list.
    keys: Option<(usize, Vec<Expression>)>,
    rest: Vec<Condition>,
}

/// Takes the values of columns, which are all there, out of a list.
fn taken(equal: &mut Vec<(usize, Expression)>, columns: &[usize]) -> Vec<Expression> {
    let take = |column: &usize| {
        let place = equal.iter().position(|(known, _)| known == column).expect("it is there");
        equal.swap_remove(place).1
    };
    columns.iter().map(take).collect()
}

fn comparison(op: &BinaryOperator) -> Option<Compare> {
    Some(match op {
        BinaryOperator::Eq => Compare::Equal,
        BinaryOperator::NotEq => Compare::NotEqual,
        BinaryOperator::Lt => Compare::Less,
        BinaryOperator::LtEq => Compare::LessEqual,
        BinaryOperator::Gt => Compare::Greater,
        BinaryOperator::GtEq => Compare::GreaterEqual,
        _ => return None,
    })
}
