//! Which columns a star or COLUMNS stands for.

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName,
    RenameSelectItem, SelectItem, SelectItemQualifiedWildcardKind, Value, WildcardAdditionalOptions,
};
use regex::Regex;

use super::{Column, Stars, column, visitors::Binding};
use crate::{
    Error, Result,
    names::{ident, written},
    parse::LAMBDA,
    planner::{pivot::columns_behind, trees},
    walk::WalkMut,
};

impl Stars<'_> {
    /// The columns that COLUMNS stands for.
    pub(super) fn meant(&self, function: &Function) -> Result<Vec<Column>> {
        let FunctionArguments::List(list) = &function.args else { return Err(unclear(function)) };
        let [FunctionArg::Unnamed(argument)] = &list.args[..] else { return Err(unclear(function)) };
        let none = WildcardAdditionalOptions::default();
        let columns = match argument {
            FunctionArgExpr::Wildcard => self.star(None, &none)?,
            FunctionArgExpr::WildcardWithOptions(options) => self.star(None, options)?,
            FunctionArgExpr::QualifiedWildcard(table) => self.star(Some(table), &none)?,
            FunctionArgExpr::Expr(Expr::Value(value)) => match &value.value {
                Value::SingleQuotedString(pattern) => self.fitting(pattern)?,
                _ => return Err(unclear(function)),
            },
            FunctionArgExpr::Expr(Expr::Array(list)) => {
                list.elem.iter().map(|name| self.called(name, function)).collect::<Result<_>>()?
            }
            FunctionArgExpr::Expr(Expr::Function(lambda))
                if written(&lambda.name).is_ok_and(|name| name == LAMBDA) =>
            {
                self.among(&self.all, lambda)?
            }
            _ => return Err(unclear(function)),
        };
        match columns.is_empty() {
            false => Ok(columns),
            true => {
                let names = self.all.iter().map(|column| column.name.as_str()).collect::<Vec<_>>();
                Err(Error::invalid(format!("{function} stands for no column"))
                    .with_hint(format!("there are {}", names.join(", "))))
            }
        }
    }

    fn fitting(&self, pattern: &str) -> Result<Vec<Column>> {
        let regex = Regex::new(pattern)
            .map_err(|error| Error::invalid(format!("'{pattern}' is no regular expression: {error}")))?;
        let fits = |column: &Column| {
            let captures = regex.captures(&column.name)?;
            let parts =
                captures.iter().map(|part| part.map_or(String::new(), |part| part.as_str().to_owned()));
            Some(Column { parts: parts.collect(), ..column.clone() })
        };
        Ok(self.all.iter().filter_map(fits).collect())
    }

    fn called(&self, name: &Expr, function: &Function) -> Result<Column> {
        let Expr::Value(value) = name else { return Err(unclear(function)) };
        let Value::SingleQuotedString(wanted) = &value.value else { return Err(unclear(function)) };
        let is_it = |column: &&Column| column.name == *wanted;
        let is_alike = |column: &&Column| column.name.eq_ignore_ascii_case(wanted);
        let found = self.all.iter().find(is_it).or_else(|| self.all.iter().find(is_alike));
        let known = self.all.iter().map(|column| column.name.as_str());
        found.cloned().ok_or_else(|| Error::not_found("column", wanted, known))
    }

    /// Those columns whose names fulfil a condition: `lambda name: name LIKE 'a%'`.
    fn among(&self, columns: &[Column], lambda: &Function) -> Result<Vec<Column>> {
        let unclear = || Error::invalid("COLUMNS takes a condition on the name: lambda c: c LIKE 'a%'");
        let arguments = trees::arguments(lambda).ok_or_else(unclear)?;
        let [Expr::Identifier(variable), condition] = &arguments[..] else { return Err(unclear()) };
        let mut query = trees::query("SELECT 1");
        let of_name = |(nth, column): (usize, &Column)| {
            let mut condition = (*condition).clone();
            let name = trees::text(&column.name);
            let _ = condition.walk_mut(&mut Binding { variable, with: &name });
            trees::named(trees::cast_to_text(condition), &nth.to_string())
        };
        trees::select(&mut query).projection = columns.iter().enumerate().map(of_name).collect();
        let row = self.ask.texts(query)?.into_iter().next().unwrap_or_default();
        let chosen = columns.iter().zip(row).filter(|(_, is_it)| is_it.as_deref() == Some("true"));
        Ok(chosen.map(|(column, _)| column.clone()).collect())
    }

    /// All columns of a table, also those that it has in common with others.
    fn of_table(&self, table: &ObjectName) -> Result<Vec<Column>> {
        let star = SelectItemQualifiedWildcardKind::ObjectName(table.clone());
        let star = SelectItem::QualifiedWildcard(star, WildcardAdditionalOptions::default());
        Ok(columns_behind(star, self.from, self.with, self.ask)?.into_iter().map(column).collect())
    }

    /// The columns of a star.
    pub(super) fn star(
        &self,
        table: Option<&ObjectName>,
        options: &WildcardAdditionalOptions,
    ) -> Result<Vec<Column>> {
        let WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        if opt_alias.is_some() {
            return Err(Error::invalid("* has no name of its own"));
        }
        let mut columns = match table {
            None => self.all.clone(),
            Some(table) => self.of_table(table)?,
        };
        let names: Vec<ObjectName> = match opt_exclude {
            None => Vec::new(),
            Some(ExcludeSelectItem::Single(name)) => vec![name.clone()],
            Some(ExcludeSelectItem::Multiple(names)) => names.clone(),
        };
        let except = opt_except
            .iter()
            .flat_map(|except| std::iter::once(&except.first_element).chain(&except.additional_elements));
        for name in names.into_iter().chain(except.cloned().map(ObjectName::from)) {
            let before = columns.len();
            columns.retain(|column| !is_column(column, &name));
            if columns.len() == before {
                return Err(missing(&name, &columns));
            }
        }
        for element in opt_replace.iter().flat_map(|replace| &replace.items) {
            let name = ObjectName::from(element.column_name.clone());
            let column = columns.iter_mut().find(|column| is_column(column, &name));
            match column {
                Some(column) => column.expr = element.expr.clone(),
                None => return Err(missing(&name, &columns)),
            }
        }
        let renamed = match opt_rename {
            None => &[][..],
            Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
            Some(RenameSelectItem::Multiple(all)) => &all[..],
        };
        for one in renamed {
            let name = ObjectName::from(one.ident.clone());
            match columns.iter_mut().find(|column| is_column(column, &name)) {
                Some(column) => column.name = ident(&one.alias),
                None => return Err(missing(&name, &columns)),
            }
        }
        if let Some(ilike) = opt_ilike {
            let condition = trees::expr("\"\u{1}lambda\"(c, c ILIKE 'p')");
            let Expr::Function(mut lambda) = condition else { return Ok(columns) };
            if let FunctionArguments::List(list) = &mut lambda.args
                && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::ILike { pattern, .. }))) =
                    list.args.last_mut()
            {
                **pattern = trees::text(&ilike.pattern);
            }
            return self.among(&columns, &lambda);
        }
        Ok(columns)
    }
}

fn unclear(function: &Function) -> Error {
    Error::invalid(format!("{function}: which columns are meant?")).with_hint(
        "COLUMNS(*), COLUMNS('regular expression'), COLUMNS(['a', 'b']), COLUMNS(lambda c: c LIKE 'a%')",
    )
}

fn missing(name: &ObjectName, columns: &[Column]) -> Error {
    let wanted = name.0.last().and_then(|part| part.as_ident()).map(ident).unwrap_or_default();
    let known = columns.iter().map(|column| column.name.as_str());
    crate::names::about_object(Error::not_found("column", &wanted, known), name)
}

/// Whether a column is called so, with its table or without.
fn is_column(column: &Column, name: &ObjectName) -> bool {
    let wanted = name.0.iter().rev().map(|part| part.as_ident().map(ident));
    match &column.expr {
        Expr::CompoundIdentifier(parts) => {
            let own = parts.iter().rev().map(|part| part.value.clone());
            wanted
                .zip(own)
                .all(|(wanted, own)| wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(&own)))
        }
        _ => wanted
            .take(1)
            .all(|wanted| wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(&column.name))),
    }
}
