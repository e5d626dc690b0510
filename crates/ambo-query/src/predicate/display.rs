//! Conditions as text, as in a WHERE.

use std::fmt;

use super::{Arithmetic, Compare, Operand, Predicate, TextTest};

/// A comparison as it is written.
fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "=",
        Compare::NotEqual => "<>",
        Compare::Less => "<",
        Compare::LessEqual => "<=",
        Compare::Greater => ">",
        Compare::GreaterEqual => ">=",
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column { relation: 0, column } => write!(f, "#{column}"),
            Self::Column { relation, column } => write!(f, "#{relation}.{column}"),
            Self::Literal(value) => write!(f, "{value}"),
            Self::Parameter(number) => write!(f, "${}", number + 1),
            Self::Arithmetic(left, what, right) => write!(f, "({left} {what} {right})"),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter<'_>, parts: &[Self], word: &str, none: &str| match parts {
            [] => f.write_str(none),
            parts => {
                let parts: Vec<_> = parts.iter().map(Self::to_string).collect();
                write!(f, "({})", parts.join(word))
            }
        };
        match self {
            Self::Compare(compare, left, right) => write!(f, "{left} {} {right}", sign(*compare)),
            Self::In(operand, list) => {
                let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                write!(f, "{operand} IN ({})", list.join(", "))
            }
            Self::Between(operand, low, high) => write!(f, "{operand} BETWEEN {low} AND {high}"),
            Self::IsNull(operand) => write!(f, "{operand} IS NULL"),
            Self::Text(operand, TextTest::Prefix(text)) => {
                write!(f, "{operand} begins with '{}'", text.escape_ascii())
            }
            Self::Text(operand, TextTest::Contains(text)) => {
                write!(f, "{operand} contains '{}'", text.escape_ascii())
            }
            Self::Text(operand, TextTest::Like(text)) => {
                write!(f, "{operand} LIKE '{}'", text.escape_ascii())
            }
            Self::And(parts) => joined(f, parts, " AND ", "true"),
            Self::Or(parts) => joined(f, parts, " OR ", "false"),
            Self::Not(part) => write!(f, "NOT ({part})"),
        }
    }
}
