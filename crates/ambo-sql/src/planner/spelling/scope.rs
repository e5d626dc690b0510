//! The tables in FROM and their columns, by which names are looked for.

use datafusion::{
    common::TableReference,
    sql::sqlparser::ast::{Ident, SelectItem, SetExpr, TableFactor},
};

use super::super::rewrite::unmarked;
use crate::{
    Error, Result,
    names::{about, ident, written},
};

/// The columns of the tables in FROM.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub columns: Vec<(Option<TableReference>, String)>,
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
            self.columns.iter().filter_map(|(table, _)| table.as_ref().map(TableReference::table));
        let found = tables.clone().find(|table| *table == wanted);
        found
            .or_else(|| tables.find(|table| table.to_lowercase() == wanted.to_lowercase()))
            .map(str::to_owned)
    }

    pub fn column(&self, table: Option<&str>, name: &Ident) -> Result<Found> {
        let wanted = ident(name);
        let of_table = self
            .columns
            .iter()
            .filter(|(of, _)| table.is_none_or(|table| of.as_ref().is_some_and(|of| of.table() == table)));
        let mut alike: Vec<&str> = Vec::new();
        for (_, column) in of_table {
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
