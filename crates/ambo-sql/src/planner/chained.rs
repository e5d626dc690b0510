//! Functions behind their first argument: `l.list_filter(x -> x > 1).length()` is `length(list_filter(l, x -> x > 1))`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart,
};

/// What functions behind points mean, if there are some. What is made on the way `act` is done with.
pub(super) fn chained<B>(expr: &Expr, act: &mut impl FnMut(&mut Expr) -> ControlFlow<B>) -> Option<Expr> {
    match expr {
        Expr::CompoundFieldAccess { root, access_chain } => {
            let is_function = |part: &AccessExpr| matches!(part, AccessExpr::Dot(Expr::Function(_)));
            if !access_chain.iter().any(is_function) {
                return None;
            }
            let (mut made, mut parts) = (root.as_ref().clone(), Vec::new());
            for part in access_chain {
                match part {
                    AccessExpr::Dot(Expr::Function(function)) => {
                        made = of_first(function.clone(), with_parts(made, std::mem::take(&mut parts)))?;
                        if act(&mut made).is_break() {
                            return None;
                        }
                    }
                    part => parts.push(part.clone()),
                }
            }
            Some(with_parts(made, parts))
        }
        Expr::Function(function) => {
            let (name, before) = function.name.0.split_last()?;
            let part = |part: &ObjectNamePart| match part {
                ObjectNamePart::Identifier(ident) => Some(ident.clone()),
                ObjectNamePart::Function(_) => None,
            };
            let names = before.iter().map(part).collect::<Option<Vec<Ident>>>()?;
            let first = match &names[..] {
                [] => return None,
                // Those of the language are in these schemas, too.
                [schema] if ["main", "pg_catalog"].contains(&schema.value.to_lowercase().as_str()) => {
                    let name = ObjectName(vec![name.clone()]);
                    return Some(Expr::Function(Function { name, ..function.clone() }));
                }
                [column] => Expr::Identifier(column.clone()),
                _ => Expr::CompoundIdentifier(names),
            };
            let function = Function { name: ObjectName(vec![name.clone()]), ..function.clone() };
            of_first(function, first)
        }
        _ => None,
    }
}

/// A value with parts taken of it.
fn with_parts(root: Expr, access_chain: Vec<AccessExpr>) -> Expr {
    match access_chain.is_empty() {
        true => root,
        false => Expr::CompoundFieldAccess { root: Box::new(root), access_chain },
    }
}

fn of_first(mut function: Function, first: Expr) -> Option<Expr> {
    let first = FunctionArg::Unnamed(FunctionArgExpr::Expr(first));
    match &mut function.args {
        FunctionArguments::List(list) => list.args.insert(0, first),
        args @ FunctionArguments::None => {
            *args = FunctionArguments::List(FunctionArgumentList {
                duplicate_treatment: None,
                args: vec![first],
                clauses: Vec::new(),
            });
        }
        FunctionArguments::Subquery(_) => return None,
    }
    Some(Expr::Function(function))
}
