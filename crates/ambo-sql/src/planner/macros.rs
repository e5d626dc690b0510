//! Functions that users define are written out where they are called, before a statement is planned.

mod capture;

use std::{collections::HashMap, ops::ControlFlow, sync::Arc};

use ambo::{Definitions, Object, qualify};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, TableAlias,
    TableFactor, VisitorMut,
};

use super::own::names_column;
use crate::{
    Error, Result,
    names::{about_object, ident, object, shown, split},
    parse::{Body, Function, parse_function},
    stack,
    walk::WalkMut,
};

/// Functions that call functions that call functions: more are not written out.
const DEPTH_MAX: usize = 32;

/// Writes out the functions of users in a tree.
///
/// # Errors
/// A call does not give what the function takes, or a function calls itself.
pub(super) fn write_out(tree: &mut impl WalkMut, known: &Known, definitions: &Definitions<'_>) -> Result<()> {
    result(tree.walk_mut(&mut WriteOut { known, definitions, depth: 0 }))
}

fn result(flow: ControlFlow<Error>) -> Result<()> {
    match flow {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn flow(result: Result<()>) -> ControlFlow<Error> {
    result.map_or_else(ControlFlow::Break, ControlFlow::Continue)
}

/// Functions by the names that they are found under.
pub(super) type Known = HashMap<String, Arc<Object>>;

struct WriteOut<'a> {
    known: &'a Known,
    definitions: &'a Definitions<'a>,
    depth: usize,
}

impl WriteOut<'_> {
    fn find(&self, name: &ObjectName) -> Option<&Arc<Object>> {
        self.known.get(&qualify(&object(name).ok()?).ok()?)
    }

    /// The function, with the arguments of a call in their places.
    fn called(&self, name: &ObjectName, of: &Object, given: &[FunctionArg]) -> Result<Function> {
        let mut function = parse_function(&of.text)?;
        if self.depth >= DEPTH_MAX {
            let message =
                format!("functions call each other more than {DEPTH_MAX} deep at \"{}\"", shown(&of.name));
            return Err(about_object(Error::invalid(message), name));
        }
        let captured = match &function.body {
            Body::Value(expr) => capture::refuse(&of.name, expr.as_ref(), given, self.definitions),
            Body::Rows(query) => capture::refuse(&of.name, query.as_ref(), given, self.definitions),
        };
        captured.map_err(|error| about_object(error, name))?;
        let given = in_order(&of.name, &function, given).map_err(|error| about_object(error, name))?;
        // Each function in another adds what walks through both, and arguments become deeper each time.
        stack::with_enough(|| self.filled(&mut function, given))?;
        Ok(function)
    }

    /// Puts arguments in the places of parameters, and writes out what the function calls itself.
    fn filled(&self, function: &mut Function, given: Vec<Expr>) -> Result<()> {
        let names = function.parameters.iter().map(|parameter| ident(&parameter.name));
        let mut fill = Fill { values: names.zip(given).collect() };
        let mut inner = WriteOut { depth: self.depth + 1, ..*self };
        let ControlFlow::Continue(()) = match &mut function.body {
            Body::Value(expr) => expr.walk_mut(&mut fill),
            Body::Rows(query) => query.walk_mut(&mut fill),
        };
        result(match &mut function.body {
            Body::Value(expr) => expr.walk_mut(&mut inner),
            Body::Rows(query) => query.walk_mut(&mut inner),
        })
    }

    fn value(&self, expr: &mut Expr) -> Result<()> {
        let Expr::Function(call) = expr else { return Ok(()) };
        let Some(of) = self.find(&call.name) else { return Ok(()) };
        let given = match &call.args {
            FunctionArguments::None => &[][..],
            FunctionArguments::List(list)
                if list.duplicate_treatment.is_none() && list.clauses.is_empty() =>
            {
                &list.args
            }
            other => return Err(refused(&call.name, &other.to_string())),
        };
        if call.filter.is_some() || call.over.is_some() || !call.within_group.is_empty() {
            return Err(refused(&call.name, "FILTER, OVER or WITHIN GROUP"));
        }
        match self.called(&call.name, of, given)?.body {
            Body::Value(value) => *expr = Expr::Nested(value),
            Body::Rows(_) => {
                let message =
                    format!("\"{}\" is a function that gives rows, and stands in FROM", shown(&of.name));
                return Err(about_object(Error::invalid(message), &call.name));
            }
        }
        Ok(())
    }

    fn rows(&self, factor: &mut TableFactor) -> Result<()> {
        let (name, given, alias) = match factor {
            TableFactor::Table { name, args: Some(args), alias, .. } => (&*name, &args.args, alias),
            TableFactor::Function { name, args, alias, .. } => (&*name, &*args, alias),
            _ => return Ok(()),
        };
        let Some(of) = self.find(name) else { return Ok(()) };
        // It may be one of a table before it.
        let lateral = given.iter().any(names_column);
        let Body::Rows(subquery) = self.called(name, of, given)?.body else {
            let message = format!("\"{}\" is a function that gives one value, no rows", shown(&of.name));
            return Err(about_object(Error::invalid(message), name));
        };
        let own = || TableAlias {
            explicit: true,
            name: Ident::with_quote('"', split(&of.name).1),
            columns: Vec::new(),
            at: None,
        };
        let alias = Some(alias.take().unwrap_or_else(own));
        *factor = TableFactor::Derived { lateral, subquery, alias, sample: None };
        Ok(())
    }
}

fn refused(name: &ObjectName, what: &str) -> Error {
    about_object(
        Error::invalid(format!("{what} is not for a function that is written out, as \"{name}\" is")),
        name,
    )
}

impl VisitorMut for WriteOut<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        flow(self.value(expr))
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        flow(self.rows(factor))
    }
}

/// The values of the parameters, in their order.
fn in_order(name: &str, function: &Function, given: &[FunctionArg]) -> Result<Vec<Expr>> {
    let mut values: Vec<Option<Expr>> = vec![None; function.parameters.len()];
    let names: Vec<_> = function.parameters.iter().map(|parameter| ident(&parameter.name)).collect();
    for (nth, arg) in given.iter().enumerate() {
        let (place, value) = match named(arg)? {
            (Some(wanted), value) => {
                let known = names.iter().map(String::as_str);
                let place = names.iter().position(|name| *name == wanted);
                (place.ok_or_else(|| Error::not_found("parameter", &wanted, known))?, value)
            }
            (None, value) if nth < values.len() => (nth, value),
            (None, _) => return Err(wrong_count(name, &names, given.len())),
        };
        if values[place].replace(value).is_some() {
            return Err(Error::invalid(format!("parameter \"{}\" has two values", names[place])));
        }
    }
    let defaults = function.parameters.iter().map(|parameter| parameter.default.clone());
    let filled: Option<Vec<_>> =
        values.into_iter().zip(defaults).map(|(value, default)| value.or(default)).collect();
    filled.ok_or_else(|| wrong_count(name, &names, given.len()))
}

/// The name that an argument is given by, if it has one, and its value.
fn named(arg: &FunctionArg) -> Result<(Option<String>, Expr)> {
    let value = |arg: &FunctionArgExpr| match arg {
        FunctionArgExpr::Expr(expr) => Ok(expr.clone()),
        other => Err(Error::invalid(format!("{other} is no value of a parameter"))),
    };
    Ok(match arg {
        FunctionArg::Named { name, arg, .. } => (Some(ident(name)), value(arg)?),
        FunctionArg::ExprNamed { name: Expr::Identifier(name), arg, .. } => (Some(ident(name)), value(arg)?),
        FunctionArg::ExprNamed { name, .. } => {
            return Err(Error::invalid(format!("{name} is no name of a parameter")));
        }
        FunctionArg::Unnamed(arg) => match value(arg)? {
            Expr::BinaryOp { left, op: BinaryOperator::Assignment, right } => match *left {
                Expr::Identifier(name) => (Some(ident(&name)), *right),
                other => return Err(Error::invalid(format!("{other} is no name of a parameter"))),
            },
            value => (None, value),
        },
    })
}

fn wrong_count(name: &str, names: &[String], given: usize) -> Error {
    let takes = names.join(", ");
    Error::invalid(format!("function \"{}\" takes ({takes}), and {given} values were given", shown(name)))
}

/// Puts values in the places of parameters.
struct Fill {
    values: HashMap<String, Expr>,
}

impl VisitorMut for Fill {
    type Break = std::convert::Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Identifier(name) = &*expr
            && let Some(value) = self.values.get(&ident(name))
        {
            *expr = Expr::Nested(Box::new(value.clone()));
        }
        ControlFlow::Continue(())
    }
}
