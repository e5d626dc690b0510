//! Enums that users have created, by the numbers that PostgreSQL's clients know types by.

use std::collections::HashSet;

use ambo::{Definitions, ObjectKind};
use datafusion::sql::sqlparser::ast::{DataType, EnumMember};

use super::gather::{fixed, schema_of};
use crate::{Connection, Result, names::split, parse::parse_type, rows::joined};

/// The enums that there are: their whole names, and their labels.
///
/// # Errors
/// A text that is no type, which an older version cannot read.
pub(super) fn enums(definitions: &Definitions<'_>) -> Result<Vec<(String, Vec<String>)>> {
    let mut all = Vec::new();
    for object in definitions.objects(ObjectKind::Type) {
        let DataType::Enum(members, _) = parse_type(&object.text)? else { continue };
        let label = |member| match member {
            EnumMember::Name(label) | EnumMember::NamedValue(label, _) => label,
        };
        all.push((object.name.clone(), members.into_iter().map(label).collect()));
    }
    Ok(all)
}

/// The numbers of an enum and of arrays of it.
pub(super) fn numbers(taken: &mut HashSet<i64>, schema: &str, name: &str) -> (i64, i64) {
    let whole = format!("{schema}.{name}");
    (fixed("type", &whole, taken), fixed("array", &whole, taken))
}

impl Connection {
    /// The number that `pg_type` has of the enum with these labels, as a field of rows has them ([`crate::ENUM_LABELS`]). `None` if there
    /// is no such enum, or more than one.
    ///
    /// # Errors
    /// A type that an older version cannot read.
    pub fn postgres_enum(&self, labels: &str) -> Result<Option<u32>> {
        let (mut taken, mut found) = (HashSet::new(), None);
        for (object, own) in enums(&self.definitions())? {
            let (schema, name) = split(&object);
            let (_, schema) = schema_of(&mut taken, false, schema);
            let (number, _) = numbers(&mut taken, &schema, name);
            if joined(own.iter().map(String::as_str)) != labels {
                continue;
            }
            if found.is_some() {
                return Ok(None);
            }
            found = u32::try_from(number).ok();
        }
        Ok(found)
    }
}
