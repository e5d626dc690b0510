//! What is asked of a row besides its key, and what checks of its table ask.

use ambo::{Compare, Datum, TableDefinition, Type};

use super::expression::Expression;

/// A question about columns of a row.
pub(super) enum Condition {
    Compare(usize, Compare, Expression),
    /// Whether the value is one of these.
    In(usize, Vec<Expression>),
    IsNull(usize),
    IsNotNull(usize),
    /// Whether a text has at most so many characters.
    NotLonger(usize, u64),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// What a condition says of a row, in the logic of three values of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    True,
    False,
    Null,
    /// The planner has to say.
    Planner,
}

impl From<bool> for Answer {
    fn from(answer: bool) -> Self {
        if answer { Self::True } else { Self::False }
    }
}

impl Condition {
    /// Whether it is about a column that answers `is_it` with yes.
    pub(super) fn names(&self, is_it: &impl Fn(usize) -> bool) -> bool {
        match self {
            Self::Compare(column, ..)
            | Self::In(column, _)
            | Self::IsNull(column)
            | Self::IsNotNull(column)
            | Self::NotLonger(column, _) => is_it(*column),
            Self::All(parts) | Self::Any(parts) => parts.iter().any(|part| part.names(is_it)),
        }
    }

    pub(super) fn answer(&self, definition: &TableDefinition, row: &[Datum], params: &[Datum]) -> Answer {
        let equals = |column: usize, compare, other: &Expression| {
            compared(&row[column], compare, other.value(row, params), definition.columns[column].kind)
        };
        match self {
            Self::IsNull(column) => row[*column].is_null().into(),
            Self::IsNotNull(column) => (!row[*column].is_null()).into(),
            Self::NotLonger(column, most) => match &row[*column] {
                Datum::Null => Answer::Null,
                // Characters are not more than bytes.
                Datum::Utf8(text) => {
                    (text.len() as u64 <= *most || text.chars().count() as u64 <= *most).into()
                }
                _ => Answer::Planner,
            },
            Self::Compare(column, compare, other) => equals(*column, *compare, other),
            Self::In(column, others) => {
                any(others.iter().map(|other| equals(*column, Compare::Equal, other)))
            }
            Self::Any(parts) => any(parts.iter().map(|part| part.answer(definition, row, params))),
            Self::All(parts) => {
                any(parts.iter().map(|part| part.answer(definition, row, params).negated())).negated()
            }
        }
    }
}

impl Answer {
    fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            other => other,
        }
    }
}

/// True if one is, otherwise not known if one is not. Where the planner has to be asked for one, it has to say all: computing another may
/// be an error.
fn any(answers: impl Iterator<Item = Answer>) -> Answer {
    let mut all = Answer::False;
    for answer in answers {
        all = match (all, answer) {
            (Answer::Planner, _) | (_, Answer::Planner) => return Answer::Planner,
            (Answer::True, _) | (_, Answer::True) => Answer::True,
            (Answer::Null, _) | (_, Answer::Null) => Answer::Null,
            (Answer::False, Answer::False) => Answer::False,
        };
    }
    all
}

/// How a value of a column of a type compares with another.
fn compared(value: &Datum, compare: Compare, other: Option<Datum>, kind: Type) -> Answer {
    let Some(other) = other else { return Answer::Planner };
    if other.is_null() || value.is_null() {
        return Answer::Null;
    }
    let Ok(other) = other.fit(kind) else { return Answer::Planner };
    if is_open(value, &other) {
        return Answer::Planner;
    }
    compare.holds(value.as_ref().compare(other.as_ref())).into()
}

/// Whether the planner might order two values otherwise: zeros of both signs, what is no number, and floats that it compares as doubles.
fn is_open(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::F64(left), Datum::F64(right)) => {
            left.is_nan() || right.is_nan() || (left == right && left.to_bits() != right.to_bits())
        }
        (Datum::F32(_), _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_what_is_not_known_are_told_from_no() {
        let definition = TableDefinition::new("t").column("a", Type::I32).column("f", Type::F64);
        let constant = |value: Datum| Expression::Constant(value);
        let row = [Datum::I32(5), Datum::F64(0.0)];
        let answer = |condition: Condition| condition.answer(&definition, &row, &[]);
        let compare = |compare, value| answer(Condition::Compare(0, compare, constant(value)));
        assert_eq!(compare(Compare::Less, Datum::I64(6)), Answer::True);
        assert_eq!(compare(Compare::GreaterEqual, Datum::I64(6)), Answer::False);
        assert_eq!(compare(Compare::Equal, Datum::Null), Answer::Null);
        assert_eq!(compare(Compare::Equal, Datum::I64(1 << 40)), Answer::Planner);
        let among = |values: &[Datum]| {
            answer(Condition::In(0, values.iter().cloned().map(Expression::Constant).collect()))
        };
        assert_eq!(among(&[4i64.into(), 5i64.into()]), Answer::True);
        assert_eq!(among(&[4i64.into(), Datum::Null]), Answer::Null);
        assert_eq!(among(&[Datum::Null, 5i64.into()]), Answer::True);
        assert_eq!(among(&[4i64.into()]), Answer::False);
        let parts = [5i64.into(), 6i64.into(), Datum::Null, Datum::I64(1 << 40)];
        let part = |nth: usize| Condition::Compare(0, Compare::Equal, constant(parts[nth].clone()));
        let all = |nths: [usize; 2]| answer(Condition::All(nths.map(part).into()));
        let any = |nths: [usize; 2]| answer(Condition::Any(nths.map(part).into()));
        use Answer as A;
        assert_eq!(
            [[0, 0], [0, 1], [0, 2], [1, 2], [0, 3]].map(all),
            [A::True, A::False, A::Null, A::False, A::Planner]
        );
        assert_eq!(
            [[1, 1], [0, 1], [0, 2], [1, 2], [0, 3]].map(any),
            [A::False, A::True, A::True, A::Null, A::Planner]
        );
        let zero = |value: f64| answer(Condition::Compare(1, Compare::Less, constant(value.into())));
        assert_eq!((zero(1.0), zero(-1.0), zero(-0.0)), (Answer::True, Answer::False, Answer::Planner));
        assert_eq!(answer(Condition::Compare(1, Compare::Equal, constant(f64::NAN.into()))), Answer::Planner);
    }
}
