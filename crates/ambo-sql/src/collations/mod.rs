//! Collations: by what texts are compared, put in order and grouped.
//!
//! | name | two texts are compared by |
//! |---|---|
//! | `binary`, `c`, `posix`, `default` | their code points, as without COLLATE |
//! | `nocase` | `lower(x)` |
//! | `noaccent` | `strip_accents(x)` |
//!
//! They are joined by points: `nocase.noaccent`. A column has one by its logical type (`ambo::Logical::Collated`), an expression by
//! COLLATE, which is the function [`COLLATE`] in plans; both are said by Arrow's metadata of a field, which goes along with columns of
//! queries. What a collation changes of a plan is in `rule`, of an expression in `compare`.

mod compare;
mod derived;
mod function;
mod groups;
mod rule;

use std::fmt;

use datafusion::sql::sqlparser::ast::Expr;

pub(crate) use compare::compared;
use function::collate;
pub(crate) use function::{COLLATE, Collate};
pub(crate) use rule::Collations;

use crate::{Error, Result, parse::parse_expression};

/// What makes no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collation {
    case: bool,
    accents: bool,
}

impl Collation {
    /// # Errors
    /// There is none of this name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let mut found = Self::default();
        for part in name.to_lowercase().split('.') {
            match part {
                "nocase" => found.case = true,
                "noaccent" => found.accents = true,
                "binary" | "c" | "posix" | "default" | "pg_catalog" => {}
                _ => {
                    let known = ["binary", "nocase", "noaccent", "nocase.noaccent"];
                    return Err(Error::not_found("collation", name, known.into_iter()));
                }
            }
        }
        Ok(found)
    }

    /// Whether code points are compared.
    pub(crate) fn is_binary(&self) -> bool {
        *self == Self::default()
    }

    /// What is compared of a text, as statements write it.
    ///
    /// # Errors
    /// None: the text is ours.
    pub(crate) fn key_text(&self, text: &Expr) -> Result<Expr> {
        let mut key = text.to_string();
        if self.accents {
            key = format!("strip_accents({key})");
        }
        if self.case {
            key = format!("lower({key})");
        }
        parse_expression(&key)
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.case.then_some("nocase"), self.accents.then_some("noaccent")];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { "binary".to_owned() } else { parts.join(".") }.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: names that mean something else when they are read again, and names that are taken for others.
    #[test]
    fn names_are_read_as_they_are_written() {
        for (name, written) in
            [("NOCASE", "nocase"), ("noaccent.nocase", "nocase.noaccent"), ("POSIX", "binary")]
        {
            let read = Collation::named(name).unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(Collation::named(written).unwrap(), read);
        }
        for unknown in ["nosuch", "und", "", "nocase."] {
            assert!(Collation::named(unknown).is_err(), "{unknown}");
        }
    }
}
