//! What a scan asks of a column, with constants of its own.

use std::{fmt, sync::Arc};

use ambo_codec::{
    Result, Type, Value,
    column::{Compare, KeySet, Predicate},
};

use crate::bounds::physical;

/// A question about a value. NULL answers it with no, but for the one about NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// How the value compares with a constant.
    Compare(Compare, Value),
    /// At least the first and at most the second.
    Between(Value, Value),
    /// One of these.
    In(Vec<Value>),
    /// Text or bytes that begin so.
    Prefix(Vec<u8>),
    /// Text or bytes with these in them.
    Contains(Vec<u8>),
    /// Text or bytes that are LIKE a pattern, by what is between its `%`: two pieces at least, which may be empty.
    Like(Vec<Vec<u8>>),
    /// Integers, dates and times that are in a set. Of decimals, by the low 64 bits of their unscaled integers.
    Among(Arc<KeySet>),
    /// A value that another question about values answers with no. NULL answers no to both.
    Not(Box<Test>),
    /// NULL.
    IsNull,
    /// Not NULL.
    IsNotNull,
}

impl Test {
    /// The same question with constants in the type of the column where they have a value there: integers of other widths, decimals
    /// of another scale. A constant that has none there is left as it is: blocks compare numbers of any type.
    ///
    /// # Errors
    /// A constant that cannot be compared with values of the column.
    pub fn fit(self, ty: Type) -> Result<Self> {
        Ok(match self {
            Self::Compare(compare, constant) => Self::Compare(compare, fit(constant, ty)?),
            Self::Between(low, high) => Self::Between(fit(low, ty)?, fit(high, ty)?),
            Self::In(list) => {
                Self::In(list.into_iter().map(|constant| fit(constant, ty)).collect::<Result<_>>()?)
            }
            Self::Not(test) => Self::Not(Box::new(test.fit(ty)?)),
            Self::Among(_) if ty.is_variable() || matches!(ty, Type::F32 | Type::F64) => {
                return Err(ambo_codec::Error::invalid(format!(
                    "a set of integers asked of a column of type {ty}"
                )));
            }
            Self::Prefix(_) | Self::Contains(_) | Self::Like(_) if !ty.is_variable() => {
                return Err(ambo_codec::Error::invalid(format!(
                    "a part of text asked of a column of type {ty}"
                )));
            }
            other => other,
        })
    }

    /// Calls `then` with the question as blocks take it.
    pub fn with<R>(&self, then: impl FnOnce(&Predicate<'_>) -> R) -> R {
        match self {
            Self::Compare(compare, constant) => {
                then(&Predicate::Compare(*compare, physical(constant.as_ref())))
            }
            Self::Between(low, high) => {
                then(&Predicate::Between(physical(low.as_ref()), physical(high.as_ref())))
            }
            Self::In(list) => {
                let list: Vec<_> = list.iter().map(|value| physical(value.as_ref())).collect();
                then(&Predicate::In(&list))
            }
            Self::Prefix(prefix) => then(&Predicate::Prefix(prefix)),
            Self::Contains(part) => then(&Predicate::Contains(part)),
            Self::Like(pieces) => {
                let pieces: Vec<_> = pieces.iter().map(|piece| &piece[..]).collect();
                then(&Predicate::Like(&pieces))
            }
            Self::Among(set) => then(&Predicate::Among(set)),
            Self::Not(test) => {
                let then: Box<dyn FnOnce(&Predicate<'_>) -> R + '_> =
                    Box::new(|inner| then(&Predicate::Not(inner)));
                test.with(then)
            }
            Self::IsNull => then(&Predicate::IsNull),
            Self::IsNotNull => then(&Predicate::IsNotNull),
        }
    }
}

/// As in a WHERE, without the column.
impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(compare, constant) => {
                let sign = match compare {
                    Compare::Equal => "=",
                    Compare::NotEqual => "<>",
                    Compare::Less => "<",
                    Compare::LessEqual => "<=",
                    Compare::Greater => ">",
                    Compare::GreaterEqual => ">=",
                };
                write!(f, "{sign} {constant}")
            }
            Self::Between(low, high) => write!(f, "between {low} and {high}"),
            Self::In(list) => {
                let list: Vec<_> = list.iter().map(Value::to_string).collect();
                write!(f, "in ({})", list.join(", "))
            }
            Self::Prefix(prefix) => write!(f, "begins with '{}'", prefix.escape_ascii()),
            Self::Contains(part) => write!(f, "contains '{}'", part.escape_ascii()),
            Self::Like(pieces) => {
                let pieces: Vec<_> = pieces.iter().map(|piece| piece.escape_ascii().to_string()).collect();
                write!(f, "like '{}'", pieces.join("%"))
            }
            Self::Among(set) => write!(f, "in a set of {}", set.len()),
            Self::Not(test) => write!(f, "not {test}"),
            Self::IsNull => f.write_str("is null"),
            Self::IsNotNull => f.write_str("is not null"),
        }
    }
}

fn fit(constant: Value, ty: Type) -> Result<Value> {
    let is_number = |value: &Value| value.as_ref().as_f64().is_some();
    match constant.clone().fit(ty) {
        Ok(fitting) => Ok(fitting),
        // Only numbers of fixed types are compared with numbers of others; a decimal has to have the column's scale.
        Err(_) if is_number(&constant) && !ty.is_variable() && !matches!(ty, Type::Decimal128 { .. }) => {
            Ok(constant)
        }
        Err(error) => Err(error),
    }
}

/// A question about one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The column: its place in the table's definition, or among the stored columns.
    pub column: usize,
    /// The question.
    pub test: Test,
}

impl Filter {
    /// The same of a stored column of this type.
    ///
    /// # Errors
    /// A constant that cannot be compared with values of the column.
    pub fn stored(&self, column: usize, ty: Type) -> Result<Self> {
        Ok(Self { column, test: self.test.clone().fit(ty)? })
    }
}
