//! Aggregates of scans against what row by row is true.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{
    Type, Value, ValueRef,
    column::{Compare, arithmetic::Operator},
};
use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, Options, PartialsUsed, RowFormat, ScanPlan, Sync, TableScan},
    id::TableId,
    io::sim::{SimDisk, split_mix},
    scan::{Aggregate, AggregatePlan, Aggregation, Expression, Filter, Groups, Test},
};

type Row = Vec<Value>;

pub struct World {
    pub engine: Arc<Engine>,
    pub table: TableId,
    format: RowFormat,
    pub types: Vec<Type>,
    rows: BTreeMap<i64, Row>,
    seed: u64,
}

/// The key, then a nullable column of each type, some twice with other values.
fn types() -> Vec<Type> {
    let decimal = |precision, scale| Type::decimal(precision, scale).unwrap();
    vec![
        Type::I64,
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F32,
        Type::F64,
        decimal(12, 2),
        decimal(18, 4),
        decimal(30, 1),
        Type::Date32,
        Type::Time64,
        Type::Timestamp,
        Type::Utf8,
        Type::Utf8,
        Type::Binary,
        Type::Utf8,
    ]
}

fn definition(types: &[Type]) -> TableDefinition {
    let columns = types.iter().enumerate().skip(1);
    let table = TableDefinition::new("t").column("key", types[0]);
    columns
        .fold(table, |table, (index, ty)| table.column_nullable(format!("c{index}"), *ty))
        .primary_key(&["key"])
        .storage(Storage::Column)
}

impl World {
    pub fn new(seed: u64) -> Self {
        let options = Options { background_threads: false, sync: Sync::Off, ..Options::default() };
        let engine = Arc::new(Engine::open(SimDisk::new(0).env(), options).unwrap().0);
        let types = types();
        let table = engine.create_table(definition(&types).storage(crate::support::by_column(seed))).unwrap();
        let format = RowFormat::new(Arc::new(definition(&types))).unwrap();
        Self { engine, table, format, types, rows: BTreeMap::new(), seed }
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        split_mix(&mut self.seed) % bound
    }

    fn value(&mut self, column: usize, extreme: bool) -> Value {
        if self.below(8) == 0 {
            return Value::Null;
        }
        let small = self.below(7) as i64 - 3;
        let any = split_mix(&mut self.seed);
        match self.types[column] {
            Type::Bool => Value::Bool(small > 0),
            Type::I8 => Value::I8(if extreme { any as i8 } else { small as i8 }),
            Type::I16 => Value::I16(if extreme { any as i16 } else { small as i16 }),
            Type::I32 => Value::I32(if extreme { any as i32 } else { small as i32 * 1000 }),
            Type::I64 => Value::I64(if extreme { any as i64 } else { small }),
            Type::U8 => Value::U8(any as u8 % if extreme { 255 } else { 3 }),
            Type::U16 => Value::U16(any as u16 % if extreme { 65_535 } else { 3 }),
            Type::U32 => Value::U32(if extreme { any as u32 } else { 7 }),
            Type::U64 => Value::U64(if extreme { any } else { small as u64 & 3 }),
            Type::F32 => Value::F32([0.0, -0.0, f32::NAN, 1.5, -2.25, 1024.0, 3.0][any as usize % 7]),
            Type::F64 => {
                Value::F64([0.0, -0.0, f64::NAN, f64::NEG_INFINITY, -7.5, 4096.0, 1.0][any as usize % 7])
            }
            Type::Decimal128 { precision, scale } => {
                let digits = if extreme { u32::from(precision) } else { 3 };
                let unscaled = (i128::from(any as i64) * i128::from(any >> 1)) % 10i128.pow(digits);
                Value::Decimal128 { unscaled, scale }
            }
            Type::Date32 => Value::Date32(small as i32 + if extreme { any as i32 % 100_000 } else { 9000 }),
            Type::Time64 => Value::Time64((any % 86_400) as i64 * 1_000_000_000),
            Type::Timestamp => Value::Timestamp(small * 86_400_000_000),
            Type::TimestampTz => Value::TimestampTz(small * 86_400_000_000),
            // Others in other rounds, so that dictionaries differ.
            Type::Utf8 if column == 18 && extreme => Value::Utf8(["B", "N", "O"][any as usize % 3].into()),
            Type::Utf8 if column == 18 => Value::Utf8(["A", "N", "R", ""][any as usize % 4].into()),
            Type::Utf8 if column == 19 => Value::Utf8(format!("{any:x}")),
            Type::Utf8 => Value::Utf8("always the same".into()),
            Type::Binary => Value::Binary(vec![any as u8 & 3; any as usize % 3]),
        }
    }

    pub fn write(&mut self, key: i64, extreme: bool) {
        let stored = self.format.encode_key_values(&[key.into()], 0).unwrap();
        if self.below(6) == 0 {
            self.rows.remove(&key);
            return self.engine.delete(self.table, &stored).unwrap();
        }
        let mut row = vec![key.into()];
        (1..self.types.len()).for_each(|column| row.push(self.value(column, extreme)));
        self.engine.put(self.table, &stored, &self.format.encode_row(&row).unwrap()).unwrap();
        self.rows.insert(key, row);
    }

    pub fn column(&mut self) -> usize {
        self.below(self.types.len() as u64) as usize
    }

    /// A question about any column.
    pub fn question(&mut self) -> Filter {
        let column = self.column();
        let extreme = self.below(2) == 0;
        let constant = match column {
            0 => Value::I64(self.below(3000) as i64),
            _ => self.value(column, extreme),
        };
        let is_nan = constant.as_ref().as_f64().is_some_and(f64::is_nan);
        let test = match self.below(8) {
            0 => Test::IsNull,
            1 => Test::IsNotNull,
            _ if constant.is_null() || is_nan => Test::IsNotNull,
            2 => Test::In(vec![constant.clone(), constant]),
            3 => Test::Between(constant.clone(), constant),
            turn => {
                let compares = [Compare::Equal, Compare::Less, Compare::GreaterEqual, Compare::NotEqual];
                Test::Compare(compares[turn as usize % 4], constant)
            }
        };
        Filter { column, test }
    }

    /// A condition, or the choice between two numbers.
    fn choice(&mut self, depth: u64) -> Expression {
        let Filter { column, test } = self.question();
        let holds = Expression::holds(column, test);
        let condition = match self.below(4) {
            0 => self.expression(depth),
            1 => holds * self.expression(depth),
            _ => holds,
        };
        match self.below(5) {
            0 => condition,
            1 => condition.choose(Expression::constant(1), Expression::constant(0)),
            2 => condition.choose_or_null(self.expression(depth)),
            _ => {
                let then = self.expression(depth);
                condition.choose(then, self.expression(depth))
            }
        }
    }

    fn expression(&mut self, depth: u64) -> Expression {
        if depth > 0 && self.below(4) == 0 {
            return self.choice(depth - 1);
        }
        if depth == 0 || self.below(3) == 0 {
            if self.below(4) == 0 {
                return match self.below(3) {
                    0 => Expression::constant(self.below(5) as i32 - 2),
                    1 => Expression::constant(Value::Decimal128 {
                        unscaled: self.below(500) as i128,
                        scale: 2,
                    }),
                    _ => Expression::constant(0.5),
                };
            }
            return Expression::Column(2 + self.below(12) as usize);
        }
        let operator = [Operator::Add, Operator::Subtract, Operator::Multiply][self.below(3) as usize];
        let left = self.expression(depth - 1);
        left.combine(operator, self.expression(depth - 1))
    }

    pub fn aggregate(&mut self) -> Aggregate {
        match self.below(8) {
            0 => Aggregate::Rows,
            1 => Aggregate::Count(Expression::Column(self.column())),
            2 => Aggregate::Min(Expression::Column(self.column())),
            3 => Aggregate::Max(Expression::Column(self.column())),
            4 => Aggregate::Min(self.expression(2)),
            5 => Aggregate::Average(self.expression(2)),
            _ => Aggregate::Sum(self.expression(2)),
        }
    }

    /// Runs a plan over all columns and compares with what the rows say; returns whether that was a result, and not an error.
    fn check(&self, plan: &AggregatePlan, filters: &[Filter]) -> bool {
        let columns = (0..self.types.len()).collect();
        let scan = ScanPlan { columns, filters: filters.to_vec(), ..ScanPlan::default() };
        let scan = self.engine.snapshot().scan_columns(self.table, &scan).unwrap();
        let found = scan.aggregate(plan, 2);
        assert_as_new(&scan, &self.types, plan);
        let mut groups: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
        if plan.group_by.is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for row in self.rows.values().filter(|row| filters.iter().all(|filter| holds(filter, row))) {
            let key = plan.group_by.iter().map(|column| row[*column].clone()).collect();
            groups.entry(key).or_default().push(row);
        }
        let expected: Option<Vec<Row>> = groups
            .into_iter()
            .map(|(key, rows)| {
                let results = plan.aggregates.iter().map(|aggregate| self.naive(aggregate, &rows));
                key.into_iter().map(Some).chain(results).collect()
            })
            .collect();
        match (found, expected) {
            (Ok(found), Some(expected)) => {
                assert_eq!(found.rows.len(), expected.len(), "{plan:?} {filters:?}");
                for (found, expected) in found.rows.iter().zip(&expected) {
                    for (column, (a, b)) in found.iter().zip(expected).enumerate() {
                        assert!(
                            is_same(a, b),
                            "{a:?} and not {b:?} in column {column} of {plan:?} {filters:?}"
                        );
                    }
                }
                for (column, ty) in found.types.iter().enumerate() {
                    let values = found.rows.iter().map(|row| row[column].as_ref());
                    values.for_each(|value| assert!(value.is_null() || value.is_of(*ty), "{value:?} {ty}"));
                }
                true
            }
            (Err(error), None) => {
                let text = error.to_string();
                assert!(text.contains("128 bits") || text.contains("38"), "{text}");
                false
            }
            (found, expected) => panic!("{found:?} and not {expected:?} of {plan:?} {filters:?}"),
        }
    }

    /// What an aggregate of some rows is; none if 128 bits, or 38 digits, cannot hold it.
    fn naive(&self, aggregate: &Aggregate, rows: &[&Row]) -> Option<Value> {
        let values = |of: &Expression| -> Option<Vec<Number>> {
            let numbers: Option<Vec<_>> = rows.iter().map(|row| self.number(of, row)).collect();
            Some(numbers?.into_iter().flatten().collect())
        };
        let sum = |of: &Expression| -> Option<(Option<Number>, usize)> {
            let values = values(of)?;
            let count = values.len();
            let sum = values.into_iter().try_fold(None, |sum, value| {
                Some(Some(match sum {
                    None => value,
                    Some(sum) => combine(Operator::Add, sum, value)?,
                }))
            })?;
            Some((sum, count))
        };
        match aggregate {
            Aggregate::Rows => Some(Value::I64(rows.len() as i64)),
            Aggregate::Count(Expression::Column(column)) => {
                Some(Value::I64(rows.iter().filter(|row| !row[*column].is_null()).count() as i64))
            }
            Aggregate::Count(of) => Some(Value::I64(values(of)?.len() as i64)),
            Aggregate::Min(Expression::Column(column)) => Some(
                rows.iter()
                    .map(|row| row[*column].clone())
                    .filter(|value| !value.is_null())
                    .min()
                    .unwrap_or(Value::Null),
            ),
            Aggregate::Max(Expression::Column(column)) => {
                Some(rows.iter().map(|row| row[*column].clone()).max().unwrap_or(Value::Null))
            }
            Aggregate::Min(of) => values(of)?
                .into_iter()
                .map(value)
                .collect::<Option<Vec<_>>>()?
                .into_iter()
                .min()
                .or(Some(Value::Null)),
            Aggregate::Max(of) => values(of)?
                .into_iter()
                .map(value)
                .collect::<Option<Vec<_>>>()?
                .into_iter()
                .max()
                .or(Some(Value::Null)),
            Aggregate::Sum(of) => sum(of)?.0.map_or(Some(Value::Null), value),
            Aggregate::Average(of) => {
                let (sum, count) = sum(of)?;
                Some(sum.map_or(Value::Null, |sum| Value::F64(float(sum) / count as f64)))
            }
        }
    }

    /// An expression's value of a row: an error is none, NULL is none within.
    fn number(&self, of: &Expression, row: &Row) -> Option<Option<Number>> {
        Some(match of {
            Expression::Column(column) => number(row[*column].as_ref()),
            Expression::Constant(value) => number(value.as_ref()),
            Expression::Arithmetic(operator, left, right) => {
                match self.number(left, row)?.zip(self.number(right, row)?) {
                    Some((left, right)) => Some(combine(*operator, left, right)?),
                    None => None,
                }
            }
            Expression::Holds(column, test) => {
                let filter = Filter { column: *column, test: test.clone() };
                Some(Number::Exact(holds(&filter, row).into(), 0))
            }
            Expression::Choice(condition, then, other) => {
                // Both are computed, of one kind.
                let condition = self.number(condition, row)?;
                let numbers = [
                    self.number(then, row)?,
                    other.as_ref().map_or(Some(None), |other| self.number(other, row))?,
                ];
                let is_true = condition.is_some_and(|condition| float(condition) != 0.0);
                let chosen = numbers[usize::from(!is_true)];
                let domains = [Some(then), other.as_ref()].map(|of| of.map(|of| self.domain(of)));
                match (chosen, domains) {
                    (None, _) => None,
                    (Some(chosen), [Some(None), _] | [_, Some(None)]) => Some(Number::Float(float(chosen))),
                    (Some(Number::Exact(value, scale)), [Some(Some(a)), b]) => {
                        let common = a.max(b.flatten().unwrap_or(a));
                        let scaled =
                            |value: i128, of: i8| value.checked_mul(10i128.pow((common - of) as u32));
                        for number in numbers.into_iter().flatten() {
                            let Number::Exact(value, of) = number else { unreachable!("both are exact") };
                            scaled(value, of)?;
                        }
                        Some(Number::Exact(scaled(value, scale)?, common))
                    }
                    (chosen, domains) => unreachable!("{chosen:?} of {domains:?}"),
                }
            }
        })
    }

    /// The scale of what an expression computes; none of doubles.
    fn domain(&self, of: &Expression) -> Option<i8> {
        match of {
            Expression::Column(column) => match self.types[*column] {
                Type::F32 | Type::F64 => None,
                Type::Decimal128 { scale, .. } => Some(scale),
                _ => Some(0),
            },
            Expression::Constant(Value::F64(_)) => None,
            Expression::Constant(Value::Decimal128 { scale, .. }) => Some(*scale),
            Expression::Constant(_) | Expression::Holds(..) => Some(0),
            Expression::Arithmetic(Operator::Multiply, left, right) => {
                Some(self.domain(left)? + self.domain(right)?)
            }
            Expression::Arithmetic(_, left, right) => Some(self.domain(left)?.max(self.domain(right)?)),
            Expression::Choice(_, then, None) => self.domain(then),
            Expression::Choice(_, then, Some(other)) => Some(self.domain(then)?.max(self.domain(other)?)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Exact(i128, i8),
    Float(f64),
}

fn number(value: ValueRef<'_>) -> Option<Number> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::F32(value) => Number::Float(value.into()),
        ValueRef::F64(value) => Number::Float(value),
        ValueRef::Decimal128 { unscaled, scale } => Number::Exact(unscaled, scale),
        ValueRef::U64(value) => Number::Exact(value.into(), 0),
        other => Number::Exact(other.as_i64().unwrap().into(), 0),
    })
}

fn float(number: Number) -> f64 {
    match number {
        Number::Exact(value, scale) => value as f64 / 10f64.powi(scale.into()),
        Number::Float(value) => value,
    }
}

fn combine(operator: Operator, left: Number, right: Number) -> Option<Number> {
    let (Number::Exact(a, of_a), Number::Exact(b, of_b)) = (left, right) else {
        let (a, b) = (float(left), float(right));
        return Some(Number::Float(match operator {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
        }));
    };
    let scale = of_a.max(of_b);
    let scaled = |value: i128, of: i8| value.checked_mul(10i128.pow((scale - of) as u32));
    Some(match operator {
        Operator::Add => Number::Exact(scaled(a, of_a)?.checked_add(scaled(b, of_b)?)?, scale),
        Operator::Subtract => Number::Exact(scaled(a, of_a)?.checked_sub(scaled(b, of_b)?)?, scale),
        Operator::Multiply => Number::Exact(a.checked_mul(b)?, of_a + of_b),
    })
}

fn value(number: Number) -> Option<Value> {
    match number {
        Number::Exact(unscaled, scale) => {
            (unscaled.unsigned_abs() < 10u128.pow(38)).then_some(Value::Decimal128 { unscaled, scale })
        }
        Number::Float(value) => Some(Value::F64(value)),
    }
}

/// That what is put together of results that were kept is what all rows come to, to the last bit, by any number of threads. Returns of how
/// many segments it was.
pub fn assert_as_new(scan: &TableScan, types: &[Type], plan: &AggregatePlan) -> PartialsUsed {
    let nullable: Vec<_> = (0..types.len()).map(|place| scan.is_nullable(place)).collect();
    let anew = |threads| {
        let aggregation = Aggregation::new(plan, types, &nullable)?;
        let parts = scan.fold(threads, || aggregation.begin(), |part, morsel| part.add(morsel))?;
        aggregation.finish(parts)
    };
    let told =
        |groups: ambo_engine::Result<Groups>| groups.map(|of| format!("{:?}", of.rows)).map_err(|_| ());
    let wanted = told(anew(1));
    assert_eq!(told(anew(3)), wanted, "{plan:?}");
    let mut used = PartialsUsed::default();
    for threads in [1, 3] {
        let found = scan.aggregate_told(plan, threads).map(|(groups, of)| {
            used = of;
            groups
        });
        assert_eq!(told(found), wanted, "{plan:?}");
    }
    used
}

/// Doubles are added in another order.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
        }
        _ => a == b,
    }
}

fn holds(filter: &Filter, row: &Row) -> bool {
    let value = row[filter.column].as_ref();
    match &filter.test {
        Test::IsNull => value.is_null(),
        Test::IsNotNull => !value.is_null(),
        _ if value.is_null() => false,
        Test::Compare(Compare::Less, bound) => value < bound.as_ref(),
        Test::Compare(Compare::GreaterEqual, bound) => value >= bound.as_ref(),
        Test::Compare(Compare::Equal, constant) => value == constant.as_ref(),
        Test::Compare(Compare::NotEqual, constant) => value != constant.as_ref(),
        Test::In(list) => list.iter().any(|constant| value == constant.as_ref()),
        Test::Between(low, high) => value >= low.as_ref() && value <= high.as_ref(),
        other => panic!("{other:?} is not asked here"),
    }
}

pub fn group_columns(world: &mut World) -> Vec<usize> {
    (0..[0, 1, 1, 2, 3][world.below(5) as usize]).map(|_| world.column()).collect()
}

/// Keeps away: aggregates and groups that differ from what row by row is true, wherever rows are, of whatever types, NULL or not,
/// filtered or not; and overflow that is not noticed, or seen where there is none.
#[test]
fn aggregates_are_as_row_by_row() {
    for seed in 0..8 {
        let mut world = World::new(seed);
        let keys = [30, 3000, 12_000, 200][seed as usize % 4];
        let (mut results, mut errors) = (0, 0);
        for round in 0..4 {
            let extreme = world.below(2) == 0;
            for _ in 0..world.below(keys) {
                let key = world.below(keys) as i64;
                world.write(key, extreme);
            }
            match (seed + round) % 4 {
                0 => world.engine.compact().unwrap(),
                1 => world.engine.flush().unwrap(),
                _ => {}
            }
            for _ in 0..12 {
                let group_by = group_columns(&mut world);
                let aggregates = (0..1 + world.below(4)).map(|_| world.aggregate()).collect();
                let bound = world.below(keys) as i64;
                let filter = match world.below(6) {
                    0 => Some(Filter { column: 0, test: Test::Compare(Compare::Less, bound.into()) }),
                    1 => Some(Filter { column: 0, test: Test::Compare(Compare::GreaterEqual, bound.into()) }),
                    2 => Some(Filter { column: world.column(), test: Test::IsNull }),
                    3 => Some(Filter { column: world.column(), test: Test::IsNotNull }),
                    _ => None,
                };
                let filters: Vec<_> = filter.into_iter().collect();
                match world.check(&AggregatePlan { group_by, aggregates }, &filters) {
                    true => results += 1,
                    false => errors += 1,
                }
            }
        }
        assert!(results > errors, "{results} {errors}");
        assert_eq!(world.engine.check().unwrap().problems, Vec::<String>::new());
    }
}

fn sum(column: usize) -> Aggregate {
    Aggregate::Sum(Expression::Column(column))
}

/// Keeps away: sums that wrap around at 64 or 128 bits, or refuse what fits into 128.
#[test]
fn sums_need_what_they_need() {
    let mut world = World::new(1);
    let mut rows = Vec::new();
    for key in 0..20_000i64 {
        let mut row = vec![Value::Null; world.types.len()];
        row[0] = key.into();
        row[5] = i64::MAX.into();
        row[9] = Value::U64(u64::MAX);
        row[13] = Value::Decimal128 { unscaled: 10i128.pow(18) - 1, scale: 4 };
        row[14] = Value::Decimal128 { unscaled: 10i128.pow(30) - 1, scale: 1 };
        rows.push(row);
    }
    for row in rows {
        let Value::I64(key) = row[0] else { panic!("keys are bigint") };
        let stored = world.format.encode_key_values(&[key.into()], 0).unwrap();
        world.engine.put(world.table, &stored, &world.format.encode_row(&row).unwrap()).unwrap();
        world.rows.insert(key, row);
    }
    for _ in 0..2 {
        for group_by in [vec![], vec![1], vec![0, 18]] {
            let aggregates = vec![sum(5), sum(9), sum(13), sum(14), Aggregate::Max(Expression::Column(5))];
            assert!(world.check(&AggregatePlan { group_by: group_by.clone(), aggregates }, &[]));
            let square = |column| Expression::<usize>::Column(column) * Expression::Column(column);
            assert!(world.check(
                &AggregatePlan {
                    group_by: group_by.clone(),
                    aggregates: vec![Aggregate::sum(
                        Expression::<usize>::Column(13)
                            * Value::Decimal128 { unscaled: 10i128.pow(15), scale: 0 }
                            + 1
                    )]
                },
                &[]
            ));
            // 10^60 is too much.
            let too_much =
                AggregatePlan { group_by: group_by.clone(), aggregates: vec![Aggregate::sum(square(14))] };
            assert!(!world.check(&too_much, &[]));
            // The square of 2^63 is more than 38 digits' worth only when summed.
            let too_many = AggregatePlan { group_by: vec![], aggregates: vec![Aggregate::sum(square(9))] };
            assert!(!world.check(&too_many, &[]));
        }
        world.engine.compact().unwrap();
    }
    assert_eq!(world.engine.check().unwrap().problems, Vec::<String>::new());
}

/// Keeps away: plans that cannot be done and are, and errors that do not say why.
#[test]
fn wrong_plans_are_refused() {
    let world = World::new(1);
    let scan = ScanPlan { columns: vec![1, 18, 15, 12], filters: Vec::new(), ..ScanPlan::default() };
    let scan = world.engine.snapshot().scan_columns(world.table, &scan).unwrap();
    let refused = |group_by: Vec<usize>, aggregate: Aggregate, words: &str| {
        let plan = AggregatePlan { group_by, aggregates: vec![aggregate] };
        let error = scan.aggregate(&plan, 1).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(vec![], sum(0), "boolean");
    refused(vec![], sum(1), "text");
    refused(vec![], sum(2), "date");
    refused(vec![], sum(4), "no column 4");
    refused(vec![9], Aggregate::Rows, "no column 9");
    refused(vec![], Aggregate::sum(Expression::constant("x")), "no number");
    let holds = |column: usize| Expression::holds(column, Test::Compare(Compare::Less, "x".into()));
    refused(vec![], Aggregate::sum(holds(2).choose(1, 0)), "x");
    refused(vec![], Aggregate::sum(holds(1).choose(Expression::Column(1), 0)), "text");
    refused(vec![], Aggregate::sum(holds(4)), "no column 4");
    let power = (0..20).fold(Expression::Column(3), |power, _| power * Expression::Column(3));
    refused(vec![], Aggregate::sum(power), "scale of 40");
}
