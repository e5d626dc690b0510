//! What a computation is, as bytes: two have the same bytes only if they mean the same and are computed alike.
//!
//! Comparing plans would not do, for values are equal where computations are not: `x * 0.0` and `x * -0.0`. Each variant has a number of
//! its own, and what is of any length has its length in front, so no two texts of bytes run into each other.

use ambo_codec::{Type, Value, column::Compare};

use crate::{Aggregate, AggregatePlan, Expression, Filter, Test};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity(Vec<u8>);

impl Identity {
    /// Begins with a word for what is computed.
    pub fn new(what: &str) -> Self {
        Self(Vec::new()).and_bytes(what.as_bytes())
    }

    /// Bytes that it is stored as.
    pub fn bytes(&self) -> usize {
        self.0.capacity()
    }

    /// With bytes.
    #[must_use]
    pub fn and_bytes(mut self, bytes: &[u8]) -> Self {
        self.push_bytes(bytes);
        self
    }

    /// With numbers.
    #[must_use]
    pub fn and_numbers(mut self, numbers: &[usize]) -> Self {
        self.push_number(numbers.len());
        numbers.iter().for_each(|number| self.push_number(*number));
        self
    }

    /// With the types of columns, and whether they may be NULL.
    #[must_use]
    pub fn and_columns(mut self, columns: impl ExactSizeIterator<Item = (Type, bool)>) -> Self {
        self.push_number(columns.len());
        for (ty, is_nullable) in columns {
            self.push_bytes(ty.to_string().as_bytes());
            self.0.push(u8::from(is_nullable));
        }
        self
    }

    /// With what is asked of rows; none where that cannot be told in a few bytes.
    #[must_use]
    pub fn and_filters(mut self, filters: &[Filter]) -> Option<Self> {
        self.push_number(filters.len());
        for Filter { column, test } in filters {
            self.push_number(*column);
            self.push_test(test)?;
        }
        Some(self)
    }

    /// With what is computed; none where that cannot be told in a few bytes.
    #[must_use]
    pub fn and_plan(mut self, plan: &AggregatePlan) -> Option<Self> {
        let AggregatePlan { group_by, aggregates } = plan;
        self = self.and_numbers(group_by);
        self.push_number(aggregates.len());
        aggregates.iter().try_for_each(|aggregate| self.push_aggregate(aggregate))?;
        Some(self)
    }

    fn push_number(&mut self, number: usize) {
        self.0.extend_from_slice(&(number as u64).to_le_bytes());
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.push_number(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn push_aggregate(&mut self, aggregate: &Aggregate) -> Option<()> {
        let (kind, of) = match aggregate {
            Aggregate::Rows => (0, None),
            Aggregate::Count(of) => (1, Some(of)),
            Aggregate::Sum(of) => (2, Some(of)),
            Aggregate::Min(of) => (3, Some(of)),
            Aggregate::Max(of) => (4, Some(of)),
            Aggregate::Average(of) => (5, Some(of)),
        };
        self.0.push(kind);
        of.map_or(Some(()), |of| self.push_expression(of))
    }

    fn push_expression(&mut self, expression: &Expression) -> Option<()> {
        match expression {
            Expression::Column(column) => {
                self.0.push(0);
                self.push_number(*column);
            }
            Expression::Constant(value) => {
                self.0.push(1);
                self.push_value(value);
            }
            Expression::Arithmetic(operator, left, right) => {
                self.0.extend_from_slice(&[2, *operator as u8]);
                self.push_expression(left)?;
                self.push_expression(right)?;
            }
            Expression::Holds(column, test) => {
                self.0.push(3);
                self.push_number(*column);
                self.push_test(test)?;
            }
            Expression::Choice(condition, then, other) => {
                self.0.extend_from_slice(&[4, u8::from(other.is_some())]);
                self.push_expression(condition)?;
                self.push_expression(then)?;
                other.as_ref().map_or(Some(()), |other| self.push_expression(other))?;
            }
        }
        Some(())
    }

    fn push_test(&mut self, test: &Test) -> Option<()> {
        match test {
            Test::Compare(compare, value) => {
                self.0.extend_from_slice(&[0, number_of(*compare)]);
                self.push_value(value);
            }
            Test::Between(low, high) => {
                self.0.push(1);
                self.push_value(low);
                self.push_value(high);
            }
            Test::In(values) => {
                self.0.push(2);
                self.push_number(values.len());
                values.iter().for_each(|value| self.push_value(value));
            }
            Test::Prefix(bytes) => {
                self.0.push(3);
                self.push_bytes(bytes);
            }
            Test::Contains(bytes) => {
                self.0.push(4);
                self.push_bytes(bytes);
            }
            Test::Like(pieces) => {
                self.0.push(5);
                self.push_number(pieces.len());
                pieces.iter().for_each(|piece| self.push_bytes(piece));
            }
            // A set of many keys, which was made for one query.
            Test::Among(_) => return None,
            Test::Not(test) => {
                self.0.push(6);
                self.push_test(test)?;
            }
            Test::IsNull => self.0.push(7),
            Test::IsNotNull => self.0.push(8),
        }
        Some(())
    }

    fn push_value(&mut self, value: &Value) {
        macro_rules! fixed {
            ($number:literal, $bytes:expr) => {{
                self.0.push($number);
                self.0.extend_from_slice(&$bytes);
            }};
        }
        match value {
            Value::Null => self.0.push(0),
            Value::Bool(value) => fixed!(1, [u8::from(*value)]),
            Value::I8(value) => fixed!(2, value.to_le_bytes()),
            Value::I16(value) => fixed!(3, value.to_le_bytes()),
            Value::I32(value) => fixed!(4, value.to_le_bytes()),
            Value::I64(value) => fixed!(5, value.to_le_bytes()),
            Value::U8(value) => fixed!(6, value.to_le_bytes()),
            Value::U16(value) => fixed!(7, value.to_le_bytes()),
            Value::U32(value) => fixed!(8, value.to_le_bytes()),
            Value::U64(value) => fixed!(9, value.to_le_bytes()),
            Value::F32(value) => fixed!(10, value.to_bits().to_le_bytes()),
            Value::F64(value) => fixed!(11, value.to_bits().to_le_bytes()),
            Value::Decimal128 { unscaled, scale } => {
                fixed!(12, unscaled.to_le_bytes());
                self.0.extend_from_slice(&scale.to_le_bytes());
            }
            Value::Date32(value) => fixed!(13, value.to_le_bytes()),
            Value::Time64(value) => fixed!(14, value.to_le_bytes()),
            Value::Timestamp(value) => fixed!(15, value.to_le_bytes()),
            Value::TimestampTz(value) => fixed!(16, value.to_le_bytes()),
            Value::Utf8(text) => {
                self.0.push(17);
                self.push_bytes(text.as_bytes());
            }
            Value::Binary(bytes) => {
                self.0.push(18);
                self.push_bytes(bytes);
            }
        }
    }
}

fn number_of(compare: Compare) -> u8 {
    match compare {
        Compare::Equal => 0,
        Compare::NotEqual => 1,
        Compare::Less => 2,
        Compare::LessEqual => 3,
        Compare::Greater => 4,
        Compare::GreaterEqual => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambo_codec::column::{KeySet, arithmetic::Operator};

    // Keeps away: two computations that are taken for one, although values that they have are equal, or texts run into each other.
    #[test]
    fn different_computations_have_different_identities() {
        let column = || Expression::Column(0);
        let constant = |value: Value| Expression::Constant(value);
        let test = |test: Test| Expression::holds(1, test);
        let text = |text: &str| Value::Utf8(text.into());
        let expressions = vec![
            column(),
            Expression::Column(1),
            column() * constant(Value::F64(0.0)),
            column() * constant(Value::F64(-0.0)),
            column() + constant(Value::F64(0.0)),
            column() - constant(Value::F64(0.0)),
            constant(Value::F64(0.0)) - column(),
            constant(Value::F32(0.0)) - column(),
            constant(Value::I64(1)),
            constant(Value::U64(1)),
            constant(Value::I32(1)),
            constant(Value::Decimal128 { unscaled: 1, scale: 0 }),
            constant(Value::Decimal128 { unscaled: 10, scale: 1 }),
            constant(Value::Timestamp(1)),
            constant(Value::TimestampTz(1)),
            test(Test::IsNull),
            test(Test::IsNotNull),
            test(Test::Not(Box::new(Test::IsNull))),
            test(Test::In(vec![text("a"), text("bc")])),
            test(Test::In(vec![text("ab"), text("c")])),
            test(Test::In(vec![text("abc")])),
            test(Test::Like(vec![b"abc".to_vec(), Vec::new()])),
            test(Test::Like(vec![Vec::new(), b"abc".to_vec()])),
            test(Test::Prefix(b"abc".to_vec())),
            test(Test::Contains(b"abc".to_vec())),
            test(Test::Between(1.into(), 2.into())),
            test(Test::Compare(Compare::Less, 1.into())),
            test(Test::Compare(Compare::LessEqual, 1.into())),
            test(Test::IsNull).choose(1, 2),
            test(Test::IsNull).choose_or_null(1),
            column().combine(Operator::Multiply, column()),
        ];
        let mut all = Vec::new();
        let mut tell = |group_by: &[usize], aggregates: Vec<Aggregate>, filters: &[Filter]| {
            let plan = AggregatePlan { group_by: group_by.to_vec(), aggregates };
            let identity = Identity::new("t").and_filters(filters).and_then(|of| of.and_plan(&plan));
            all.push(identity.expect("it is told in a few bytes"));
        };
        for of in &expressions {
            tell(&[], vec![Aggregate::Sum(of.clone())], &[]);
            tell(&[1], vec![Aggregate::Sum(of.clone())], &[]);
            tell(&[], vec![Aggregate::Count(of.clone()), Aggregate::Rows], &[]);
            tell(&[], vec![Aggregate::Min(of.clone())], &[]);
            tell(&[], vec![Aggregate::Max(of.clone())], &[]);
            tell(&[], vec![Aggregate::Average(of.clone())], &[]);
            if let Expression::Holds(column, test) = of {
                tell(&[], vec![], &[Filter { column: *column, test: test.clone() }]);
                tell(&[], vec![], &[Filter { column: *column + 1, test: test.clone() }]);
            }
        }
        tell(&[], vec![], &[]);
        tell(&[0, 1], vec![], &[]);
        tell(&[1, 0], vec![], &[]);
        tell(&[0], vec![Aggregate::Rows], &[]);
        let count = all.len();
        let different: std::collections::HashSet<_> = all.into_iter().collect();
        assert_eq!(different.len(), count);
    }

    // Keeps away: a set of keys of one query that stands for that of another.
    #[test]
    fn sets_of_keys_have_none() {
        let set = std::sync::Arc::new(KeySet::new([1, 5]).unwrap());
        let filter = Filter { column: 0, test: Test::Not(Box::new(Test::Among(set))) };
        assert_eq!(Identity::new("t").and_filters(&[filter]), None);
    }
}
