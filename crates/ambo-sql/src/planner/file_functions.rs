//! Functions in FROM that read files: `read_csv('a.csv', header = false)`, `read_json`, `read_parquet`, `read_text`, `read_blob`, `glob`.
//!
//! The planner's functions in FROM have no named arguments. So these are written out: the paths, one text each, then pairs of a name and a
//! value as texts. Columns that are given types are read as texts and cast: `read_csv('a.csv', types = {a: 'date'})` is
//! `(SELECT * REPLACE (CAST(a AS date) AS a) FROM read_csv('a.csv', 'texts', 'a'))`.

mod read;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, Ident, ObjectName, TableFactor,
    TableFunctionArgs, UnaryOperator, Value,
};

use super::trees;
use crate::{
    Error, Result,
    names::{about, ident},
    statement::table_alias,
    walk::WalkMut,
};
pub(super) use read::is_file_function;
pub(crate) use read::names as file_function_names;

/// Between the elements of a list that is one text.
const BETWEEN: char = '\u{1}';

/// Begins the arguments of a function that is written out.
const WRITTEN: &str = "\u{1}files";

/// Writes out such functions in a tree.
///
/// # Errors
/// An option that is given in a manner that is not meant, or twice.
pub(super) fn say_files(tree: &mut impl WalkMut) -> Result<()> {
    trees::each_table_factor(tree, say)
}

/// An option as it was given.
struct Given {
    name: Ident,
    value: Expr,
}

fn say(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::Table { name, alias, args: Some(TableFunctionArgs { args, .. }), .. } = factor else {
        return Ok(());
    };
    let Some(function) = function(name) else { return Ok(()) };
    let is_written = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if text(expr).as_deref() == Some(WRITTEN));
    if args.first().is_some_and(is_written) {
        return Ok(());
    }
    let (mut paths, mut options) = (Vec::new(), Vec::new());
    for arg in std::mem::take(args) {
        match option(arg)? {
            Ok(option) => options.push(option),
            Err(expr) => paths.push(expr),
        }
    }
    let [path] = &mut paths[..] else {
        return Err(about(
            Error::invalid(format!("{function}() takes a path, or a list of paths")),
            &name_of(name),
        ));
    };
    if let Some(list) = list(path) {
        *path = trees::text(&list.join(&BETWEEN.to_string()));
    }
    let mut written = vec![trees::text(WRITTEN), path.clone()];
    let mut casts = Casts::default();
    for (nth, Given { name, value }) in options.iter().enumerate() {
        let known = ident(name).to_lowercase();
        if options[..nth].iter().any(|other| ident(&other.name).eq_ignore_ascii_case(&known)) {
            return Err(about(Error::invalid(format!("{known} is given twice")), name));
        }
        let value = match known.as_str() {
            "columns" | "types" | "dtypes" | "column_types" => {
                casts = Casts::of(value, &known).map_err(|error| about(error, name))?;
                match casts.names.is_empty() {
                    true => continue,
                    false => casts.names.join(&BETWEEN.to_string()),
                }
            }
            _ => plain(value).ok_or_else(|| {
                about(Error::invalid(format!("{known} takes a constant, not {value}")), name)
            })?,
        };
        written.extend([trees::text(&known), trees::text(&value)]);
    }
    *args = written.into_iter().map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))).collect();
    if !casts.items.is_empty() {
        let alias = alias.take().unwrap_or_else(|| table_alias(&function));
        let subquery = Box::new(casts.query(factor.clone()));
        *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    }
    Ok(())
}

fn name_of(name: &ObjectName) -> Ident {
    name.0.last().and_then(|part| part.as_ident()).cloned().unwrap_or_else(|| Ident::new(""))
}

/// The name of a function of files.
fn function(name: &ObjectName) -> Option<String> {
    let [only] = &name.0[..] else { return None };
    let name = ident(only.as_ident()?).to_lowercase();
    is_file_function(&name).then_some(name)
}

/// The option that an argument gives, or else the argument: `header = true`, `header := true`, `header => true`.
fn option(arg: FunctionArg) -> Result<Result<Given, Expr>> {
    let refused = |arg: &dyn std::fmt::Display| {
        Err(Error::invalid(format!("{arg} is no path and no option of a file")))
    };
    match arg {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            operator:
                FunctionArgOperator::Equals | FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment,
        } => Ok(Ok(Given { name, value })),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        })) if matches!(*left, Expr::Identifier(_)) => match *left {
            Expr::Identifier(name) => Ok(Ok(Given { name, value: *right })),
            other => refused(&other),
        },
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(Err(expr)),
        other => refused(&other),
    }
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            Value::EscapedStringLiteral(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// A list of constants.
fn list(expr: &Expr) -> Option<Vec<String>> {
    match expr {
        Expr::Array(array) => array.elem.iter().map(plain).collect(),
        _ => None,
    }
}

/// A constant as a text; a list as one with what stands between.
fn plain(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Boolean(is) => Some(is.to_string()),
            Value::Number(digits, _) => Some(digits.clone()),
            _ => text(expr),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(format!("-{}", plain(expr)?)),
        Expr::Nested(expr) => plain(expr),
        // A word alone.
        Expr::Identifier(name) => Some(ident(name)),
        list_of => list(list_of).map(|list| list.join(&BETWEEN.to_string())),
    }
}

/// Columns that are given types.
#[derive(Default)]
struct Casts {
    /// Whether there are no others.
    are_all: bool,
    names: Vec<String>,
    /// `CAST("a" AS date) AS "a"`.
    items: Vec<String>,
}

impl Casts {
    fn of(given: &Expr, option: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(format!("{option} takes the types of columns by their names"))
                .with_hint(format!("{option} = {{'a': 'date', 'b': 'integer'}}"))
        };
        let mut casts = Self { are_all: option == "columns", ..Self::default() };
        let mut add = |name: String, ty: &Expr| {
            let ty = plain(ty).ok_or_else(wrong)?;
            let quoted = crate::names::quoted(&name);
            casts.items.push(format!("CAST({quoted} AS {ty}) AS {quoted}"));
            casts.names.push(name);
            Ok::<_, Error>(())
        };
        match given {
            Expr::Dictionary(fields) => {
                fields.iter().try_for_each(|field| add(field.key.value.clone(), &field.value))?;
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    add(plain(&entry.key).ok_or_else(wrong)?, &entry.value)?;
                }
            }
            _ => return Err(wrong()),
        }
        for item in &casts.items {
            crate::parse::parse_query(&format!("SELECT {item}"))
                .map_err(|error| Error::invalid(format!("{option}: {}", error.message())))?;
        }
        Ok(casts)
    }

    /// The rows of a factor with their columns cast.
    fn query(&self, factor: TableFactor) -> datafusion::sql::sqlparser::ast::Query {
        let items = self.items.join(", ");
        let text = match self.are_all {
            true => format!("SELECT {items} FROM it"),
            false => format!("SELECT * REPLACE ({items}) FROM it"),
        };
        let mut query = trees::query(&text);
        trees::select(&mut query).from[0].relation = factor;
        query
    }
}
