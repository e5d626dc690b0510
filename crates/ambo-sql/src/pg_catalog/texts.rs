//! Texts of definitions for clients of PostgreSQL: what a default, a condition or a view says, as that can read it.
//!
//! Names have their schemas before them where the search path of the session does not lead there: pg_dump has none, so that its texts mean
//! the same wherever they are read. What is in the schema that is always there is in `public`. Types, bytes and lists are written as
//! PostgreSQL has them; functions and operators stay what they are.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, ArrayElemTypeDef, DataType, ExactNumberInfo, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, ObjectNamePart, Query, Value, VisitorMut,
};

use super::{
    gather::{Path, quoted},
    syntax::{call, plain},
    types,
};
use crate::{
    names::ident,
    parse::{parse_expression, parse_query},
    sequences::Number,
    walk::WalkMut,
};

/// The text of a query of a view.
pub(super) fn of_query(text: &str, path: &Path) -> String {
    match parse_query(text) {
        Ok(mut query) => {
            say(&mut query, path);
            query.to_string()
        }
        // One that cannot be read any more is shown as it is kept.
        Err(_) => text.to_owned(),
    }
}

/// The text of a default or a condition.
pub(super) fn of_expression(text: &str, path: &Path) -> String {
    match parse_expression(text) {
        Ok(expr) => {
            let mut expr = bare(expr);
            say(&mut expr, path);
            expr.to_string()
        }
        Err(_) => text.to_owned(),
    }
}

/// What an index is over, in brackets where the statement that makes it has to have some.
pub(super) fn of_index(text: &str, path: &Path) -> String {
    match parse_expression(text).map(bare) {
        Ok(Expr::Identifier(name)) => quoted(&ident(&name)),
        Ok(mut expr @ Expr::Function(_)) => {
            say(&mut expr, path);
            expr.to_string()
        }
        _ => format!("({})", of_expression(text, path)),
    }
}

/// An expression without brackets around it.
fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(expr) => bare(*expr),
        expr => expr,
    }
}

fn say(tree: &mut impl WalkMut, path: &Path) {
    let _ = tree.walk_mut(&mut Saying { path, with: Vec::new() });
}

struct Saying<'a> {
    path: &'a Path,
    /// What WITH calls its tables.
    with: Vec<String>,
}

impl VisitorMut for Saying<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.extend(tables.map(|table| ident(&table.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        let is_with = name.0.len() == 1 && plain(name).is_some_and(|name| self.with.contains(&name));
        if !is_with {
            self.qualify(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { data_type, .. } => self.say_type(data_type),
            Expr::TypedString(typed) => self.say_type(&mut typed.data_type),
            Expr::Array(list) => list.named = true,
            Expr::Value(value) => {
                if let Value::HexStringLiteral(digits) = &value.value {
                    *expr = bytes(digits);
                }
            }
            Expr::Function(function) => self.say_sequence(function),
            // A column with its table and the schema of that.
            Expr::CompoundIdentifier(parts)
                if parts.len() == 3 && ident(&parts[0]) == ambo::DEFAULT_SCHEMA =>
            {
                parts[0] = Ident::new("public");
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Saying<'_> {
    /// Names a thing of the database so that it is found.
    fn qualify(&self, name: &mut ObjectName) {
        let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident().map(ident)).collect();
        let (schema, last) = match &parts[..] {
            [last] => (ambo::DEFAULT_SCHEMA, last),
            [schema, last] => (schema.as_str(), last),
            _ => return,
        };
        let schema = if schema == ambo::DEFAULT_SCHEMA { "public" } else { schema };
        let mut said = Vec::new();
        if !self.path.leads_to(schema) {
            said.push(part(schema));
        }
        said.push(part(last));
        name.0 = said;
    }

    fn say_type(&self, ty: &mut DataType) {
        if let DataType::Array(
            ArrayElemTypeDef::SquareBracket(item, _)
            | ArrayElemTypeDef::AngleBracket(item)
            | ArrayElemTypeDef::Parenthesis(item),
        ) = ty
        {
            let mut item = item.as_ref().clone();
            self.say_type(&mut item);
            *ty = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(item), None));
            return;
        }
        let whole = |digits| DataType::Numeric(ExactNumberInfo::PrecisionAndScale(digits, 0));
        *ty = match ty {
            DataType::Double(_) | DataType::Float64 => DataType::DoublePrecision,
            DataType::Float32 => DataType::Real,
            DataType::TinyInt(_) | DataType::UTinyInt => DataType::SmallInt(None),
            DataType::USmallInt => DataType::Integer(None),
            DataType::UBigInt => whole(20),
            DataType::HugeInt => whole(38),
            DataType::Blob(_) | DataType::Binary(_) | DataType::Varbinary(_) => DataType::Bytea,
            DataType::String(_) => DataType::Text,
            DataType::Datetime(digits) => DataType::Timestamp(*digits, ast::TimezoneInfo::None),
            DataType::Custom(name, modifiers) if modifiers.is_empty() => {
                let is_own = types::by_name(&name.to_string()).is_some();
                if !is_own {
                    self.qualify(name);
                }
                return;
            }
            _ => return,
        };
    }

    /// The name of a sequence in a text.
    fn say_sequence(&self, function: &mut ast::Function) {
        let is_of_sequences =
            plain(&function.name).is_some_and(|name| Number::named(&name).is_some() && name != "lastval");
        let FunctionArguments::List(list) = &mut function.args else { return };
        if !is_of_sequences {
            return;
        }
        let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(of))) = list.args.first_mut() else { return };
        let of = match of {
            Expr::Cast { expr, .. } => expr.as_mut(),
            of => of,
        };
        if let Expr::Value(value) = of
            && let Value::SingleQuotedString(text) = &mut value.value
            && let Some((schema, name)) = self.path.sequence(text)
        {
            *text = self.path.shown(&schema, &name);
        }
    }
}

/// The text that names the sequence of which an expression takes the next number.
pub(super) fn sequence_of(expr: &Expr) -> Option<String> {
    let Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(of))] = &list.args[..] else { return None };
    let of = match of {
        Expr::Cast { expr, .. } => expr.as_ref(),
        of => of,
    };
    match of {
        Expr::Value(value) if plain(&function.name)? == "nextval" => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// A part of a name, in quotes where PostgreSQL needs them.
fn part(name: &str) -> ObjectNamePart {
    let is_plain = quoted(name) == name;
    ObjectNamePart::Identifier(if is_plain { Ident::new(name) } else { Ident::with_quote('"', name) })
}

/// Bytes as PostgreSQL and Ambo read them.
fn bytes(digits: &str) -> Expr {
    let text = |text: &str| Expr::value(Value::SingleQuotedString(text.to_owned()));
    call("decode", vec![text(digits), text("hex")])
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: texts of a dump that are read in another schema, or not at all.
    #[test]
    fn names_say_their_schemas_where_the_path_does_not_lead_there() {
        let (none, public) = (Path::new(Vec::new()), Path::new(vec!["public".to_owned()]));
        let query = "WITH w AS (SELECT 1 AS a) SELECT o.id FROM orders AS o JOIN main.\"Odd T\" ON true JOIN shop.t JOIN w";
        assert_eq!(
            of_query(query, &none),
            "WITH w AS (SELECT 1 AS a) SELECT o.id FROM public.orders AS o JOIN public.\"Odd T\" ON true JOIN shop.t JOIN w"
        );
        assert_eq!(
            of_query("SELECT a FROM main.t JOIN shop.u ON true", &public),
            "SELECT a FROM t JOIN shop.u ON true"
        );
        for (text, said) in [
            ("nextval('counter')", "nextval('public.counter')"),
            ("nextval('\"Odd\"')", "nextval('public.\"Odd\"')"),
            ("CAST(a AS DOUBLE)", "CAST(a AS DOUBLE PRECISION)"),
            ("'ok'::mood", "'ok'::public.mood"),
            ("X'00FF'", "decode('00FF', 'hex')"),
            ("((a > 0))", "a > 0"),
            ("[1, 2]", "ARRAY[1, 2]"),
            ("a > 0", "a > 0"),
        ] {
            assert_eq!(of_expression(text, &none), said, "{text}");
        }
        for (text, said) in [("(lower(note))", "lower(note)"), ("\"a\"", "a"), ("(a + 1)", "(a + 1)")] {
            assert_eq!(of_index(text, &none), said);
        }
    }
}
