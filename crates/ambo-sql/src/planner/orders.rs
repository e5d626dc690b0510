//! Where NULLs stand in an order that does not say, and which way it goes: settings of the session.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArgumentClause, FunctionArguments, NamedWindowExpr, OrderByExpr, OrderByKind,
    OrderByOptions, VisitorMut, WindowType,
};

use crate::walk::WalkMut;

/// Where NULLs stand in an order that does not say.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum NullOrder {
    /// As if they were greater than all values.
    #[default]
    Greatest,
    Least,
    First,
    Last,
}

/// What an order is that does not say.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct DefaultOrder {
    pub nulls: NullOrder,
    pub is_descending: bool,
}

impl NullOrder {
    /// By one of the names that DuckDB knows.
    pub(crate) fn named(text: &str) -> Option<Self> {
        Some(match text.to_lowercase().replace(' ', "_").as_str() {
            "nulls_last_on_asc_first_on_desc" | "postgres" => Self::Greatest,
            "nulls_first_on_asc_last_on_desc" | "sqlite" | "mysql" => Self::Least,
            "nulls_first" | "null_first" | "first" => Self::First,
            "nulls_last" | "null_last" | "last" => Self::Last,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Greatest => "NULLS_LAST_ON_ASC_FIRST_ON_DESC",
            Self::Least => "NULLS_FIRST_ON_ASC_LAST_ON_DESC",
            Self::First => "NULLS_FIRST",
            Self::Last => "NULLS_LAST",
        }
    }

    fn is_first(self, is_ascending: bool) -> bool {
        match self {
            Self::Greatest => !is_ascending,
            Self::Least => is_ascending,
            Self::First => true,
            Self::Last => false,
        }
    }
}

/// Has each order of a tree say what it is.
pub(super) fn say_defaults(tree: &mut impl WalkMut, default: DefaultOrder) {
    if default != DefaultOrder::default() {
        let _ = tree.walk_mut(&mut Say(default));
    }
}

struct Say(DefaultOrder);

impl Say {
    fn options(&self, options: &mut OrderByOptions) {
        let is_ascending = *options.asc.get_or_insert(!self.0.is_descending);
        options.nulls_first.get_or_insert(self.0.nulls.is_first(is_ascending));
    }

    fn all(&self, order: &mut [OrderByExpr]) {
        order.iter_mut().for_each(|one| self.options(&mut one.options));
    }
}

impl VisitorMut for Say {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        match query.order_by.as_mut().map(|order| &mut order.kind) {
            Some(OrderByKind::All(options)) => self.options(options),
            Some(OrderByKind::Expressions(order)) => self.all(order),
            None => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<()> {
        for window in &mut select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = &mut window.1 {
                self.all(&mut spec.order_by);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if let Some(WindowType::WindowSpec(spec)) = &mut function.over {
            self.all(&mut spec.order_by);
        }
        if let FunctionArguments::List(list) = &mut function.args {
            for clause in &mut list.clauses {
                if let FunctionArgumentClause::OrderBy(order) = clause {
                    self.all(order);
                }
            }
        }
        ControlFlow::Continue(())
    }
}
