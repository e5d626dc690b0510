//! `time_bucket_gapfill(width, moment)` in GROUP BY: rows also for the buckets that have none, within the bounds of WHERE or those that are
//! its third and fourth argument. `locf(x)` has the last x before where there is none, `interpolate(x)` a line between those around.
//!
//! `SELECT time_bucket_gapfill('1 hour', t) AS h, k, locf(avg(x)) FROM r WHERE t >= a AND t < b GROUP BY h, k` is a query of
//!
//! * *made*: `SELECT time_bucket('1 hour', t) AS b, k AS k0, avg(x) AS a0 FROM r WHERE … GROUP BY 1, 2`, the rows that there are;
//! * *grid*: each bucket of the bounds with each k that there is, and what *made* has beside it;
//! * both joined, over which the rest of the list is computed: what is no group is NULL where there is a gap.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, Function, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem,
    SetExpr, TableFactor, Value, Visitor, VisitorMut,
};

use super::{
    ask::Ask,
    trees::{self, arguments, column, named},
};
use crate::{
    Error, Result,
    names::{ident, written},
    walk::{Walk, WalkMut},
};

/// What it is called.
const GAPFILL: &str = "time_bucket_gapfill";

/// Says what such queries mean.
///
/// # Errors
/// There are no bounds, or it stands where there are no groups.
pub(super) fn say_gaps(tree: &mut (impl Walk + WalkMut), ask: &Ask<'_>) -> Result<()> {
    struct Saying<'a>(&'a Ask<'a>);
    impl VisitorMut for Saying<'_> {
        type Break = Error;
        fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
            say(query, self.0).map_or_else(ControlFlow::Break, ControlFlow::Continue)
        }
    }
    if !has_gaps(&*tree) {
        return Ok(());
    }
    match tree.walk_mut(&mut Saying(ask)) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn has_gaps(tree: &impl Walk) -> bool {
    struct Finding;
    impl Visitor for Finding {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match call_of(expr) {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        }
    }
    tree.walk(&mut Finding).is_break()
}

/// The call, if an expression is one.
fn call_of(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(function) if written(&function.name).is_ok_and(|name| name == GAPFILL) => {
            Some(function)
        }
        Expr::Nested(inner) => call_of(inner),
        _ => None,
    }
}

fn invalid<T>(what: &str) -> Result<T> {
    Err(Error::invalid(format!("{GAPFILL}: {what}")).with_hint(
        "SELECT time_bucket_gapfill('1 hour', t) AS h, avg(x) FROM r WHERE t >= … AND t < … GROUP BY h ORDER BY h",
    ))
}

fn say(query: &mut Query, ask: &Ask<'_>) -> Result<()> {
    let with = query.with.clone();
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
    let of_list = |item: &SelectItem| expr_of(item).is_some_and(has_gaps);
    let of_groups = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.iter().any(has_gaps));
    if !select.projection.iter().any(of_list) && !of_groups {
        return Ok(());
    }
    if select.distinct.is_some() || select.qualify.is_some() || !select.named_window.is_empty() {
        return invalid("DISTINCT, QUALIFY and WINDOW do not stand beside it");
    }
    let mut filling = Filling::of(select, ask)?;
    let names: Vec<_> = select.projection.iter().map(name_of).collect();
    let mut items = Vec::with_capacity(names.len());
    for (item, name) in select.projection.iter().zip(names) {
        let Some(expr) = expr_of(item) else {
            return invalid("the list of columns is written out, and not *");
        };
        items.push(named(filling.outside(expr), &name));
    }
    if let Some(ast::OrderBy { kind: OrderByKind::Expressions(by), .. }) = &mut query.order_by {
        for by in by {
            by.expr = filling.outside(&by.expr);
        }
    }
    let filled = filling.query(select, with, ask)?;
    let mut outer = trees::query("SELECT 1 FROM (SELECT 1) AS filled");
    let around = trees::select(&mut outer);
    around.projection = items;
    if let TableFactor::Derived { subquery, .. } = &mut around.from[0].relation {
        **subquery = filled;
    }
    query.body = outer.body;
    Ok(())
}

fn expr_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// What a column of the list is called.
fn name_of(item: &SelectItem) -> String {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => ident(alias),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => ident(name),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().map(ident).unwrap_or_default()
        }
        item => item.to_string(),
    }
}

/// The bucket, the groups beside it, and the aggregates that are asked for.
struct Filling<'a> {
    call: Expr,
    width: Expr,
    moment: Expr,
    start: Expr,
    finish: Expr,
    /// Whether the last bucket may begin at the end.
    is_closed: bool,
    groups: Vec<Expr>,
    aggregates: Vec<Expr>,
    ask: &'a Ask<'a>,
}

impl<'a> Filling<'a> {
    fn of(select: &Select, ask: &'a Ask<'a>) -> Result<Self> {
        let mut groups = groups_of(select, ask)?;
        let Some(at) = groups.iter().position(|group| call_of(group).is_some()) else {
            return invalid("it is one of the groups of a query with GROUP BY");
        };
        let call = groups.remove(at);
        let given = call_of(&call).and_then(arguments).unwrap_or_default();
        let given: Vec<Expr> = given.into_iter().cloned().collect();
        let mut bounds = Bounds::default();
        let (width, moment) = match &given[..] {
            [width, moment] => {
                if let Some(condition) = &select.selection {
                    bounds.look(condition, moment);
                }
                (width, moment)
            }
            [width, moment, start, finish] => {
                bounds =
                    Bounds { start: Some(start.clone()), finish: Some(finish.clone()), is_closed: false };
                (width, moment)
            }
            _ => return invalid("it takes a width and a moment, and perhaps a start and an end"),
        };
        let (Some(start), Some(finish)) = (bounds.start, bounds.finish) else {
            return invalid("it is not said where it begins and ends");
        };
        let (width, moment, is_closed) = (width.clone(), moment.clone(), bounds.is_closed);
        Ok(Self { call, width, moment, start, finish, is_closed, groups, aggregates: Vec::new(), ask })
    }

    /// An expression of the list over the rows that are filled.
    fn outside(&mut self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        let _ = expr.walk_mut(&mut Outside(self));
        expr
    }

    /// What one expression becomes, if it is more than its parts.
    fn replaced(&mut self, expr: &Expr) -> Option<Expr> {
        if call_of(expr).is_some() || *expr == self.call {
            return Some(column(BUCKET));
        }
        if let Some(nth) = self.groups.iter().position(|group| group == expr) {
            return Some(column(&group(nth)));
        }
        let Expr::Function(function) = expr else { return None };
        let name = written(&function.name).ok()?;
        if function.over.is_some() {
            return None;
        }
        if let ("locf" | "interpolate", Some(&[of])) = (name.as_str(), arguments(function).as_deref()) {
            let of = self.outside(of);
            return Some(self.over_rows(&name, &of));
        }
        if !self.ask.is_aggregate(&name) {
            return None;
        }
        let nth = match self.aggregates.iter().position(|known| known == expr) {
            Some(nth) => nth,
            None => {
                self.aggregates.push(expr.clone());
                self.aggregates.len() - 1
            }
        };
        Some(column(&aggregate(nth)))
    }

    /// `locf` and `interpolate` as windows.
    fn over_rows(&self, name: &str, of: &Expr) -> Expr {
        let keys: Vec<_> = (0..self.groups.len()).map(|nth| format!("\"{}\"", group(nth))).collect();
        let by = if keys.is_empty() { String::new() } else { format!("PARTITION BY {}", keys.join(", ")) };
        let before =
            format!("OVER ({by} ORDER BY \"{BUCKET}\" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)");
        let behind =
            format!("OVER ({by} ORDER BY \"{BUCKET}\" ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)");
        let last = format!("last_value(\"{VALUE}\") IGNORE NULLS {before}");
        let text = match name {
            "locf" => last,
            _ => {
                let next = format!("first_value(\"{VALUE}\") IGNORE NULLS {behind}");
                let at = format!("CASE WHEN \"{VALUE}\" IS NOT NULL THEN epoch(\"{BUCKET}\") END");
                let last_at = format!("last_value({at}) IGNORE NULLS {before}");
                let next_at = format!("first_value({at}) IGNORE NULLS {behind}");
                format!(
                    "CASE WHEN \"{VALUE}\" IS NOT NULL THEN \"{VALUE}\" ELSE {last} + ({next} - {last}) * (epoch(\"{BUCKET}\") - \
                     {last_at}) / ({next_at} - {last_at}) END"
                )
            }
        };
        let mut made = trees::expr(&text);
        let _ = made.walk_mut(&mut InPlace { name: VALUE, by: of });
        Expr::Nested(Box::new(made))
    }

    /// The rows that there are, and those of the gaps.
    fn query(&self, select: &Select, with: Option<ast::With>, ask: &Ask<'_>) -> Result<Query> {
        let mut made = select.clone();
        let mut bucket = trees::expr("time_bucket(1, 2)");
        if let Expr::Function(function) = &mut bucket {
            trees::set_argument(function, 0, self.width.clone());
            trees::set_argument(function, 1, self.moment.clone());
        }
        let groups = self.groups.iter().enumerate().map(|(nth, of)| named(of.clone(), &group(nth)));
        let aggregates =
            self.aggregates.iter().enumerate().map(|(nth, of)| named(of.clone(), &aggregate(nth)));
        made.projection =
            std::iter::once(named(bucket.clone(), BUCKET)).chain(groups).chain(aggregates).collect();
        made.group_by = GroupByExpr::Expressions(
            std::iter::once(bucket).chain(self.groups.iter().cloned()).collect(),
            Vec::new(),
        );
        let ty = self.type_of(select, with, ask);
        let keys: Vec<_> = (0..self.groups.len()).map(|nth| format!("\"{}\"", group(nth))).collect();
        let values = (0..self.aggregates.len()).map(|nth| format!(", made.\"{}\"", aggregate(nth)));
        let list = |table: &str| keys.iter().map(|key| format!(", {table}.{key}")).collect::<String>();
        let on = keys.iter().map(|key| format!(" AND made.{key} IS NOT DISTINCT FROM grid.{key}"));
        let of_keys = match keys.is_empty() {
            true => "(SELECT 1)".to_owned(),
            false => format!("(SELECT DISTINCT {} FROM made)", keys.join(", ")),
        };
        let until = if self.is_closed { "<=" } else { "<" };
        let text = format!(
            "WITH made AS (SELECT 1) SELECT grid.\"{BUCKET}\"{list}{values} FROM (SELECT series.\"{BUCKET}\"{keys} FROM (SELECT \
             CAST(unnest(generate_series(time_bucket(CAST(\"{WIDTH}\" AS INTERVAL), CAST(\"{START}\" AS {ty})), CAST(\"{FINISH}\" AS {ty}), \
             CAST(\"{WIDTH}\" AS INTERVAL))) AS {ty}) AS \"{BUCKET}\") AS series CROSS JOIN {of_keys} AS keys WHERE series.\"{BUCKET}\" \
             {until} CAST(\"{FINISH}\" AS {ty}) UNION SELECT made.\"{BUCKET}\"{of_made} FROM made) AS grid LEFT JOIN made ON \
             made.\"{BUCKET}\" = grid.\"{BUCKET}\"{on}",
            list = list("grid"),
            values = values.collect::<String>(),
            keys = list("keys"),
            of_made = list("made"),
            on = on.collect::<String>(),
        );
        let mut query = trees::query(&text);
        for (name, by) in [(WIDTH, &self.width), (START, &self.start), (FINISH, &self.finish)] {
            let _ = query.walk_mut(&mut InPlace { name, by });
        }
        if let Some(with) = &mut query.with {
            *with.cte_tables[0].query.body = SetExpr::Select(Box::new(made));
        }
        Ok(query)
    }

    /// The type of the moments, as statements write it.
    fn type_of(&self, select: &Select, with: Option<ast::With>, ask: &Ask<'_>) -> &'static str {
        let mut query = trees::query("SELECT 1");
        let alone = trees::select(&mut query);
        alone.from.clone_from(&select.from);
        alone.projection = vec![named(self.moment.clone(), BUCKET)];
        query.with = with;
        match ask.schema(query).ok().map(|schema| schema.field(0).data_type().clone()) {
            Some(DataType::Date32) => "DATE",
            Some(DataType::Timestamp(_, Some(_))) => "TIMESTAMPTZ",
            _ => "TIMESTAMP",
        }
    }
}

const BUCKET: &str = "bucket of gaps";
const VALUE: &str = "value of gaps";
const WIDTH: &str = "width of gaps";
const START: &str = "start of gaps";
const FINISH: &str = "end of gaps";

fn group(nth: usize) -> String {
    format!("group {nth} of gaps")
}

fn aggregate(nth: usize) -> String {
    format!("aggregate {nth} of gaps")
}

struct Outside<'f, 'a>(&'f mut Filling<'a>);

impl VisitorMut for Outside<'_, '_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(made) = self.0.replaced(expr) {
            *expr = made;
        }
        ControlFlow::Continue(())
    }
}

/// Puts an expression in the place of a column that stands for it.
struct InPlace<'a> {
    name: &'static str,
    by: &'a Expr,
}

impl VisitorMut for InPlace<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Identifier(name) if name.value == self.name) {
            *expr = Expr::Nested(Box::new(self.by.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// What a query groups by, with the expressions that names and numbers of its list stand for.
fn groups_of(select: &Select, ask: &Ask<'_>) -> Result<Vec<Expr>> {
    let of = |item: &SelectItem| expr_of(item).cloned();
    let meant = |by: &Expr| match by {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => {
                let nth = number.to_string().parse::<usize>().ok().and_then(|nth| nth.checked_sub(1));
                nth.and_then(|nth| select.projection.get(nth)).and_then(of)
            }
            _ => None,
        },
        Expr::Identifier(name) => select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if same(alias, name) => Some(expr.clone()),
            _ => None,
        }),
        _ => None,
    };
    match &select.group_by {
        GroupByExpr::Expressions(by, modifiers) if modifiers.is_empty() => {
            Ok(by.iter().map(|by| meant(by).unwrap_or_else(|| by.clone())).collect())
        }
        GroupByExpr::Expressions(..) => invalid("ROLLUP and CUBE do not stand beside it"),
        GroupByExpr::All(_) => {
            let is_group = |expr: &Expr| !has_aggregate(expr, ask);
            Ok(select.projection.iter().filter_map(of).filter(is_group).collect())
        }
    }
}

fn same(one: &Ident, other: &Ident) -> bool {
    ident(one) == ident(other)
}

fn has_aggregate(expr: &Expr, ask: &Ask<'_>) -> bool {
    struct Finding<'a>(&'a Ask<'a>);
    impl Visitor for Finding<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if function.over.is_none()
                        && written(&function.name).is_ok_and(|name| self.0.is_aggregate(&name)) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.walk(&mut Finding(ask)).is_break()
}

/// Where buckets begin and end.
#[derive(Default)]
struct Bounds {
    start: Option<Expr>,
    finish: Option<Expr>,
    is_closed: bool,
}

impl Bounds {
    /// Looks for bounds of a moment in a condition: of several of a kind the first counts.
    fn look(&mut self, condition: &Expr, moment: &Expr) {
        use BinaryOperator as Op;
        match condition {
            Expr::Nested(inner) => self.look(inner, moment),
            Expr::BinaryOp { left, op: Op::And, right } => {
                self.look(left, moment);
                self.look(right, moment);
            }
            Expr::BinaryOp { left, op, right } => {
                let (op, bound) = match () {
                    () if **left == *moment => (op.clone(), right),
                    () if **right == *moment => (turned(op), left),
                    () => return,
                };
                match op {
                    Op::Gt | Op::GtEq => self.begin(bound),
                    Op::Lt => self.end(bound, false),
                    Op::LtEq => self.end(bound, true),
                    _ => {}
                }
            }
            Expr::Between { expr, negated: false, low, high } if **expr == *moment => {
                self.begin(low);
                self.end(high, true);
            }
            _ => {}
        }
    }

    fn begin(&mut self, bound: &Expr) {
        self.start.get_or_insert_with(|| bound.clone());
    }

    fn end(&mut self, bound: &Expr, is_closed: bool) {
        if self.finish.is_none() {
            (self.finish, self.is_closed) = (Some(bound.clone()), is_closed);
        }
    }
}

fn turned(op: &BinaryOperator) -> BinaryOperator {
    use BinaryOperator as Op;
    match op {
        Op::Gt => Op::Lt,
        Op::GtEq => Op::LtEq,
        Op::Lt => Op::Gt,
        Op::LtEq => Op::GtEq,
        other => other.clone(),
    }
}
