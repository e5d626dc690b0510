//! What clients of PostgreSQL write of which the planner knows nothing, written so that it does:
//!
//! * `pg_catalog.` before functions, types and operators: `OPERATOR(pg_catalog.~)`; COLLATE of the usual order;
//! * `x::regclass` and its sisters are numbers, which are shown as names where they are what a query returns, or a text is made of them;
//! * `x::oid`, `x::name`, `x::"char"`, and arrays of them;
//! * `'{a,b}'::text[]` and `x = ANY ('{a,b}')` are lists;
//! * vectors of columns (`indkey`) begin with 0;
//! * `nextval('s'::regclass)` has a name, which sequences are known by;
//! * `(information_schema._pg_expandarray(x)).n`, `ARRAY (SELECT …)`, functions of several rows in FROM.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, AccessExpr, ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query,
    SelectItem, SetExpr, Subscript, TableFactor, Value, VisitorMut,
};

use crate::{names::ident, parse::parse_query, walk::WalkMut};

/// Writes a tree so. For a client of PostgreSQL, what it asks of its session is meant as that has it.
pub(crate) fn as_meant(tree: &mut impl WalkMut, is_client: bool) {
    let _ = tree.walk_mut(&mut Meant { is_client });
}

struct Meant {
    is_client: bool,
}

/// The kinds of numbers that have names.
const NUMBERS: [&str; 5] = ["regclass", "regtype", "regnamespace", "regrole", "regproc"];

/// Columns that are vectors, and what clients call them.
const VECTORS: [&str; 6] = ["indkey", "indoption", "indclass", "indcollation", "i_indoption", "prattrs"];

/// Functions that mean something else to clients.
const OF_SESSIONS: [&str; 4] = ["version", "current_database", "current_schema", "current_catalog"];

/// Columns that are functions by their names; 0 is none.
const FUNCTIONS: [&str; 8] =
    ["typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typanalyze", "typsubscript"];

/// What asyncpg calls the rows in which it looks for what a domain is of, by a recursion about the row around it.
const BASES: &str = "typebases";

impl VisitorMut for Meant {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<()> {
        if let ast::Statement::Query(query) = statement {
            show_numbers(&mut query.body);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<()> {
        if self.is_client {
            super::tableoid::say(select);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        say_factor(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        // A text of a number that has a name, before the number within is looked at.
        if let Expr::Cast { expr: inner, data_type, .. } = expr
            && is_text(data_type)
            && let Some((kind, of)) = number_of(inner)
        {
            *expr = call(&format!("pg_{kind}_text"), vec![of]);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        say(expr);
        // The parser knows their sisters.
        if let Expr::Identifier(name) = expr
            && name.quote_style.is_none()
        {
            match ident(name).as_str() {
                "current_role" => *expr = call("current_role", Vec::new()),
                "current_schema" if self.is_client => *expr = call("pg_client_current_schema", Vec::new()),
                "current_schema" => *expr = call("current_schema", Vec::new()),
                _ => {}
            }
        }
        if self.is_client
            && let Expr::Function(function) = expr
            && let [ObjectNamePart::Identifier(name)] = &mut function.name.0[..]
            && OF_SESSIONS.contains(&ident(name).as_str())
        {
            *name = Ident::new(format!("pg_client_{}", ident(name)));
        }
        ControlFlow::Continue(())
    }
}

/// The last part of a name that is in `pg_catalog`, or in no schema.
pub(super) fn plain(name: &ObjectName) -> Option<String> {
    let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).map(ident).collect();
    match &parts[..] {
        [last] => Some(last.clone()),
        [schema, last] if schema == super::SCHEMA => Some(last.clone()),
        _ => None,
    }
}

fn has_schema(name: &ObjectName, schema: &str) -> bool {
    name.0.len() == 2 && name.0[0].as_ident().is_some_and(|first| ident(first) == schema)
}

pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)));
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The name of a type that the parser does not know.
fn custom(ty: &DataType) -> Option<String> {
    match ty {
        DataType::Custom(name, modifiers) if modifiers.is_empty() => plain(name),
        DataType::Regclass => Some("regclass".to_owned()),
        _ => None,
    }
}

/// The number of a type that is a number of something, or a list of them.
pub(super) fn own_type(ty: &DataType) -> Option<u32> {
    match ty {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => (own_type(item)? == 26).then_some(1028),
        ty => (custom(ty)? == "oid").then_some(26),
    }
}

pub(super) fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::Text | DataType::Varchar(_) | DataType::CharacterVarying(_))
        || custom(ty).is_some_and(|name| matches!(name.as_str(), "text" | "name" | "varchar"))
}

/// What a cast to a number with a name is of, and its kind.
fn number_of(expr: &Expr) -> Option<(&'static str, Expr)> {
    match expr {
        Expr::Nested(inner) => number_of(inner),
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
            let name = custom(data_type)?;
            let kind = NUMBERS.into_iter().find(|kind| *kind == name)?;
            Some((kind, expr.as_ref().clone()))
        }
        Expr::Function(function) => {
            let kind = match plain(&function.name)?.as_str() {
                "to_regclass" => "regclass",
                "to_regtype" => "regtype",
                "to_regnamespace" => "regnamespace",
                _ => return None,
            };
            Some((kind, expr.clone()))
        }
        _ => None,
    }
}

/// Numbers that a query returns are shown as names. Where another part of it returns other numbers, both are numbers.
fn show_numbers(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } if kinds(left) != kinds(right) => {}
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
                    continue;
                };
                if let Some((kind, of)) = number_of(expr) {
                    *expr = call(&format!("pg_{kind}_text"), vec![number(kind, of)]);
                } else if matches!(expr, Expr::Case { .. }) && is_json(expr) {
                    *expr = call("cast_to_json", vec![expr.clone()]);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            show_numbers(left);
            show_numbers(right);
        }
        SetExpr::Query(query) => show_numbers(&mut query.body),
        _ => {}
    }
}

/// Which columns of a query are numbers with names, and of which kind.
fn kinds(body: &SetExpr) -> Vec<Option<&'static str>> {
    match body {
        SetExpr::Select(select) => {
            let kind = |item: &SelectItem| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    number_of(expr).map(|(kind, _)| kind)
                }
                _ => None,
            };
            select.projection.iter().map(kind).collect()
        }
        SetExpr::SetOperation { left, .. } => kinds(left),
        SetExpr::Query(query) => kinds(&query.body),
        _ => Vec::new(),
    }
}

/// Whether an expression is JSON that a function makes, also where it is one of several. The planner forgets that.
fn is_json(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_json(inner),
        Expr::Function(function) => plain(&function.name)
            .is_some_and(|name| matches!(name.as_str(), "json_build_object" | "json_build_array")),
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter().any(|when| is_json(&when.result))
                || else_result.as_ref().is_some_and(|expr| is_json(expr))
        }
        Expr::Subquery(query) => match query.body.as_ref() {
            SetExpr::Select(select) => match &select.projection[..] {
                [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] => is_json(expr),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// What is cast to a number that has a name.
fn number(kind: &str, of: Expr) -> Expr {
    call(&format!("pg_{kind}"), vec![of])
}

fn say(expr: &mut Expr) {
    match expr {
        Expr::Function(function) => say_function(function),
        Expr::BinaryOp { left, op, right } => {
            if let BinaryOperator::PGCustomBinaryOperator(names) = op
                && let Some(known) = names.last().and_then(|name| operator(name))
            {
                *op = known;
            }
            if matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq) {
                say_comparison(left, right);
                say_function_number(left, right);
                say_function_number(right, left);
            }
        }
        // An empty list of rights beside such a list.
        Expr::Case { conditions, else_result: Some(other), .. } => {
            let is_rights = |expr: &Expr| matches!(expr, Expr::Function(of) if plain(&of.name).is_some_and(|name| name == "acldefault"));
            if conditions.iter().any(|when| is_rights(&when.result))
                && literal(other).is_some_and(|text| text == "{}")
            {
                let kind = Expr::value(Value::SingleQuotedString("c".to_owned()));
                **other = call("acldefault", vec![kind, Expr::value(Value::Number("0".to_owned(), false))]);
            }
        }
        // There are no domains, and no publications of columns.
        Expr::Subquery(query) if is_of_bases(query) || is_of_published(query) => {
            *expr = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(Expr::value(Value::Null)),
                data_type: DataType::BigInt(None),
                array: false,
                format: None,
            };
        }
        Expr::Collate { expr: inner, collation } if has_schema(collation, super::SCHEMA) => {
            let inner = inner.as_ref().clone();
            *expr = inner;
        }
        Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => {
            let inner = match right.as_mut() {
                Expr::Nested(inner) => inner,
                _ => right,
            };
            if let Some(list) = literal(inner).and_then(|text| list(&text, None)) {
                **inner = list;
            }
        }
        Expr::CompoundFieldAccess { root, access_chain } if is_vector(root) => from_one(access_chain),
        // A name is a list of letters, whose first is at 0.
        Expr::CompoundFieldAccess { root, access_chain } if is_first_letter(root, access_chain) => {
            let number = |number: &str| Expr::value(Value::Number(number.to_owned(), false));
            *expr = call("substr", vec![root.as_ref().clone(), number("1"), number("1")]);
        }
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr: inner, data_type, .. } => {
            if let Some(name) = custom(data_type)
                && NUMBERS.contains(&name.as_str())
            {
                let of = inner.as_ref().clone();
                *expr = number(&name, of);
                return;
            }
            say_type(data_type);
            if let DataType::Array(ArrayElemTypeDef::SquareBracket(..)) = data_type
                && let Some(list) = literal(inner).and_then(|text| list(&text, None))
            {
                **inner = list;
            }
        }
        _ => {}
    }
    if let Expr::Function(function) = expr {
        if let Some(said) = array_of_query(function) {
            *expr = said;
        } else if let Some(said) = subscripts(function).or_else(|| lower_bound(function)) {
            *expr = said;
        }
    }
}

/// A function by its name that is compared with 0; a list of numbers that is written as a text.
fn say_comparison(left: &Expr, right: &mut Expr) {
    let Some(last) = last(left) else { return };
    if let Expr::Value(value) = right
        && let Value::Number(number, _) = &value.value
        && FUNCTIONS.contains(&last.as_str())
        && number == "0"
    {
        *right = Expr::value(Value::SingleQuotedString("-".to_owned()));
    } else if last == "polroles"
        && let Some(list) = literal(right).and_then(|text| list(&text, Some(&DataType::BigInt(None))))
    {
        *right = list;
    }
}

fn last(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(ident(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(ident),
        _ => None,
    }
}

/// The number of a function that is compared with a column that is one by its name.
fn say_function_number(number: &mut Expr, column: &Expr) {
    let is_function = last(column).is_some_and(|name| FUNCTIONS.contains(&name.as_str()));
    if !is_function || last(number).is_none_or(|name| name != "oid") {
        return;
    }
    match number {
        Expr::Identifier(name) => *name = Ident::new("proname"),
        Expr::CompoundIdentifier(parts) => {
            parts.pop();
            parts.push(Ident::new("proname"));
        }
        _ => {}
    }
}

/// Whether a query is about the columns of a table that is published, by a list of the row around it.
fn is_of_published(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    select.from.iter().any(|from| match &from.relation {
        TableFactor::Table { args: Some(args), name, .. } => {
            let is_series = plain(name).is_some_and(|name| name == "generate_series");
            let names = |arg: &FunctionArg| arg.to_string().contains(".prattrs");
            is_series && args.args.iter().any(names)
        }
        _ => false,
    })
}

fn is_of_bases(query: &Query) -> bool {
    let with = query.with.as_ref().filter(|with| with.recursive);
    with.is_some_and(|with| with.cte_tables.iter().any(|table| ident(&table.alias.name) == BASES))
}

fn say_function(function: &mut Function) {
    if has_schema(&function.name, super::SCHEMA) {
        function.name.0.remove(0);
    }
    let last = function.name.0.last().and_then(|part| part.as_ident()).map(ident);
    match last.as_deref() {
        Some("_pg_expandarray") => {
            if let FunctionArguments::List(list) = &function.args
                && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(of))] = &list.args[..]
                && let Expr::Function(said) =
                    call("unnest", vec![call(super::expand::NAME, vec![of.clone()])])
            {
                *function = said;
            }
        }
        // The number of a sequence is its name here.
        Some("nextval" | "currval" | "setval") => {
            if let FunctionArguments::List(list) = &mut function.args
                && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(of))) = list.args.first_mut()
                && let Expr::Function(cast) = of
                && plain(&cast.name).is_some_and(|name| name == "pg_regclass")
                && let FunctionArguments::List(inner) = &cast.args
                && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(name))] = &inner.args[..]
            {
                *of = name.clone();
            }
        }
        Some("pg_partition_ancestors") if !is_argument(function) => {
            if let Expr::Function(said) = call("unnest", vec![Expr::Function(function.clone())]) {
                *function = said;
            }
        }
        _ => {}
    }
}

/// Whether there is nothing to unnest: it was said already.
fn is_argument(function: &Function) -> bool {
    matches!(function.args, FunctionArguments::None | FunctionArguments::Subquery(_))
}

/// `ARRAY (SELECT …)`: the list of the rows; an empty one where there are none.
fn array_of_query(function: &Function) -> Option<Expr> {
    let FunctionArguments::Subquery(query) = &function.args else { return None };
    if plain(&function.name)? != "array" {
        return None;
    }
    let mut around = parse_query("SELECT array_agg(listed.v) FROM (SELECT 1) AS listed (v)").ok()?;
    if let SetExpr::Select(select) = around.body.as_mut()
        && let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        *subquery = query.clone();
    }
    Some(call(super::filled::NAME, vec![Expr::Subquery(Box::new(around))]))
}

/// `generate_subscripts` of a vector: from 0.
fn subscripts(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(of)), _] = &list.args[..] else { return None };
    if plain(&function.name)? != "generate_subscripts" || !is_vector(of) {
        return None;
    }
    let length = call("array_length", vec![of.clone()]);
    let zero = Expr::value(Value::Number("0".to_owned(), false));
    Some(call("unnest", vec![call("range", vec![zero, length])]))
}

/// `array_lower`: 1, and NULL of a list without items; 0 of a vector.
fn lower_bound(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(of)), _] = &list.args[..] else { return None };
    if plain(&function.name)? != "array_lower" {
        return None;
    }
    let number = |number: &str| Expr::value(Value::Number(number.to_owned(), false));
    if is_vector(of) {
        return Some(number("0"));
    }
    let length = call("array_length", vec![of.clone()]);
    Some(call("nullif", vec![call("least", vec![number("1"), length]), number("0")]))
}

fn is_first_letter(root: &Expr, chain: &[AccessExpr]) -> bool {
    let is_zero = |index: &Expr| index.to_string() == "0";
    let is_name = last(root).is_some_and(|name| name == "typname");
    is_name && matches!(chain, [AccessExpr::Subscript(Subscript::Index { index })] if is_zero(index))
}

/// Whether an expression is a vector, by its name.
fn is_vector(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(parts) => match parts.last() {
            Some(last) => last,
            None => return false,
        },
        Expr::Nested(inner) => return is_vector(inner),
        _ => return false,
    };
    VECTORS.contains(&ident(name).as_str())
}

/// Places from 0 as places from 1.
fn from_one(chain: &mut [AccessExpr]) {
    for access in chain {
        if let AccessExpr::Subscript(Subscript::Index { index }) = access {
            let one = Expr::value(Value::Number("1".to_owned(), false));
            let left = Box::new(Expr::Nested(Box::new(index.clone())));
            *index = Expr::BinaryOp { left, op: BinaryOperator::Plus, right: Box::new(one) };
        }
    }
}

fn operator(name: &str) -> Option<BinaryOperator> {
    use BinaryOperator as Op;
    Some(match name {
        "~" => Op::PGRegexMatch,
        "~*" => Op::PGRegexIMatch,
        "!~" => Op::PGRegexNotMatch,
        "!~*" => Op::PGRegexNotIMatch,
        "~~" => Op::PGLikeMatch,
        "~~*" => Op::PGILikeMatch,
        "!~~" => Op::PGNotLikeMatch,
        "!~~*" => Op::PGNotILikeMatch,
        "=" => Op::Eq,
        "<>" | "!=" => Op::NotEq,
        "<" => Op::Lt,
        "<=" => Op::LtEq,
        ">" => Op::Gt,
        ">=" => Op::GtEq,
        "+" => Op::Plus,
        "-" => Op::Minus,
        "*" => Op::Multiply,
        "/" => Op::Divide,
        "%" => Op::Modulo,
        "||" => Op::StringConcat,
        _ => return None,
    })
}

/// A type of PostgreSQL's own as the planner knows it.
fn say_type(ty: &mut DataType) {
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) = ty {
        return say_type(item);
    }
    let Some(name) = custom(ty) else { return };
    let is_schema = matches!(ty, DataType::Custom(name, _) if has_schema(name, super::SCHEMA));
    *ty = match name.as_str() {
        "oid" | "xid" | "cid" => DataType::BigInt(None),
        "name" | "char" | "bpchar" | "cstring" | "pg_node_tree" | "regproc" => DataType::Text,
        "text" | "varchar" if is_schema => DataType::Text,
        "int2" if is_schema => DataType::SmallInt(None),
        "int4" if is_schema => DataType::Integer(None),
        "int8" if is_schema => DataType::BigInt(None),
        "bool" if is_schema => DataType::Boolean,
        "float4" if is_schema => DataType::Real,
        "float8" if is_schema => DataType::DoublePrecision,
        _ => return,
    };
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The list that a text of PostgreSQL's form is: `{a,"b c",NULL}`.
pub(crate) fn list(text: &str, item: Option<&DataType>) -> Option<Expr> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let is_number = |ty: &DataType| {
        matches!(ty, DataType::BigInt(_) | DataType::SmallInt(_) | DataType::Integer(_) | DataType::Int(_))
    };
    let mut items = Vec::new();
    for (part, is_quoted) in parts(inside)? {
        items.push(match (part.as_str(), item) {
            (null, _) if !is_quoted && null.eq_ignore_ascii_case("null") => Expr::value(Value::Null),
            (number, Some(ty)) if is_number(ty) => Expr::value(Value::Number(number.to_owned(), false)),
            _ => Expr::value(Value::SingleQuotedString(part)),
        });
    }
    Some(Expr::Array(ast::Array { elem: items, named: true }))
}

/// The items of a text, and whether each was in quotes.
fn parts(inside: &str) -> Option<Vec<(String, bool)>> {
    if inside.trim().is_empty() {
        return Some(Vec::new());
    }
    let (mut all, mut part, mut was_quoted, mut is_quoted) = (Vec::new(), String::new(), false, false);
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => part.push(chars.next()?),
            '"' => (is_quoted, was_quoted) = (!is_quoted, true),
            ',' if !is_quoted => all.push((std::mem::take(&mut part), std::mem::take(&mut was_quoted))),
            // Of several dimensions.
            '{' | '}' if !is_quoted => return None,
            c => part.push(c),
        }
    }
    all.push((part, was_quoted));
    (!is_quoted).then_some(all)
}

fn say_factor(factor: &mut TableFactor) {
    let TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } = factor else { return };
    let Some(function) = plain(name) else { return };
    // What is called so has its column called so, too.
    if has_schema(name, super::SCHEMA)
        && let Some(alias) = alias
        && alias.columns.is_empty()
        && matches!(function.as_str(), "unnest" | "generate_series")
    {
        alias.columns = vec![ast::TableAliasColumnDef { name: alias.name.clone(), data_type: None }];
    }
    let arguments = args.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    match function.as_str() {
        // There are no triggers of events, whose tags these would be.
        "unnest" if args.args.iter().any(|arg| arg.to_string().ends_with("evttags")) => {
            *factor = nothing("CAST(NULL AS TEXT)", alias.clone());
        }
        "unnest" => {
            *factor = TableFactor::UNNEST {
                alias: alias.clone(),
                array_exprs: arguments.collect(),
                with_offset: false,
                with_offset_alias: None,
                with_ordinality: *with_ordinality,
            };
        }
        // No table has parts.
        "pg_partition_ancestors" => {
            let columns = if *with_ordinality {
                "CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)"
            } else {
                "CAST(NULL AS BIGINT)"
            };
            *factor = nothing(columns, alias.clone());
        }
        // Nothing has options.
        "pg_options_to_table" => {
            let columns = "CAST(NULL AS TEXT) AS option_name, CAST(NULL AS TEXT) AS option_value";
            *factor = nothing(columns, alias.clone());
        }
        "pg_get_keywords" => {
            if let TableFactor::Table { name, args, .. } = factor {
                *name = ObjectName(
                    [super::SCHEMA, "pg_get_keywords"]
                        .map(|part| ObjectNamePart::Identifier(Ident::new(part)))
                        .to_vec(),
                );
                *args = None;
            }
        }
        _ => {
            if has_schema(name, super::SCHEMA) {
                name.0.remove(0);
            }
        }
    }
}

/// No rows of these columns.
fn nothing(columns: &str, alias: Option<ast::TableAlias>) -> TableFactor {
    let query = parse_query(&format!("SELECT {columns} WHERE false"));
    let subquery = Box::new(query.unwrap_or_else(|error| unreachable!("{columns}: {error}")));
    TableFactor::Derived { lateral: false, subquery, alias, sample: None }
}
