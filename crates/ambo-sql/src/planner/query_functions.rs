//! `query('SELECT …')` and `query_table(name)` in FROM: a query or tables that a text names. They are written out before names are
//! looked up: `query_table([a, b])` is `(FROM a UNION ALL FROM b)`, with `true` behind it by the names of the columns. `repeat(x, n)` is n
//! rows with x.

use datafusion::sql::sqlparser::{
    ast::{
        Expr, FunctionArg, FunctionArgExpr, ObjectName, Query, Spanned, TableFactor, TableFunctionArgs, Value,
    },
    parser::Parser,
    tokenizer::Token,
};

use super::trees;
use crate::{
    Error, Result,
    names::ident,
    parse::{DIALECT, parse_query},
    statement::{refuse_parameters, table_alias},
    walk::WalkMut,
};

/// Writes out such functions in a tree.
///
/// # Errors
/// What is given is no query, or no name of a table.
pub(super) fn say_queries(tree: &mut impl WalkMut) -> Result<()> {
    trees::each_table_factor(tree, say)
}

fn say(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::Table { name, alias, args: Some(TableFunctionArgs { args, .. }), .. } = factor else {
        return Ok(());
    };
    let [only] = &name.0[..] else { return Ok(()) };
    let Some(function) = only.as_ident().map(|name| ident(name).to_lowercase()) else { return Ok(()) };
    let given = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    let Some(given) = given.collect::<Option<Vec<_>>>() else { return Ok(()) };
    let made = match (function.as_str(), &given[..]) {
        ("query", [text]) => of_text(text),
        ("query_table", [tables]) => of_tables(tables, false),
        ("query_table", [tables, by_name]) => match truth(by_name) {
            Some(by_name) => of_tables(tables, by_name),
            None => Err(Error::invalid("query_table: whether columns go by name is true or false")),
        },
        ("repeat", [value, count]) => {
            let text = format!("SELECT {value} AS \"repeat\" FROM range({count})");
            read(&text)
        }
        ("query" | "query_table", _) => {
            Err(Error::invalid(format!("{function}() does not take these arguments"))
                .with_hint("query('SELECT …'), query_table('t'), query_table(['t', 'u'], true)"))
        }
        _ => return Ok(()),
    };
    let start = name.span().start;
    let subquery = made.map_err(|error| error.at_start(start.line, start.column))?;
    let alias = alias.take().unwrap_or_else(|| table_alias(&function));
    let subquery = Box::new(subquery);
    *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    Ok(())
}

fn truth(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Value(of) => match of.value {
            Value::Boolean(is) => Some(is),
            _ => None,
        },
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(of) => match &of.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A query in a text, with or without an end.
fn read(text: &str) -> Result<Query> {
    // A place would be one in the text.
    let read = parse_query(text.trim_end_matches(|end: char| end == ';' || end.is_whitespace()));
    let query = read.map_err(|error| Error::invalid(format!("the query '{text}': {}", error.message())))?;
    refuse_parameters(&query, "query in a text")?;
    Ok(query)
}

fn of_text(given: &Expr) -> Result<Query> {
    match text(given) {
        Some(text) => read(text),
        None => Err(Error::invalid("query() takes the text of a query, as a constant")),
    }
}

fn of_tables(given: &Expr, by_name: bool) -> Result<Query> {
    let tables = match given {
        Expr::Array(list) => list.elem.iter().map(table).collect::<Result<Vec<_>>>()?,
        one => vec![table(one)?],
    };
    if tables.is_empty() {
        return Err(Error::invalid("query_table() takes at least one table"));
    }
    let between = if by_name { " UNION ALL BY NAME " } else { " UNION ALL " };
    let queries: Vec<_> = tables.iter().map(|table| format!("SELECT * FROM {table}")).collect();
    read(&queries.join(between))
}

/// A table, or a query in parentheses.
fn table(given: &Expr) -> Result<String> {
    let written = match given {
        Expr::Identifier(name) if !name.value.starts_with('(') => return Ok(name.to_string()),
        Expr::Identifier(name) => name.value.as_str(),
        Expr::CompoundIdentifier(parts) => return Ok(ObjectName::from(parts.clone()).to_string()),
        given => {
            text(given).ok_or_else(|| Error::invalid("query_table() takes names of tables, as constants"))?
        }
    };
    if let Some(inner) = written.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return Ok(format!("({})", read(inner)?));
    }
    let name = Parser::new(&DIALECT).try_with_sql(written).and_then(|mut parser| {
        let name = parser.parse_object_name(false)?;
        parser.expect_token(&Token::EOF)?;
        Ok(name)
    });
    let name = name.map_err(|_| Error::invalid(format!("'{written}' is no name of a table")))?;
    Ok(name.to_string())
}
