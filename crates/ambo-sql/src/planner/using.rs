//! Columns that two sides of a join have in common by USING: a query has them once, in front of the others, with the value of the side that has
//! one (SQL:2016 part 2, 7.10). The planner takes that of one side, whichever it is that has none in an outer join.
//!
//! So `*` is written out: `a JOIN b USING (id)` becomes `a.id, a.* EXCLUDE (id), b.* EXCLUDE (id)`; and where the common column is not the one
//! on the left, its name alone becomes what it means: `coalesce(a.id, b.id)`. Joins whose columns cannot be told without the schema
//! (NATURAL, or USING behind a join that is none) are left to the planner.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::{
    ast::{
        self, ExcludeSelectItem, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, ObjectName,
        ObjectNamePart, OrderByKind, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
        TableFactor, TableWithJoins, VisitMut, VisitorMut, WildcardAdditionalOptions,
    },
    parser::Parser,
};

use crate::{names::ident, parse::DIALECT};

/// Says what a query means by columns that are in common.
pub(super) fn say_common_columns(query: &mut ast::Query) {
    let order_by = query.order_by.as_mut().map(|order_by| &mut order_by.kind);
    in_body(&mut query.body, order_by);
}

fn in_body(body: &mut SetExpr, order_by: Option<&mut OrderByKind>) {
    match body {
        SetExpr::Select(select) => {
            if let Some(parts) = parts_of(&select.from) {
                in_select(select, &parts, order_by);
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            in_body(left, None);
            in_body(right, None);
        }
        _ => {}
    }
}

/// A part of what `*` means.
enum Part {
    /// A column that is in common. `is_left`: it is the one that the planner takes.
    Common { name: Ident, expr: Box<Expr>, is_left: bool },
    /// The columns of a table without these.
    Rest { table: ObjectName, without: Vec<Ident> },
}

/// The parts of what `*` means, if there is a column in common and all can be told.
fn parts_of(from: &[TableWithJoins]) -> Option<Vec<Part>> {
    let mut all = Vec::new();
    for relation in from {
        let mut parts = vec![rest_of(&relation.relation)?];
        for join in &relation.joins {
            let constraint = constraint_of(&join.join_operator)?;
            let mut right = rest_of(&join.relation)?;
            let JoinConstraint::Using(names) = constraint else {
                parts.push(right);
                continue;
            };
            let mut common = Vec::new();
            for name in names {
                let [ObjectNamePart::Identifier(name)] = &name.0[..] else { return None };
                common.push(common_column(name, &mut parts, &mut right, &join.join_operator)?);
            }
            parts.splice(0..0, common);
            parts.push(right);
        }
        all.extend(parts);
    }
    all.iter().any(|part| matches!(part, Part::Common { .. })).then_some(all)
}

/// What two sides are joined by; `None` for joins of other kinds.
fn constraint_of(join: &JoinOperator) -> Option<&JoinConstraint> {
    use JoinOperator as J;
    match join {
        J::Join(of)
        | J::Inner(of)
        | J::Left(of)
        | J::LeftOuter(of)
        | J::Right(of)
        | J::RightOuter(of)
        | J::FullOuter(of)
        | J::CrossJoin(of) => (!matches!(of, JoinConstraint::Natural)).then_some(of),
        _ => None,
    }
}

/// All columns of a table that has a name.
fn rest_of(factor: &TableFactor) -> Option<Part> {
    let table = match factor {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            ObjectName::from(alias.name.clone())
        }
        TableFactor::Table { name, args: None, .. } => name.clone(),
        _ => return None,
    };
    Some(Part::Rest { table, without: Vec::new() })
}

/// A column that is in common, which is then no other column of either side.
fn common_column(name: &Ident, left: &mut Vec<Part>, right: &mut Part, join: &JoinOperator) -> Option<Part> {
    let is_it = |part: &Part| matches!(part, Part::Common { name: known, .. } if ident(known) == ident(name));
    let (of_left, was_left) = match left.iter().position(is_it) {
        Some(place) => match left.remove(place) {
            Part::Common { expr, is_left, .. } => (*expr, is_left),
            Part::Rest { .. } => return None,
        },
        None => {
            let mut tables = left.iter_mut().filter(|part| matches!(part, Part::Rest { .. }));
            match (tables.next(), tables.next()) {
                (Some(only), None) => (taken(only, name)?, true),
                // Which of them has it?
                _ => return None,
            }
        }
    };
    let of_right = taken(right, name)?;
    use JoinOperator as J;
    let (expr, is_left) = match join {
        J::Right(_) | J::RightOuter(_) => (of_right, false),
        J::FullOuter(_) => {
            let text = format!("coalesce({of_left}, {of_right})");
            (Parser::new(&DIALECT).try_with_sql(&text).ok()?.parse_expr().ok()?, false)
        }
        _ => (of_left, was_left),
    };
    Some(Part::Common { name: name.clone(), expr: Box::new(expr), is_left })
}

/// The column of a table, which is not among its rest then.
fn taken(table: &mut Part, name: &Ident) -> Option<Expr> {
    let Part::Rest { table, without } = table else { return None };
    without.push(name.clone());
    let parts = table.0.iter().map(|part| part.as_ident().cloned());
    Some(Expr::CompoundIdentifier(parts.chain([Some(name.clone())]).collect::<Option<_>>()?))
}

fn in_select(select: &mut Select, parts: &[Part], order_by: Option<&mut OrderByKind>) {
    let unlike = |part: &Part| match part {
        Part::Common { name, expr, is_left: false } => Some((ident(name), (**expr).clone())),
        _ => None,
    };
    let mut meaning = Meaning { of: parts.iter().filter_map(unlike).collect(), depth: 0 };
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
            _ => {}
        }
        items.push(item);
    }
    if !meaning.of.is_empty() {
        meaning.say(&mut select.selection);
        meaning.say(&mut select.having);
        if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
            meaning.say(exprs);
        }
        if let Some(OrderByKind::Expressions(exprs)) = order_by {
            // A column of the result comes first.
            meaning.of.retain(|(known, _)| !items.iter().any(|item| named(item).as_ref() == Some(known)));
            meaning.say(exprs);
        }
    }
    select.projection = items;
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
        Part::Rest { table, without } => {
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

/// What names of columns mean, outside of queries within, which may have columns of those names themselves.
struct Meaning {
    of: Vec<(String, Expr)>,
    depth: usize,
}

impl Meaning {
    fn get(&self, name: &Ident) -> Option<&Expr> {
        let name = ident(name);
        self.of.iter().find(|(known, _)| *known == name).map(|(_, expr)| expr)
    }

    fn say(&mut self, tree: &mut impl VisitMut) {
        let _ = tree.visit(self);
    }
}

impl VisitorMut for Meaning {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Identifier(name) = expr
            && let Some(meant) = self.get(name)
        {
            *expr = meant.clone();
        }
        ControlFlow::Continue(())
    }
}
