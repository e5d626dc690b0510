//! The tables in FROM and their columns, by which names are looked for.

use arrow::datatypes::{DataType, Field};
use datafusion::{
    common::TableReference,
    sql::sqlparser::ast::{Expr, Ident, SelectItem, SetExpr, TableFactor},
};

use super::super::{
    patterns::call,
    rewrite::{MARK, unmarked},
    trees::text,
};
use crate::{
    Error, Result,
    names::{about, ident, written},
};

/// A column of a table in FROM.
#[derive(Clone)]
pub(super) struct Known {
    pub table: Option<TableReference>,
    pub name: String,
    /// Whether its values may have parts with names.
    pub has_fields: bool,
}

impl Known {
    pub fn new(table: Option<&TableReference>, field: &Field) -> Self {
        let has_fields =
            matches!(field.data_type(), DataType::Struct(_) | DataType::Map(..) | DataType::Null);
        Self { table: table.cloned(), name: field.name().clone(), has_fields }
    }

    fn is_of(&self, table: &str) -> bool {
        self.table.as_ref().is_some_and(|of| of.table() == table)
    }
}

/// The columns of the tables in FROM.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub columns: Vec<Known>,
    /// Whether there are tables of which it cannot be told.
    pub has_others: bool,
    /// Functions whose column is called by another name, and that.
    pub series: Vec<(String, String)>,
}

/// What a name is to the tables in FROM.
pub(super) enum Found {
    Exactly,
    /// Under a name with other large and small letters, or a mark.
    As(String),
    Not,
}

impl Scope {
    /// The table of a name in FROM.
    pub fn table(&self, name: &Ident) -> Option<String> {
        let wanted = ident(name);
        let mut tables =
            self.columns.iter().filter_map(|column| column.table.as_ref().map(TableReference::table));
        let found = tables.clone().find(|table| *table == wanted);
        found
            .or_else(|| tables.find(|table| table.to_lowercase() == wanted.to_lowercase()))
            .map(str::to_owned)
    }

    /// Whether a name is that of a column without fields.
    pub fn is_plain(&self, name: &Ident) -> bool {
        let wanted = ident(name).to_lowercase();
        let mut alike = self.columns.iter().filter(|known| known.name.to_lowercase() == wanted).peekable();
        alike.peek().is_some() && alike.all(|known| !known.has_fields)
    }

    /// What stands before a column of a table so that it is found by nothing but this: a schema that is none, if the table says none.
    pub fn qualifier(&self, table: &str) -> Vec<Ident> {
        let named =
            self.columns.iter().filter_map(|known| known.table.as_ref()).find(|of| of.table() == table);
        let schema = named.and_then(TableReference::schema).map_or(MARK.to_string(), str::to_owned);
        let parts = named.and_then(TableReference::catalog).map(str::to_owned).into_iter().chain([schema]);
        parts.map(|part| Ident::with_quote('"', part)).collect()
    }

    /// The row of a table as a struct.
    pub fn row(&self, table: &str) -> Expr {
        let columns = self.columns.iter().filter(|known| known.is_of(table));
        let parts = columns.flat_map(|known| {
            let parts = [table, &known.name].map(|part| Ident::with_quote('"', part));
            [text(unmarked(&known.name)), Expr::CompoundIdentifier(parts.to_vec())]
        });
        call("named_struct", parts.collect())
    }

    pub fn column(&self, table: Option<&str>, name: &Ident) -> Result<Found> {
        let wanted = ident(name);
        let of_table = self.columns.iter().filter(|known| table.is_none_or(|table| known.is_of(table)));
        let mut alike: Vec<&str> = Vec::new();
        for Known { name: column, .. } in of_table {
            if *column == wanted {
                return Ok(Found::Exactly);
            }
            // Nor does it matter that a column of a query had to be told apart from another.
            let is_alike = unmarked(column).to_lowercase() == wanted.to_lowercase();
            if is_alike && !alike.contains(&column.as_str()) {
                alike.push(column);
            }
        }
        match &alike[..] {
            [] => Ok(Found::Not),
            [one] => Ok(Found::As((*one).to_owned())),
            several => {
                let names = several
                    .iter()
                    .map(|name| format!("\"{}\"", unmarked(name)))
                    .collect::<Vec<_>>()
                    .join(" and ");
                let error = Error::invalid(format!("column \"{wanted}\" is ambiguous: there are {names}"))
                    .with_hint("in double quotes a name is found as it is written");
                Err(about(error, name))
            }
        }
    }
}

/// A function of FROM whose column is called as the function is there.
pub(super) fn series(factor: &TableFactor) -> Option<(String, String)> {
    let (function, alias) = match factor {
        TableFactor::Table { name, args: Some(_), alias: Some(alias), .. } => (written(name).ok()?, alias),
        // One with columns of other tables.
        TableFactor::Derived { subquery, alias: Some(alias), .. } => match subquery.body.as_ref() {
            SetExpr::Select(select) => match &select.projection[..] {
                [SelectItem::ExprWithAlias { alias: function, .. }] => (ident(function), alias),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let is_own = matches!(&alias.columns[..], [column] if column.name == alias.name);
    let is_known = matches!(function.as_str(), "range" | "generate_series");
    (is_own && is_known).then(|| (function, ident(&alias.name)))
}
