//! What stands in lambdas: `x.name` is a field of `x`, where `x` is a parameter, and may stand in `[x]`; rows cannot be made there.

use std::{collections::HashMap, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, LambdaFunction, OneOrManyWithParens, Spanned, Subscript, Value, Visitor,
    VisitorMut,
};

use super::{patterns::call, rewrite::marked};
use crate::{
    Error, Result,
    names::ident,
    walk::{Walk, WalkMut, each_expr, each_expr_mut},
};

/// Says what stands in lambdas, the inner ones first. It comes before all that looks for columns by their names, which would take
/// parameters for columns.
pub(super) fn say_lambdas(tree: &mut impl WalkMut) -> Result<()> {
    let mut lambdas = 0;
    let refused = each_expr_mut(tree, |expr| {
        let Expr::Lambda(lambda) = expr else { return ControlFlow::Continue(()) };
        say_fields(lambda);
        lambdas += 1;
        name_apart(lambda, lambdas);
        match refuse_unnest(lambda) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    });
    match refused {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Says that `x.name` is a field, and `[x]` a function.
fn say_fields(lambda: &mut LambdaFunction) {
    let names = lambda.params.iter().map(|param| ident(&param.name)).collect();
    let _ = lambda.body.walk_mut(&mut Fields { names });
}

struct Fields {
    names: Vec<String>,
}

impl VisitorMut for Fields {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some((first, fields)) = parts.split_first()
            && self.names.contains(&ident(first))
        {
            let field = |name| {
                let index = Expr::value(Value::SingleQuotedString(ident(name)));
                AccessExpr::Subscript(Subscript::Index { index })
            };
            *expr = Expr::CompoundFieldAccess {
                root: Box::new(Expr::Identifier(first.clone())),
                access_chain: fields.iter().map(field).collect(),
            };
        }
        if let Expr::CompoundFieldAccess { root, access_chain } = expr
            && matches!(root.as_ref(), Expr::Identifier(name) if self.names.contains(&ident(name)))
        {
            for access in access_chain {
                if let AccessExpr::Dot(Expr::Identifier(name)) = access {
                    let index = Expr::value(Value::SingleQuotedString(ident(name)));
                    *access = AccessExpr::Subscript(Subscript::Index { index });
                }
            }
        }
        // The planner reads literals of lists without the parameters.
        if let Expr::Array(list) = expr {
            *expr = call("make_array", std::mem::take(&mut list.elem));
        }
        ControlFlow::Continue(())
    }
}

/// `invoke(lambda x, y: x + y, 1, 2)` is its body with the values in it. A value that is computed stands in it once.
pub(super) fn invoked(mut arguments: Vec<Expr>) -> Option<Expr> {
    let values = arguments.split_off(1);
    let Expr::Lambda(lambda) = arguments.pop()? else { return None };
    let names: Vec<_> = lambda.params.iter().map(|param| ident(&param.name)).collect();
    if names.len() != values.len() {
        return None;
    }
    let computes = |value: &Expr| {
        let found = each_expr(value, |part| match part {
            Expr::Function(_) | Expr::Subquery(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    };
    let mut body = *lambda.body;
    let mut uses = vec![0; names.len()];
    let _ = each_expr_mut(&mut body, |expr| {
        if let Expr::Identifier(name) = expr
            && let Some(nth) = names.iter().position(|known| *known == ident(name))
        {
            uses[nth] += 1;
            *expr = Expr::Nested(Box::new(values[nth].clone()));
        }
        ControlFlow::<()>::Continue(())
    });
    let is_once = |(value, uses): (&Expr, &usize)| *uses < 2 || !computes(value);
    values.iter().zip(&uses).all(is_once).then(|| Expr::Nested(Box::new(body)))
}

/// Gives parameters names that nothing else has: the planner takes a column of that name for them in places.
fn name_apart(lambda: &mut LambdaFunction, nth: usize) {
    let mut names = HashMap::new();
    let params = match &mut lambda.params {
        OneOrManyWithParens::One(param) => std::slice::from_mut(param),
        OneOrManyWithParens::Many(params) => &mut params[..],
    };
    for param in params {
        let own = marked(ident(&param.name), nth);
        names.insert(ident(&param.name), own.clone());
        param.name = own;
    }
    let _ = lambda.body.walk_mut(&mut Names(names));
}

struct Names(HashMap<String, Ident>);

impl VisitorMut for Names {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(own) = self.0.get(&ident(name))
        {
            *name = own.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Refuses what makes rows of a list in a lambda, which is of one element.
fn refuse_unnest(lambda: &LambdaFunction) -> Result<()> {
    struct Unnest;
    impl Visitor for Unnest {
        type Break = Expr;
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Expr> {
            match expr {
                Expr::Function(of) if of.name.to_string().eq_ignore_ascii_case("unnest") => {
                    ControlFlow::Break(expr.clone())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let ControlFlow::Break(found) = lambda.body.walk(&mut Unnest) else { return Ok(()) };
    let start = found.span().start;
    let error =
        Error::invalid("unnest() makes rows, and stands in a lambda, which makes one value of an element");
    Err(error.at_start(start.line, start.column))
}
