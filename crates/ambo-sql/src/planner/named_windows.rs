//! Windows that have a name: `OVER w`, `OVER (w ORDER BY x)`, `WINDOW w2 AS (w …)`.
//!
//! The planner forgets what a window is made of that is named in parentheses, and knows names only in the list of SELECT. So all of them
//! are written out, wherever a window function may stand: in the list, in QUALIFY, DISTINCT ON and ORDER BY. The rules are those of
//! SQL:2016 part 2, 7.15, as PostgreSQL has them: a window that begins with the name of another takes its PARTITION BY and ORDER BY over
//! and may add to them what that one does not have; of one with a frame nothing can be taken over.
//!
//! What a frame leaves out, which the parser says by such a name, becomes a constant in PARTITION BY, where the planner's plan keeps it.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Distinct, Expr, Ident, NamedWindowDefinition, NamedWindowExpr, OrderByKind, Select, SetExpr,
    VisitorMut, WindowSpec, WindowType,
};

use super::own::has_own;
use crate::{
    Error, Result,
    names::{about, ident},
    parse::{EXCLUDE, each_select, excluded},
    walk::WalkMut,
};

/// Writes out the windows of a query. Those of queries within it are their own.
pub(super) fn write_out(query: &mut ast::Query) -> Result<()> {
    let order_by = query.order_by.as_mut().map(|order_by| &mut order_by.kind);
    if let SetExpr::Select(select) = query.body.as_mut() {
        return in_select(select, order_by);
    }
    let mut done = Ok(());
    each_select(&mut query.body, &mut |select| {
        if done.is_ok() {
            done = in_select(select, None);
        }
    });
    done
}

fn in_select(select: &mut Select, order_by: Option<&mut OrderByKind>) -> Result<()> {
    let mut windows = Windows { known: Vec::new(), queries: 0, error: None };
    for NamedWindowDefinition(name, is) in std::mem::take(&mut select.named_window) {
        windows.define(&name, is)?;
    }
    let _ = select.projection.walk_mut(&mut windows);
    if windows.error.is_none()
        && let Some(selection) = &select.selection
        && has_own(selection, |expr| matches!(expr, Expr::Function(function) if function.over.is_some()))
    {
        return Err(Error::invalid("a window function stands in WHERE, which chooses the rows that windows are over")
            .with_hint("QUALIFY chooses among rows by window functions: SELECT … FROM t QUALIFY rank() OVER (ORDER BY a) = 1"));
    }
    let _ = select.qualify.walk_mut(&mut windows);
    if let Some(Distinct::On(exprs)) = &mut select.distinct {
        let _ = exprs.walk_mut(&mut windows);
    }
    if let Some(OrderByKind::Expressions(by)) = order_by {
        let _ = by.walk_mut(&mut windows);
    }
    windows.error.map_or(Ok(()), Err)
}

struct Windows {
    /// Written out, by their names.
    known: Vec<(String, WindowSpec)>,
    /// How many queries within this one are around.
    queries: usize,
    error: Option<Error>,
}

impl Windows {
    fn define(&mut self, name: &Ident, is: NamedWindowExpr) -> Result<()> {
        let own = ident(name);
        if self.known.iter().any(|(known, _)| *known == own) {
            return Err(about(Error::invalid(format!("there are two windows \"{own}\"")), name));
        }
        let spec = match is {
            NamedWindowExpr::NamedWindow(other) => self.find(&other)?.clone(),
            NamedWindowExpr::WindowSpec(spec) => self.whole(spec)?,
        };
        self.known.push((own, spec));
        Ok(())
    }

    fn find(&self, name: &Ident) -> Result<&WindowSpec> {
        let wanted = ident(name);
        let known = self.known.iter().find(|(known, _)| *known == wanted);
        known.map(|(_, spec)| spec).ok_or_else(|| {
            let missing = Error::invalid(format!("there is no window \"{wanted}\"")).with_hint(
                "windows get names behind FROM and WHERE, each before those that are made of it: WINDOW w AS (PARTITION BY a ORDER BY b)",
            );
            about(missing, name)
        })
    }

    /// A window with what it takes over from another.
    fn whole(&self, mut spec: WindowSpec) -> Result<WindowSpec> {
        let Some(name) = spec.window_name.take() else { return Ok(spec) };
        let Some((what, of)) = excluded(&name.value) else { return self.made_of(&name, spec) };
        let of = of.map(|of| Ident { value: of.to_owned(), ..name.clone() });
        let mut whole = match of {
            Some(of) => self.made_of(&of, spec)?,
            None => spec,
        };
        let mark = ast::Value::SingleQuotedString(format!("{EXCLUDE}{what}"));
        whole.partition_by.push(Expr::Nested(Box::new(Expr::value(mark))));
        Ok(whole)
    }

    fn made_of(&self, name: &Ident, spec: WindowSpec) -> Result<WindowSpec> {
        let of = self.find(name)?;
        let shown = ident(name);
        let refused = |what: &str| about(Error::invalid(format!("the window \"{shown}\" {what}")), name);
        if of.window_frame.is_some() {
            return Err(refused("has a frame, so no other window can be made of it")
                .with_hint(format!("where it is meant as it is, leave the parentheses out: OVER {name}")));
        }
        if !spec.partition_by.is_empty() {
            return Err(refused("says how rows are divided, and PARTITION BY stands beside it"));
        }
        if !spec.order_by.is_empty() && !of.order_by.is_empty() {
            return Err(refused("has an order, and ORDER BY stands beside it"));
        }
        let order_by = if spec.order_by.is_empty() { of.order_by.clone() } else { spec.order_by };
        Ok(WindowSpec { partition_by: of.partition_by.clone(), order_by, ..spec })
    }

    fn write_out(&self, over: &mut WindowType) -> Result<()> {
        let spec = match over {
            WindowType::NamedWindow(name) => self.find(name)?.clone(),
            WindowType::WindowSpec(spec) if spec.window_name.is_some() => self.whole(spec.clone())?,
            WindowType::WindowSpec(_) => return Ok(()),
        };
        *over = WindowType::WindowSpec(spec);
        Ok(())
    }
}

impl VisitorMut for Windows {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.queries == 0
            && let Expr::Function(function) = expr
            && let Some(over) = &mut function.over
            && let Err(error) = self.write_out(over)
        {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
