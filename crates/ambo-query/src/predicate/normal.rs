//! The form that evaluators are made of: types checked, constants in the types of their columns, NOT moved down to the comparisons.
//!
//! With NOT at the comparisons alone, NULL may count as false everywhere: AND and OR never become false when a part becomes true. Changing
//! the targets of a jump for a NOT instead would take rows like `(NULL, 3)` for `NOT (a = 1 AND b = 2)` with the wrong one of them.

use ambo_codec::{Type, Value, ValueRef};
use ambo_types::{Error, Result};

use super::{
    Compare, Operand, Predicate,
    floor::{Fitted, fit},
    numbers::{are_comparable, is_integer, type_of},
    walk::walk,
};

/// What is known of a column before its values are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) ty: Type,
    pub(super) nullable: bool,
}

/// A column of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) relation: u8,
    pub(super) column: usize,
}

/// A condition without parts. NULL answers each with no, but the one about NULL.
#[derive(Clone, Debug)]
pub(super) enum Leaf {
    /// A column with a constant of its type.
    Constant(Place, Compare, Value),
    /// Two columns of one type.
    Columns(Place, Compare, Place),
    /// Integers that are made of integers.
    Numbers {
        left: Operand,
        by: Compare,
        right: Operand,
        part: Predicate,
        is: bool,
    },
    IsNull(Place),
    IsNotNull(Place),
    /// What the tree walk has to answer with this.
    Walk {
        part: Predicate,
        is: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Normal {
    Known(bool),
    Leaf(Leaf),
    And(Vec<Normal>),
    Or(Vec<Normal>),
}

/// The normal form of a condition; `kind` says what columns are.
///
/// # Errors
/// [`Error::Invalid`]: no such column, or what cannot be compared.
pub(super) fn normal(predicate: &Predicate, kind: &impl Fn(u8, usize) -> Option<Kind>) -> Result<Normal> {
    Ok(ordered(Maker { kind }.make(predicate, true)?))
}

struct Maker<'k, K> {
    kind: &'k K,
}

impl<K: Fn(u8, usize) -> Option<Kind>> Maker<'_, K> {
    /// The condition that a row answers `predicate` with `is`.
    fn make(&self, predicate: &Predicate, is: bool) -> Result<Normal> {
        match predicate {
            Predicate::Not(part) => self.make(part, !is),
            Predicate::And(parts) => self.parts(parts, is, is),
            Predicate::Or(parts) => self.parts(parts, is, !is),
            Predicate::Between(of, low, high) => {
                let bound = |by, bound: &Operand| Predicate::Compare(by, of.clone(), bound.clone());
                let parts = [bound(Compare::GreaterEqual, low), bound(Compare::LessEqual, high)];
                self.parts(&parts, is, is)
            }
            Predicate::In(of, list) => {
                let equal = |value: &Value| {
                    Predicate::Compare(Compare::Equal, of.clone(), Operand::Literal(value.clone()))
                };
                let parts: Vec<_> = list.iter().map(equal).collect();
                self.parts(&parts, is, !is)
            }
            Predicate::IsNull(of) => self.is_null(predicate, of, is),
            Predicate::Text(of, _) => {
                match self.type_of(of)? {
                    None | Some(Type::Utf8 | Type::Binary) => {}
                    Some(ty) => return Err(invalid(format!("a part of text asked of type {ty}"))),
                }
                Ok(self.walked(predicate, is))
            }
            Predicate::Compare(by, left, right) => self.compare(predicate, *by, (left, right), is),
        }
    }

    fn parts(&self, parts: &[Predicate], is: bool, all: bool) -> Result<Normal> {
        let parts = parts.iter().map(|part| self.make(part, is)).collect::<Result<Vec<_>>>()?;
        let mut left = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Normal::Known(known) if known == all => {}
                Normal::Known(known) => return Ok(Normal::Known(known)),
                Normal::And(inner) if all => left.extend(inner),
                Normal::Or(inner) if !all => left.extend(inner),
                part => left.push(part),
            }
        }
        Ok(match (left.len(), all) {
            (0, _) => Normal::Known(all),
            (1, _) => left.swap_remove(0),
            (_, true) => Normal::And(left),
            (_, false) => Normal::Or(left),
        })
    }

    fn column(&self, relation: u8, column: usize) -> Result<Kind> {
        (self.kind)(relation, column)
            .ok_or_else(|| invalid(format!("there is no column {column} of relation {relation}")))
    }

    /// The type of an operand; none of NULL. Arithmetic has that of integers or of floats.
    fn type_of(&self, of: &Operand) -> Result<Option<Type>> {
        Ok(match of {
            Operand::Column { relation, column } => Some(self.column(*relation, *column)?.ty),
            Operand::Literal(value) => type_of(value),
            Operand::Parameter(number) => {
                return Err(invalid(format!("parameter {} was not given", number + 1)));
            }
            Operand::Arithmetic(left, what, right) => {
                let mut made = Some(Type::I64);
                for side in [left, right] {
                    match self.type_of(side)? {
                        None => {}
                        Some(Type::F32 | Type::F64) => made = Some(Type::F64),
                        Some(ty) if is_integer(ty) => {}
                        Some(ty) => {
                            return Err(invalid(format!(
                                "{what} with a value of type {ty}: only numbers but decimals"
                            )));
                        }
                    }
                }
                made
            }
        })
    }

    fn is_null(&self, predicate: &Predicate, of: &Operand, is: bool) -> Result<Normal> {
        Ok(match of {
            Operand::Column { relation, column } => {
                let place = Place { relation: *relation, column: *column };
                match (self.column(*relation, *column)?.nullable, is) {
                    (false, is) => Normal::Known(!is),
                    (true, true) => Normal::Leaf(Leaf::IsNull(place)),
                    (true, false) => Normal::Leaf(Leaf::IsNotNull(place)),
                }
            }
            of => {
                self.type_of(of)?;
                self.walked(predicate, is)
            }
        })
    }

    fn compare(
        &self,
        predicate: &Predicate,
        by: Compare,
        (left, right): (&Operand, &Operand),
        is: bool,
    ) -> Result<Normal> {
        let types = (self.type_of(left)?, self.type_of(right)?);
        let (Some(left_type), Some(right_type)) = types else {
            // A NULL makes neither true nor false, if the other side has a value.
            return Ok(if has_errors(left) || has_errors(right) {
                self.walked(predicate, is)
            } else {
                Normal::Known(false)
            });
        };
        let by_now = if is { by } else { by.negated() };
        match (left, right) {
            (Operand::Column { relation, column }, Operand::Literal(value)) => {
                self.with_constant(Place { relation: *relation, column: *column }, by_now, value)
            }
            (Operand::Literal(value), Operand::Column { relation, column }) => {
                self.with_constant(Place { relation: *relation, column: *column }, by_now.turned(), value)
            }
            _ if !are_comparable(left_type, right_type) => Err(no_comparison(left_type, right_type)),
            (
                Operand::Column { relation, column },
                Operand::Column { relation: other_relation, column: other },
            ) if left_type == right_type && !matches!(left_type, Type::Utf8 | Type::Binary) => {
                let left = Place { relation: *relation, column: *column };
                let right = Place { relation: *other_relation, column: *other };
                Ok(Normal::Leaf(Leaf::Columns(left, by_now, right)))
            }
            (Operand::Literal(_), Operand::Literal(_)) => Ok(self.walked(predicate, is)),
            (left, right) if self.is_of_integers(left)? && self.is_of_integers(right)? => {
                Ok(Normal::Leaf(Leaf::Numbers {
                    left: left.clone(),
                    by: by_now,
                    right: right.clone(),
                    part: predicate.clone(),
                    is,
                }))
            }
            _ => Ok(self.walked(predicate, is)),
        }
    }

    fn is_of_integers(&self, of: &Operand) -> Result<bool> {
        Ok(match of {
            Operand::Arithmetic(left, _, right) => {
                self.is_of_integers(left)? && self.is_of_integers(right)?
            }
            of => self.type_of(of)?.is_some_and(is_integer),
        })
    }

    fn with_constant(&self, place: Place, by: Compare, value: &Value) -> Result<Normal> {
        let Kind { ty, nullable } = self.column(place.relation, place.column)?;
        if let Some(of) = type_of(value).filter(|of| !are_comparable(ty, *of)) {
            return Err(no_comparison(ty, of));
        }
        Ok(match fit(ty, by, value) {
            Fitted::Compare(by, value) => Normal::Leaf(Leaf::Constant(place, by, value)),
            Fitted::Always if nullable => Normal::Leaf(Leaf::IsNotNull(place)),
            Fitted::Always => Normal::Known(true),
            Fitted::Never => Normal::Known(false),
        })
    }

    /// What only the tree walk answers; if no column is in it, now.
    fn walked(&self, part: &Predicate, is: bool) -> Normal {
        let walked = Normal::Leaf(Leaf::Walk { part: part.clone(), is });
        if has_columns(part) {
            return walked;
        }
        match walk(part, &|_, _| ValueRef::Null) {
            Ok(answer) => Normal::Known(answer == Some(is)),
            // Whoever needs the answer gets the error.
            Err(_) => walked,
        }
    }
}

fn invalid(what: String) -> Error {
    Error::Invalid(format!("a condition: {what}"))
}

fn no_comparison(left: Type, right: Type) -> Error {
    invalid(format!("values of type {left} are not compared with those of type {right}"))
}

/// Whether there may be no result.
fn has_errors(of: &Operand) -> bool {
    matches!(of, Operand::Arithmetic(..))
}

fn has_columns(predicate: &Predicate) -> bool {
    fn of(operand: &Operand) -> bool {
        match operand {
            Operand::Column { .. } => true,
            Operand::Arithmetic(left, _, right) => of(left) || of(right),
            Operand::Literal(_) | Operand::Parameter(_) => false,
        }
    }
    match predicate {
        Predicate::Compare(_, left, right) => of(left) || of(right),
        Predicate::In(operand, _) | Predicate::IsNull(operand) | Predicate::Text(operand, _) => of(operand),
        Predicate::Between(operand, low, high) => of(operand) || of(low) || of(high),
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().any(has_columns),
        Predicate::Not(part) => has_columns(part),
    }
}

/// With the parts of AND and OR in the order in which they decide soonest for what they cost.
fn ordered(normal: Normal) -> Normal {
    let sort = |parts: Vec<Normal>, decided: fn(f64) -> f64| {
        let mut parts: Vec<_> = parts.into_iter().map(ordered).collect();
        let rank = |part: &Normal| cost(part) / decided(share(part)).max(1e-9);
        parts.sort_by(|one, other| rank(one).total_cmp(&rank(other)));
        parts
    };
    match normal {
        Normal::And(parts) => Normal::And(sort(parts, |share| 1.0 - share)),
        Normal::Or(parts) => Normal::Or(sort(parts, |share| share)),
        other => other,
    }
}

/// What a condition costs a row, beside others.
fn cost(normal: &Normal) -> f64 {
    match normal {
        Normal::Known(_) => 0.0,
        Normal::Leaf(Leaf::Constant(..) | Leaf::IsNull(_) | Leaf::IsNotNull(_)) => 1.0,
        Normal::Leaf(Leaf::Columns(..)) => 1.5,
        Normal::Leaf(Leaf::Numbers { .. }) => 8.0,
        Normal::Leaf(Leaf::Walk { .. }) => 100.0,
        Normal::And(parts) | Normal::Or(parts) => parts.iter().map(cost).sum(),
    }
}

/// The share of rows that are guessed to answer with yes.
fn share(normal: &Normal) -> f64 {
    match normal {
        Normal::Known(is) => f64::from(u8::from(*is)),
        Normal::Leaf(leaf) => match leaf {
            Leaf::Constant(_, by, _) | Leaf::Columns(_, by, _) | Leaf::Numbers { by, .. } => match by {
                Compare::Equal => 0.05,
                Compare::NotEqual => 0.95,
                _ => 0.4,
            },
            Leaf::IsNull(_) => 0.1,
            Leaf::IsNotNull(_) => 0.9,
            Leaf::Walk { .. } => 0.3,
        },
        Normal::And(parts) => parts.iter().map(share).product(),
        Normal::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - share(part)).product::<f64>(),
    }
}
