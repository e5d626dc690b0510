//! Types that users create: what their names mean.
//!
//! What is kept of a type is its text, in which the names of other types are those of enums: others are written out when it is created.

use std::{collections::HashMap, sync::Arc};

use ambo::{Definitions, Object, ObjectKind, Part, qualify};
use datafusion::sql::sqlparser::ast::{DataType, ObjectName};

use crate::{Error, Result, names::object, parse::parse_type, statement::declared};

/// The types that there are at one moment, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserTypes(HashMap<String, Arc<Object>>);

impl UserTypes {
    /// Types by the names that they are found under.
    pub(crate) fn new(all: HashMap<String, Arc<Object>>) -> Self {
        Self(all)
    }

    pub(crate) fn of(definitions: &Definitions<'_>) -> Self {
        let all = definitions.objects(ObjectKind::Type);
        Self(all.into_iter().map(|object| (object.name.clone(), object)).collect())
    }

    /// The type of this name as it is kept, with its whole name; `None` if there is none.
    ///
    /// # Errors
    /// A text that is no type, which an older version cannot read.
    pub(crate) fn find(&self, name: &ObjectName) -> Result<Option<(String, DataType)>> {
        let found = |name: &str| self.0.get(&qualify(name).ok()?);
        let wanted = object(name).unwrap_or_default();
        // What PostgreSQL calls the schema that is always there.
        let public = || wanted.strip_prefix("public.").and_then(found);
        let Some(object) = found(&wanted).or_else(public) else { return Ok(None) };
        let ty = parse_type(&object.text);
        let ty = ty.map_err(|error| {
            Error::invalid(format!(
                "type \"{}\" is kept as {}: {}",
                object.name,
                object.text,
                error.message()
            ))
        })?;
        Ok(Some((object.name.clone(), ty)))
    }

    /// A type as it is meant: one that has the name of another that is no enum is that one.
    ///
    /// # Errors
    /// As [`UserTypes::find`].
    pub(crate) fn meant(&self, ty: &DataType) -> Result<DataType> {
        Ok(match ty {
            DataType::Custom(name, modifiers) if modifiers.is_empty() => match self.find(name)? {
                Some((_, of)) if !matches!(of, DataType::Enum(..)) => of,
                _ => ty.clone(),
            },
            ty => ty.clone(),
        })
    }

    /// The name of the first type whose values have those of an enum of this name within.
    ///
    /// # Errors
    /// As [`UserTypes::find`].
    pub(crate) fn user_of(&self, name: &str) -> Result<Option<String>> {
        for object in self.0.values().filter(|object| object.name != name) {
            let part = declared(&parse_type(&object.text)?, self)?;
            if has_enum(&part, name) {
                return Ok(Some(object.name.clone()));
            }
        }
        Ok(None)
    }
}

/// Whether values of a type are those of the enum of this name, or have some within.
pub(crate) fn has_enum(part: &Part, name: &str) -> bool {
    part.enums().iter().any(|of| of.name.as_deref() == Some(name))
}
