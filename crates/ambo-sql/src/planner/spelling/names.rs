//! The names in an expression.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, Expr, Query, VisitorMut, With};

use super::{Alias, Scope, Spelling};
use crate::{Error, names::ident};

/// Looks at the names in an expression, and by themselves at those of queries within.
pub(super) struct Names<'s, 'a> {
    pub spelling: &'s mut Spelling<'a>,
    pub scopes: &'s [Scope],
    pub with: Option<&'s With>,
    pub aliases: &'s [Alias],
    pub queries: usize,
    /// The variables of lambdas around.
    pub variables: Vec<String>,
    pub error: Option<Error>,
}

/// The variables of a lambda.
fn variables(expr: &Expr) -> Vec<String> {
    let Expr::Lambda(lambda) = expr else { return Vec::new() };
    match &lambda.params {
        ast::OneOrManyWithParens::One(one) => vec![ident(&one.name)],
        ast::OneOrManyWithParens::Many(all) => all.iter().map(|one| ident(&one.name)).collect(),
    }
}

impl VisitorMut for Names<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if self.queries == 0
            && let Err(error) = self.spelling.query(query, self.scopes, self.with)
        {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.variables.extend(variables(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.variables.truncate(self.variables.len() - variables(expr).len());
        if self.queries > 0 {
            return ControlFlow::Continue(());
        }
        let meant = match expr {
            Expr::Identifier(name) if self.variables.contains(&ident(name)) => Ok(None),
            Expr::Identifier(name) => self.spelling.meant(name, self.scopes, self.aliases),
            Expr::CompoundIdentifier(parts) => self.spelling.parts(parts, self.scopes).map(|()| None),
            _ => return ControlFlow::Continue(()),
        };
        match meant {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(meant)) => {
                *expr = meant;
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
