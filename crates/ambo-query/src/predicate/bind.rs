//! Constants that are given later.

use ambo_codec::Value;
use ambo_types::{Error, Result};

use super::{Operand, Predicate};

impl Predicate {
    /// The same condition with constants in the places of its parameters.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are not so many.
    pub fn with_parameters(&self, parameters: &[Value]) -> Result<Self> {
        let all = |parts: &[Self]| -> Result<Vec<Self>> {
            parts.iter().map(|part| part.with_parameters(parameters)).collect()
        };
        Ok(match self {
            Self::Compare(compare, left, right) => {
                Self::Compare(*compare, left.with_parameters(parameters)?, right.with_parameters(parameters)?)
            }
            Self::In(operand, list) => Self::In(operand.with_parameters(parameters)?, list.clone()),
            Self::Between(operand, low, high) => Self::Between(
                operand.with_parameters(parameters)?,
                low.with_parameters(parameters)?,
                high.with_parameters(parameters)?,
            ),
            Self::IsNull(operand) => Self::IsNull(operand.with_parameters(parameters)?),
            Self::Text(operand, test) => Self::Text(operand.with_parameters(parameters)?, test.clone()),
            Self::And(parts) => Self::And(all(parts)?),
            Self::Or(parts) => Self::Or(all(parts)?),
            Self::Not(part) => Self::Not(Box::new(part.with_parameters(parameters)?)),
        })
    }
}

impl Operand {
    fn with_parameters(&self, parameters: &[Value]) -> Result<Self> {
        Ok(match self {
            Self::Parameter(number) => match parameters.get(*number) {
                Some(value) => Self::Literal(value.clone()),
                None => {
                    return Err(Error::Invalid(format!(
                        "the condition has a parameter {}, and {} were given",
                        number + 1,
                        parameters.len()
                    )));
                }
            },
            Self::Arithmetic(left, what, right) => {
                left.with_parameters(parameters)?.with(*what, right.with_parameters(parameters)?)
            }
            Self::Column { .. } | Self::Literal(_) => self.clone(),
        })
    }
}
