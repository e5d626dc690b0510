//! Random layouts, rows and conditions.

use ambo_codec::{Type, Value};
use ambo_query::predicate::{Arithmetic, Compare, Operand, Predicate, TextTest};
use proptest::prelude::*;

/// What a column may be.
pub fn types() -> Vec<Type> {
    use Type::{
        Bool, Date32, F32, F64, I8, I16, I32, I64, Time64, Timestamp, TimestampTz, U8, U16, U32, U64,
    };
    let decimal = |precision, scale| Type::decimal(precision, scale).unwrap();
    vec![
        I64,
        U64,
        I32,
        U8,
        F64,
        F32,
        Bool,
        I8,
        I16,
        U16,
        U32,
        Date32,
        Time64,
        Timestamp,
        TimestampTz,
        decimal(38, 0),
        decimal(9, 2),
        decimal(38, 10),
    ]
}

/// A value of a type: its limits, small ones that are often equal, and any.
pub fn value(ty: Type, pick: u64) -> Value {
    let (which, rest) = (pick % 8, pick / 8);
    macro_rules! integer {
        ($native:ty) => {
            match which {
                0 => <$native>::MIN,
                1 => <$native>::MAX,
                2..=6 => (rest % 5) as $native,
                _ => rest as $native,
            }
        };
    }
    macro_rules! float {
        ($native:ty) => {
            match which {
                0 => <$native>::NAN,
                1 => <$native>::INFINITY,
                2 => -0.0,
                3 => <$native>::NEG_INFINITY,
                4 => 0.1,
                5..=6 => (rest % 5) as $native,
                _ => <$native>::from_bits(rest as _),
            }
        };
    }
    match ty {
        Type::Bool => Value::Bool(rest % 2 == 0),
        Type::I8 => Value::I8(integer!(i8)),
        Type::I16 => Value::I16(integer!(i16)),
        Type::I32 => Value::I32(integer!(i32)),
        Type::I64 => Value::I64(integer!(i64)),
        Type::U8 => Value::U8(integer!(u8)),
        Type::U16 => Value::U16(integer!(u16)),
        Type::U32 => Value::U32(integer!(u32)),
        Type::U64 => Value::U64(integer!(u64)),
        Type::F32 => Value::F32(float!(f32)),
        Type::F64 => Value::F64(float!(f64)),
        Type::Decimal128 { precision, scale } => {
            let most = 10i128.checked_pow(precision.into()).map_or(i128::MAX, |power| power - 1);
            let unscaled = match which {
                0 => -most,
                1 => most,
                2..=6 => i128::from(rest % 5) * 10i128.pow(scale.max(0) as u32),
                _ => i128::from(rest as i64) % most,
            };
            Value::Decimal128 { unscaled, scale }
        }
        Type::Date32 => Value::Date32(integer!(i32)),
        Type::Time64 => Value::Time64(integer!(i64)),
        Type::Timestamp => Value::Timestamp(integer!(i64)),
        Type::TimestampTz => Value::TimestampTz(integer!(i64)),
        Type::Utf8 => Value::Utf8(text(which, rest)),
        Type::Binary => Value::Binary(text(which, rest).into_bytes()),
    }
}

fn text(which: u64, rest: u64) -> String {
    let words = ["", "a", "ab", "abc", "über", "a%b", "Ω", "aab"];
    words[which as usize].repeat(rest as usize % 3)
}

/// Other types that a column of a type is compared with.
fn others(ty: Type) -> Vec<Type> {
    use Type::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let integers = vec![I8, I16, I32, I64, U8, U16, U32, U64];
    let is_integer = integers.contains(&ty);
    match ty {
        F32 | F64 => [integers, vec![F32, F64]].concat(),
        Type::Decimal128 { .. } => {
            [integers, vec![Type::decimal(38, 3).unwrap(), Type::decimal(5, 1).unwrap()]].concat()
        }
        _ if is_integer => [integers, vec![F32, F64, Type::decimal(20, 4).unwrap()]].concat(),
        ty => vec![ty],
    }
}

/// A tree from numbers: small enough to shrink, and of every kind.
pub struct Trees<'t> {
    /// The types of the columns, by relations.
    pub types: &'t [Vec<Type>],
    picks: std::vec::IntoIter<u64>,
}

impl<'t> Trees<'t> {
    pub fn new(types: &'t [Vec<Type>], picks: Vec<u64>) -> Self {
        Self { types, picks: picks.into_iter() }
    }

    fn pick(&mut self, of: usize) -> usize {
        (self.picks.next().unwrap_or(0) % of as u64) as usize
    }

    fn column(&mut self) -> (Operand, Type) {
        let relation = self.pick(self.types.len());
        let column = self.pick(self.types[relation].len());
        (Operand::Column { relation: relation as u8, column }, self.types[relation][column])
    }

    fn columns_of(&self, is: impl Fn(Type) -> bool) -> Vec<(Operand, Type)> {
        let all = self.types.iter().enumerate().flat_map(|(relation, types)| {
            types.iter().enumerate().map(move |(column, ty)| (relation, column, *ty))
        });
        all.filter(|(.., ty)| is(*ty))
            .map(|(relation, column, ty)| (Operand::Column { relation: relation as u8, column }, ty))
            .collect()
    }

    fn compare(&mut self) -> Compare {
        use Compare::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual][self.pick(6)]
    }

    /// A constant that a column is compared with, one in eight NULL.
    fn constant(&mut self, ty: Type) -> Value {
        if self.pick(8) == 0 {
            return Value::Null;
        }
        let others = others(ty);
        let ty = if self.pick(2) == 0 { ty } else { others[self.pick(others.len())] };
        let pick = self.picks.next().unwrap_or(0);
        value(ty, pick)
    }

    /// Arithmetic on integers and floats.
    fn numbers(&mut self, depth: usize) -> Operand {
        use Type::{F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let is_number = |ty| matches!(ty, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | F64);
        let columns = self.columns_of(is_number);
        match self.pick(if depth == 0 { 2 } else { 4 }) {
            0 if !columns.is_empty() => columns[self.pick(columns.len())].0.clone(),
            0 | 1 => {
                let pick = self.picks.next().unwrap_or(0);
                Operand::Literal(value(I64, pick))
            }
            _ => {
                use Arithmetic::{Add, Divide, Multiply, Remainder, ShiftLeft, ShiftRight, Subtract};
                let what = [Add, Subtract, Multiply, Divide, Remainder, ShiftLeft, ShiftRight][self.pick(7)];
                let left = self.numbers(depth - 1);
                left.with(what, self.numbers(depth - 1))
            }
        }
    }

    fn leaf(&mut self) -> Predicate {
        let (column, ty) = self.column();
        match self.pick(8) {
            0 | 1 => Predicate::Compare(self.compare(), column, Operand::Literal(self.constant(ty))),
            2 => Predicate::Compare(self.compare(), Operand::Literal(self.constant(ty)), column),
            3 => {
                let like = self.columns_of(|other| others(ty).contains(&other) || other == ty);
                let other = like[self.pick(like.len())].0.clone();
                Predicate::Compare(self.compare(), column, other)
            }
            4 => Predicate::IsNull(column),
            5 => {
                let list = (0..self.pick(4)).map(|_| self.constant(ty)).collect();
                Predicate::In(column, list)
            }
            6 => {
                let (low, high) = (self.constant(ty), self.constant(ty));
                Predicate::Between(column, Operand::Literal(low), Operand::Literal(high))
            }
            _ => match ty {
                Type::Utf8 | Type::Binary => {
                    let patterns = [&b"a%"[..], b"%b", b"_b%", b"%\\%%", b"", b"%a_b%"];
                    let pattern = patterns[self.pick(6)].to_vec();
                    let tests = [TextTest::Like(pattern.clone()), TextTest::Prefix(b"a".to_vec())];
                    let more = TextTest::Contains(b"b".to_vec());
                    let test = tests.get(self.pick(3)).cloned().unwrap_or(more);
                    Predicate::Text(column, test)
                }
                _ => {
                    let left = self.numbers(2);
                    Predicate::Compare(self.compare(), left, self.numbers(1))
                }
            },
        }
    }

    /// The next tree.
    pub fn tree(&mut self, depth: usize) -> Predicate {
        match self.pick(if depth == 0 { 1 } else { 4 }) {
            1 => Predicate::And((0..self.pick(4)).map(|_| self.tree(depth - 1)).collect()),
            2 => Predicate::Or((0..self.pick(4)).map(|_| self.tree(depth - 1)).collect()),
            3 => self.tree(depth - 1).not(),
            _ => self.leaf(),
        }
    }
}

/// Columns, each with whether it may be NULL.
pub fn columns(with_text: bool) -> impl Strategy<Value = Vec<(Type, bool)>> {
    let mut types = types();
    if with_text {
        types.extend([Type::Utf8, Type::Binary, Type::Utf8]);
    }
    proptest::collection::vec((proptest::sample::select(types), any::<bool>()), 1..6)
}

/// A row of such columns.
pub fn row(columns: &[(Type, bool)], mut pick: u64) -> Vec<Value> {
    let one = |(ty, nullable): &(Type, bool)| {
        pick = pick.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match *nullable && (pick >> 13).is_multiple_of(4) {
            true => Value::Null,
            false => value(*ty, pick >> 16),
        }
    };
    columns.iter().map(one).collect()
}
