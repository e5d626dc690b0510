//! Columns that two sides of a join have in common by USING: a query has them once, in front of the others, with the value of the side that
//! has one (SQL:2016 part 2, 7.10). The planner takes that of one side, whichever it is that has none in an outer join.
//!
//! So `*` is written out: `a JOIN b USING (id)` becomes `a.id, a.* EXCLUDE (id), b.* EXCLUDE (id)`; and where the common column is not the
//! one on the left, its name alone becomes what it means: `coalesce(a.id, b.id)`, in the condition of a further join, too. NATURAL is USING
//! with all columns that both sides have. Joins of which the columns cannot be told (a table without a name among them) are left to the
//! planner, unless it would take the wrong side.

use datafusion::sql::sqlparser::{
    ast::{
        self, BinaryOperator, ExcludeSelectItem, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator,
        ObjectName, ObjectNamePart, OrderByKind, Select, SelectItem, SelectItemQualifiedWildcardKind,
        SetExpr, TableFactor, TableWithJoins, WildcardAdditionalOptions,
    },
    parser::Parser,
};

use super::{
    asof::{condition, is_asof},
    common_meaning::{Meaning, Meant},
    row_value::compared,
    trees,
};
use crate::{Error, Result, names::ident, parse::DIALECT, statement::table_alias};

/// Says which columns a table of FROM has; `None` if it cannot be told.
pub(super) type Known<'a> = dyn Fn(&TableFactor) -> Option<Vec<String>> + 'a;

/// Says what a query means by columns that are in common. Returns what `*` means in each of its SELECTs, where there are such columns.
pub(super) fn say_common_columns(query: &mut ast::Query, known: &Known<'_>) -> Result<Vec<Option<Common>>> {
    let mut all = Vec::new();
    let order_by = query.order_by.as_mut().map(|order_by| &mut order_by.kind);
    in_body(&mut query.body, order_by, known, &mut all)?;
    Ok(all)
}

fn in_body(
    body: &mut SetExpr,
    order_by: Option<&mut OrderByKind>,
    known: &Known<'_>,
    all: &mut Vec<Option<Common>>,
) -> Result<()> {
    match body {
        SetExpr::Select(select) => {
            let mut common = None;
            if has_common_columns(&mut select.from) {
                name_subqueries(&mut select.from);
                match parts_of(&mut select.from, known) {
                    Some(parts) => {
                        in_select(select, &parts, order_by, known);
                        common = Some(Common { parts });
                    }
                    None => refuse_other_side(&select.from)?,
                }
            }
            all.push(common);
            Ok(())
        }
        SetExpr::SetOperation { left, right, .. } => {
            in_body(left, None, known, all)?;
            in_body(right, None, known, all)
        }
        _ => Ok(()),
    }
}

/// What `*` means where there are columns in common.
pub(super) struct Common {
    parts: Vec<Part>,
}

impl Common {
    /// The columns, of those of all tables with their tables.
    pub(super) fn columns(&self, all: &[(Expr, String)]) -> Vec<(Expr, String)> {
        let of = |part: &Part| match part {
            Part::Common { name, expr, .. } => vec![((**expr).clone(), ident(name))],
            Part::Rest { table, without, .. } => {
                let is_there =
                    |name: &String| !without.iter().any(|without| ident(without).eq_ignore_ascii_case(name));
                let of_table = all.iter().filter(|(expr, name)| is_of(expr, table) && is_there(name));
                of_table.cloned().collect()
            }
        };
        self.parts.iter().flat_map(of).collect()
    }
}

/// Whether a column is one of a table.
pub(super) fn is_of(column: &Expr, table: &ObjectName) -> bool {
    let Expr::CompoundIdentifier(parts) = column else { return false };
    let wanted = table.0.iter().rev().map(|part| part.as_ident().map(ident));
    let own = parts[..parts.len() - 1].iter().rev().map(|part| Some(part.value.clone()));
    wanted.zip(own).all(|(wanted, own)| wanted == own)
}

fn has_common_columns(from: &mut [TableWithJoins]) -> bool {
    let mut joins = from.iter_mut().flat_map(|relation| &mut relation.joins);
    joins.any(|join| {
        let constraint = constraint_of(&mut join.join_operator);
        matches!(constraint, Some(JoinConstraint::Using(_) | JoinConstraint::Natural))
    })
}

/// Names subqueries that have no name, so that their columns can be told from others.
fn name_subqueries(from: &mut [TableWithJoins]) {
    let factors = from.iter_mut().flat_map(|relation| {
        let joined = relation.joins.iter_mut().map(|join| &mut join.relation);
        std::iter::once(&mut relation.relation).chain(joined)
    });
    let mut named = 0;
    for factor in factors {
        if let TableFactor::Derived { alias: alias @ None, .. } = factor {
            named += 1;
            let number = if named == 1 { String::new() } else { named.to_string() };
            *alias = Some(table_alias(&format!("unnamed_subquery{number}")));
        }
    }
}

/// The planner takes the columns of the left side, which are NULL for rows that only the right side has.
fn refuse_other_side(from: &[TableWithJoins]) -> Result<()> {
    use JoinConstraint::{Natural, Using};
    use JoinOperator as J;
    for join in from.iter().flat_map(|relation| &relation.joins) {
        let is_asof = constraint_of(&mut join.join_operator.clone()).is_some_and(|of| is_asof(of));
        if is_asof {
            return Err(Error::invalid("ASOF JOIN … USING: which columns do the tables have?")
                .with_hint("give each table, query and function in FROM a name with AS, or join with ON"));
        }
        if let J::Right(Using(_) | Natural)
        | J::RightOuter(Using(_) | Natural)
        | J::FullOuter(Using(_) | Natural) = &join.join_operator
        {
            return Err(Error::invalid(format!(
                "which columns do the tables have that are joined by \"{}\"?",
                join.to_string().trim()
            ))
            .with_hint("give each table, query and function in FROM a name with AS, or join with ON"));
        }
    }
    Ok(())
}

/// A part of what `*` means.
enum Part {
    /// A column that is in common. `is_left`: it is the one that the planner takes.
    Common { name: Ident, expr: Box<Expr>, is_left: bool },
    /// The columns of a table without these. `columns` are its own, if they can be told.
    Rest { table: ObjectName, without: Vec<Ident>, columns: Option<Vec<String>> },
}

impl Part {
    /// Whether it has a column of that name; `None` if that cannot be told.
    fn has(&self, wanted: &str) -> Option<bool> {
        match self {
            Self::Common { name, .. } => Some(ident(name) == wanted),
            Self::Rest { without, .. } if without.iter().any(|name| ident(name) == wanted) => Some(false),
            Self::Rest { columns, .. } => Some(columns.as_ref()?.iter().any(|name| name == wanted)),
        }
    }
}

/// The parts of what `*` means, if there is a column in common and all can be told.
fn parts_of(from: &mut [TableWithJoins], known: &Known<'_>) -> Option<Vec<Part>> {
    let mut all = Vec::new();
    let given = from.to_vec();
    for (nth, relation) in from.iter_mut().enumerate() {
        let mut parts = vec![rest_of(&relation.relation, given[..nth].to_vec(), known)?];
        for (place, join) in relation.joins.iter_mut().enumerate() {
            let TableWithJoins { relation, joins } = &given[nth];
            let around = TableWithJoins { relation: relation.clone(), joins: joins[..place].to_vec() };
            let before = given[..nth].iter().cloned().chain([around]).collect();
            let mut right = rest_of(&join.relation, before, known)?;
            let constraint = constraint_of(&mut join.join_operator)?;
            if matches!(constraint, JoinConstraint::Natural) {
                *constraint = natural(&parts, &right)?;
            }
            let names = match constraint {
                JoinConstraint::Using(names) => names,
                other => {
                    if let JoinConstraint::On(condition) = other {
                        let mut meaning = Meaning::of_condition(meant(&parts), known);
                        meaning.forget(|name| right.has(name) != Some(false));
                        meaning.say(condition);
                    }
                    parts.push(right);
                    continue;
                }
            };
            let names: Vec<_> = names
                .iter()
                .map(|name| match &name.0[..] {
                    [ObjectNamePart::Identifier(name)] => Some(name.clone()),
                    _ => None,
                })
                .collect::<Option<_>>()?;
            let common = common_columns(&names, &mut parts, &mut right, &mut join.join_operator)?;
            parts.splice(0..0, common);
            parts.push(right);
        }
        all.extend(parts);
    }
    Some(all)
}

/// USING with the columns that both sides have, in the order of the left side.
fn natural(left: &[Part], right: &Part) -> Option<JoinConstraint> {
    let mut names = Vec::new();
    for part in left {
        match part {
            Part::Common { name, .. } => names.push(name.clone()),
            Part::Rest { columns, .. } => {
                let columns = columns.as_ref()?.iter().filter(|name| part.has(name) == Some(true));
                names.extend(columns.map(|name| Ident::with_quote('"', name)));
            }
        }
    }
    let mut common = Vec::new();
    for name in names {
        if right.has(&ident(&name))? {
            common.push(name);
        }
    }
    Some(match common.is_empty() {
        true => JoinConstraint::On(Expr::value(ast::Value::Boolean(true))),
        false => JoinConstraint::Using(common.into_iter().map(ObjectName::from).collect()),
    })
}

/// What two sides are joined by; `None` for joins of other kinds.
fn constraint_of(join: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    use JoinOperator as J;
    match join {
        J::Join(of)
        | J::Inner(of)
        | J::Left(of)
        | J::LeftOuter(of)
        | J::Right(of)
        | J::RightOuter(of)
        | J::FullOuter(of)
        | J::CrossJoin(of) => Some(of),
        _ => None,
    }
}

/// What two sides are joined by, whichever rows of them are in the result.
pub(super) fn constraint_of_any(join: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    use JoinOperator as J;
    match join {
        J::Semi(of)
        | J::LeftSemi(of)
        | J::RightSemi(of)
        | J::Anti(of)
        | J::LeftAnti(of)
        | J::RightAnti(of) => Some(of),
        other => constraint_of(other),
    }
}

/// All columns of a table that has a name, and that may name those before it.
fn rest_of(factor: &TableFactor, before: Vec<TableWithJoins>, known: &Known<'_>) -> Option<Part> {
    let table = match factor {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            ObjectName::from(alias.name.clone())
        }
        TableFactor::Table { name, args: None, .. } => name.clone(),
        _ => return None,
    };
    let columns = known(factor).or_else(|| beside(factor, before, &table, known));
    Some(Part::Rest { table, without: Vec::new(), columns })
}

/// The columns of a table that names those before it.
fn beside(
    factor: &TableFactor,
    mut before: Vec<TableWithJoins>,
    table: &ObjectName,
    known: &Known<'_>,
) -> Option<Vec<String>> {
    if before.is_empty() || !matches!(factor, TableFactor::Derived { .. }) {
        return None;
    }
    let mut query = trees::query("SELECT * FROM it");
    let select = trees::select(&mut query);
    select.projection = vec![SelectItem::QualifiedWildcard(
        SelectItemQualifiedWildcardKind::ObjectName(table.clone()),
        WildcardAdditionalOptions::default(),
    )];
    before.push(TableWithJoins { relation: factor.clone(), joins: Vec::new() });
    select.from = before;
    known(&TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(table_alias("beside")),
        sample: None,
    })
}

/// Columns that are in common, which are then no other columns of either side.
fn common_columns(
    names: &[Ident],
    left: &mut Vec<Part>,
    right: &mut Part,
    join: &mut JoinOperator,
) -> Option<Vec<Part>> {
    let mut common = Vec::new();
    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
    let is_asof = constraint_of(join).is_some_and(|constraint| is_asof(constraint));
    let mut is_as_planned = !is_asof;
    for name in names.iter().skip(usize::from(is_asof)) {
        let (of_left, was_left) = taken_of(left, name)?;
        let of_right = taken(right, name)?;
        is_as_planned &= was_left;
        lefts.push(of_left.clone());
        rights.push(of_right.clone());
        use JoinOperator as J;
        let (expr, is_left) = match join {
            J::Right(_) | J::RightOuter(_) => (of_right, false),
            J::FullOuter(_) => {
                let text = format!("coalesce({of_left}, {of_right})");
                (Parser::new(&DIALECT).try_with_sql(&text).ok()?.parse_expr().ok()?, false)
            }
            _ => (of_left, was_left),
        };
        common.push(Part::Common { name: name.clone(), expr: Box::new(expr), is_left });
    }
    if !is_as_planned {
        // The planner would join by the column on the left alone.
        let condition = match is_asof {
            true => condition(&lefts, &rights)?,
            false => compared(&lefts, &BinaryOperator::Eq, &rights)?,
        };
        *constraint_of(join)? = JoinConstraint::On(condition);
        for part in &mut common {
            if let Part::Common { is_left, .. } = part {
                *is_left = false;
            }
        }
    }
    Some(common)
}

/// The column of that name on the left side of a join, and whether it is the one that the planner takes.
fn taken_of(left: &mut Vec<Part>, name: &Ident) -> Option<(Expr, bool)> {
    let wanted = ident(name);
    let is_common = |part: &Part| matches!(part, Part::Common { name, .. } if ident(name) == wanted);
    if let Some(place) = left.iter().position(is_common) {
        return match left.remove(place) {
            // Of three columns the planner does not know which are in common.
            Part::Common { expr, .. } => Some((*expr, false)),
            Part::Rest { .. } => None,
        };
    }
    let is_alone = left.iter().filter(|part| matches!(part, Part::Rest { .. })).count() == 1;
    let mut tables = Vec::new();
    for part in left {
        let is_it = matches!(part, Part::Rest { .. }) && (is_alone || part.has(&wanted)?);
        tables.extend(is_it.then_some(part));
    }
    match &mut tables[..] {
        [only] => Some((taken(only, name)?, true)),
        // Which of them?
        _ => None,
    }
}

/// The column of a table, which is not among its rest then.
fn taken(table: &mut Part, name: &Ident) -> Option<Expr> {
    let Part::Rest { table, without, .. } = table else { return None };
    without.push(name.clone());
    let parts = table.0.iter().map(|part| part.as_ident().cloned());
    Some(Expr::CompoundIdentifier(parts.chain([Some(name.clone())]).collect::<Option<_>>()?))
}

fn in_select(select: &mut Select, parts: &[Part], order_by: Option<&mut OrderByKind>, known: &Known<'_>) {
    Meaning::of_condition(meant(parts), known).say(&mut select.selection);
    let mut meaning = Meaning::new(meant(parts), known);
    let mut items = Vec::new();
    for mut item in std::mem::take(&mut select.projection) {
        match &mut item {
            SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                items.extend(parts.iter().map(written_out));
                continue;
            }
            SelectItem::UnnamedExpr(Expr::Identifier(name)) if meaning.get(name).is_some() => {
                let expr = meaning.get(name).cloned().unwrap_or_else(|| Expr::Identifier(name.clone()));
                item = SelectItem::ExprWithAlias { expr, alias: name.clone() };
            }
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => meaning.say(expr),
            // What is there instead of a column.
            SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => meaning.say(options),
            SelectItem::ExprWithAliases { .. } => {}
        }
        items.push(item);
    }
    meaning.say(&mut select.having);
    if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
        meaning.say(exprs);
    }
    if let Some(OrderByKind::Expressions(exprs)) = order_by {
        // A column of the result comes first.
        meaning.forget(|known| items.iter().any(|item| named(item).is_some_and(|name| name == known)));
        meaning.say(exprs);
    }
    select.projection = items;
}

/// What the columns in common mean.
fn meant(parts: &[Part]) -> Vec<Meant> {
    let meant = |part: &Part| match part {
        Part::Common { name, expr, is_left } => {
            Some(Meant { name: ident(name), expr: expr.as_ref().clone(), is_found: *is_left })
        }
        Part::Rest { .. } => None,
    };
    parts.iter().filter_map(meant).collect()
}

/// What a column of the result is called, if that is said.
fn named(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(ident(alias)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(ident),
        _ => None,
    }
}

fn written_out(part: &Part) -> SelectItem {
    match part {
        Part::Common { name, expr, .. } => match (**expr).clone() {
            // So it keeps its table, by which it may be called behind the list.
            column @ Expr::CompoundIdentifier(_) => SelectItem::UnnamedExpr(column),
            expr => SelectItem::ExprWithAlias { expr, alias: name.clone() },
        },
        Part::Rest { table, without, .. } => {
            let names = without.iter().cloned().map(ObjectName::from).collect::<Vec<_>>();
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(table.clone()),
                WildcardAdditionalOptions {
                    opt_exclude: (!names.is_empty()).then_some(ExcludeSelectItem::Multiple(names)),
                    ..WildcardAdditionalOptions::default()
                },
            )
        }
    }
}
