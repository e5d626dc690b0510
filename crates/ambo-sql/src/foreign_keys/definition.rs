//! The text of a foreign key, and what can be one.

use ambo::{Check, Definitions, Table, TableDefinition};
use datafusion::sql::sqlparser::{
    ast::{
        ConstraintCharacteristics, DeferrableInitial, ForeignKeyConstraint, Ident, ReferentialAction,
        TableConstraint,
    },
    parser::Parser,
};

use crate::{
    Error, Result,
    names::{about, ident, object, quoted, quoted_object, shown},
    parse::DIALECT,
};

const FOREIGN_KEY: &str = "FOREIGN KEY (";
const REFERRER: &str = "REFERENCED BY ";

/// Whether the text of a check is no condition, but that of a foreign key or of a table that refers.
pub(crate) fn is_kept_text(text: &str) -> bool {
    text.starts_with(FOREIGN_KEY) || text.starts_with(REFERRER)
}

/// A foreign key of a table.
#[derive(Clone, Debug)]
pub(crate) struct ForeignKey {
    pub name: String,
    /// The table that refers, by its whole name.
    pub child: String,
    /// Its columns, in the order of those that they refer to.
    pub columns: Vec<String>,
    /// The table that is referred to, by its whole name.
    pub parent: String,
    /// The columns of its key.
    pub referred: Vec<String>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
    pub is_deferrable: bool,
    pub is_deferred: bool,
}

/// Who refers to a table: kept with its checks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Referrer {
    pub child: String,
    pub constraint: String,
}

impl Referrer {
    pub(crate) fn check(&self) -> Check {
        let Self { child, constraint } = self;
        Check::new(
            format!("referenced by {child} {constraint}"),
            format!("{REFERRER}{} CONSTRAINT {}", quoted_object(child), quoted(constraint)),
        )
    }

    /// Those of a table.
    pub(crate) fn all(table: &TableDefinition) -> Vec<Self> {
        let of = |check: &Check| {
            let text = check.expression.strip_prefix(REFERRER)?;
            let mut parser = Parser::new(&DIALECT).try_with_sql(text).ok()?;
            let child = parser.parse_object_name(false).ok()?;
            parser.expect_keyword(datafusion::sql::sqlparser::keywords::Keyword::CONSTRAINT).ok()?;
            let constraint = ident(&parser.parse_identifier().ok()?);
            Some(Self { child: ambo::qualify(&object(&child).ok()?).ok()?, constraint })
        };
        table.checks.iter().filter_map(of).collect()
    }
}

impl ForeignKey {
    /// Those of a table.
    ///
    /// # Errors
    /// A text that cannot be read.
    pub(crate) fn all(table: &TableDefinition) -> Result<Vec<Self>> {
        let texts = table.checks.iter().filter(|check| check.expression.starts_with(FOREIGN_KEY));
        texts.map(|check| Self::read(table, check)).collect()
    }

    /// The foreign keys that refer to a table.
    ///
    /// # Errors
    /// As [`ForeignKey::all`].
    pub(crate) fn to(definitions: &Definitions<'_>, table: &TableDefinition) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for Referrer { child, constraint } in Referrer::all(table) {
            // One that is gone refers to nothing.
            let Ok(child) = definitions.table(&child) else { continue };
            all.extend(Self::all(child.definition())?.into_iter().filter(|key| key.name == constraint));
        }
        Ok(all)
    }

    fn read(table: &TableDefinition, check: &Check) -> Result<Self> {
        let mut parser = Parser::new(&DIALECT).try_with_sql(&check.expression)?;
        match parser.parse_optional_table_constraint()? {
            Some(TableConstraint::ForeignKey(of)) => Self::of(table, &check.name, &of),
            _ => Err(Error::invalid(format!("constraint \"{}\" cannot be read", check.name))),
        }
    }

    /// What a statement says.
    fn of(table: &TableDefinition, name: &str, of: &ForeignKeyConstraint) -> Result<Self> {
        let ForeignKeyConstraint { columns, foreign_table, referred_columns, characteristics, .. } = of;
        if of.match_kind.as_ref().is_some_and(|kind| !kind.to_string().ends_with("SIMPLE")) {
            return Err(Error::invalid("not supported: MATCH FULL, MATCH PARTIAL")
                .with_hint("a key with a NULL in it refers to nothing; CHECK can ask for all or none"));
        }
        let ConstraintCharacteristics { deferrable, initially, enforced } = characteristics
            .unwrap_or(ConstraintCharacteristics { deferrable: None, initially: None, enforced: None });
        if enforced == Some(false) {
            return Err(Error::invalid("a foreign key that is NOT ENFORCED is none; leave it out"));
        }
        let is_deferred = initially == Some(DeferrableInitial::Deferred);
        if is_deferred && deferrable == Some(false) {
            return Err(Error::invalid("NOT DEFERRABLE and INITIALLY DEFERRED exclude each other"));
        }
        Ok(Self {
            name: name.to_owned(),
            child: table.name.clone(),
            columns: columns.iter().map(ident).collect(),
            parent: ambo::qualify(&object(foreign_table)?)?,
            referred: referred_columns.iter().map(ident).collect(),
            on_delete: of.on_delete.unwrap_or(ReferentialAction::NoAction),
            on_update: of.on_update.unwrap_or(ReferentialAction::NoAction),
            is_deferrable: deferrable.unwrap_or(is_deferred),
            is_deferred,
        })
    }

    /// A foreign key that a table is to have, with all that it leaves open.
    ///
    /// # Errors
    /// A table or columns that are not there, columns that do not keep rows apart, types that are not the same.
    pub(crate) fn declared(
        definitions: &Definitions<'_>,
        table: &TableDefinition,
        of: &ForeignKeyConstraint,
        unique: &[Vec<String>],
    ) -> Result<Self> {
        let mut key = Self::of(table, "", of)?;
        let own = key.parent == table.name;
        let parent = match own {
            true => None,
            false => Some(
                definitions
                    .table(&key.parent)
                    .map_err(|error| crate::names::about_object(error, &of.foreign_table))?,
            ),
        };
        let referred = parent.as_ref().map_or(table, Table::definition);
        if key.referred.is_empty() {
            let primary = referred.primary_columns();
            key.referred = primary.iter().map(|place| referred.columns[*place].name.clone()).collect();
        }
        if key.referred.is_empty() || key.referred.len() != key.columns.len() {
            return Err(Error::invalid(format!(
                "{} columns refer to {} of table \"{}\"",
                key.columns.len(),
                key.referred.len(),
                shown(&key.parent)
            )));
        }
        let find = |table: &TableDefinition, name: &str, written: &[Ident]| {
            let known = || table.columns.iter().map(|column| column.name.as_str());
            let place = table.column_index(name).ok_or_else(|| Error::not_found("column", name, known()));
            place.map_err(|error| match written.iter().find(|of| ident(of) == name) {
                Some(of) => about(error, of),
                None => error,
            })
        };
        for (own, other) in key.columns.iter().zip(&key.referred) {
            let of_child = &table.columns[find(table, own, &of.columns)?];
            let of_parent = &referred.columns[find(referred, other, &of.referred_columns)?];
            if (of_child.kind, &of_child.logical) != (of_parent.kind, &of_parent.logical) {
                return Err(Error::invalid(format!(
                    "column \"{own}\" is of type {}, and \"{other}\", to which it refers, of type {}",
                    of_child.type_name(),
                    of_parent.type_name()
                )));
            }
        }
        let same = |columns: &[String]| {
            columns.len() == key.referred.len() && key.referred.iter().all(|name| columns.contains(name))
        };
        let mut apart = match &parent {
            None => unique.to_vec(),
            Some(parent) => unique_columns(parent),
        };
        if !referred.duplicates {
            let primary = referred.primary_columns().iter();
            apart.push(primary.map(|place| referred.columns[*place].name.clone()).collect());
        }
        if !apart.iter().any(|columns| same(columns)) {
            return Err(Error::invalid(format!(
                "({}) is neither the primary key of table \"{}\" nor unique",
                key.referred.join(", "),
                shown(&key.parent)
            )));
        }
        Ok(key)
    }

    /// The check that it is kept as.
    pub(crate) fn check(&self) -> Check {
        Check::new(&self.name, self.text())
    }

    /// As statements write it, without its name.
    pub(crate) fn text(&self) -> String {
        let names = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "{FOREIGN_KEY}{}) REFERENCES {} ({})",
            names(&self.columns),
            quoted_object(&self.parent),
            names(&self.referred)
        );
        for (when, action) in [("DELETE", self.on_delete), ("UPDATE", self.on_update)] {
            if action != ReferentialAction::NoAction {
                text.push_str(&format!(" ON {when} {action}"));
            }
        }
        text.push_str(match (self.is_deferrable, self.is_deferred) {
            (_, true) => " DEFERRABLE INITIALLY DEFERRED",
            (true, false) => " DEFERRABLE",
            (false, false) => "",
        });
        text
    }

    pub(crate) fn referrer(&self) -> Referrer {
        Referrer { child: self.child.clone(), constraint: self.name.clone() }
    }
}

/// What keeps rows of a table apart beside its primary key.
fn unique_columns(table: &Table) -> Vec<Vec<String>> {
    let columns = &table.definition().columns;
    let indexes = crate::catalog::indexes(table);
    let unique = indexes.iter().filter(|index| index.is_unique());
    unique.map(|index| index.columns().iter().map(|place| columns[*place].name.clone()).collect()).collect()
}
