//! The tables whose rows are measured.

use ambo_codec::{RowColumn, Type, Value, ValueRef};

pub struct Table {
    pub name: &'static str,
    pub columns: Vec<RowColumn>,
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    fn new(
        name: &'static str,
        columns: Vec<RowColumn>,
        rows: usize,
        row: impl Fn(usize, &mut Random) -> Vec<Value>,
    ) -> Self {
        let mut random = Random(7);
        Self { name, columns, rows: (0..rows).map(|id| row(id, &mut random)).collect() }
    }

    pub fn refs(&self) -> Vec<Vec<ValueRef<'_>>> {
        self.rows.iter().map(|row| row.iter().map(Value::as_ref).collect()).collect()
    }
}

/// SplitMix64, so that every run sees the same rows.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }

    fn pick(&mut self, texts: &[&str]) -> Value {
        texts[self.below(texts.len() as u64) as usize].into()
    }
}

/// Sixteen columns of a flight: identifiers, codes, times, delays with NULLs, an amount, a rare remark.
pub fn flights(rows: usize) -> Table {
    let of = RowColumn::new;
    let columns = vec![
        of(Type::I64),
        of(Type::Timestamp),
        of(Type::Utf8),
        of(Type::I32),
        of(Type::Utf8).nullable(),
        of(Type::Utf8),
        of(Type::Utf8),
        of(Type::I32).nullable(),
        of(Type::I32),
        of(Type::F64).nullable(),
        of(Type::F64).nullable(),
        of(Type::F64).nullable(),
        of(Type::F64),
        of(Type::F64),
        of(Type::Bool),
        of(Type::Utf8).nullable(),
    ];
    Table::new("flights, 16 columns", columns, rows, flight)
}

fn flight(id: usize, random: &mut Random) -> Vec<Value> {
    let cancelled = random.below(40) == 0;
    let measured = |value: f64| if cancelled { Value::Null } else { value.into() };
    let (delay, arrival, air) = (measured(-3.0), measured(12.0), measured(227.0));
    let scheduled = 1_357_000_000 + 60 * random.below(525_600) as i64;
    let remark = if random.below(50) == 0 { "diverted because of weather".into() } else { Value::Null };
    vec![
        (id as i64).into(),
        Value::Timestamp(scheduled * 1_000_000),
        random.pick(&["UA", "AA", "B6", "DL", "EV", "MQ"]),
        (random.below(6000) as i32).into(),
        format!("N{:05}", random.below(99_999)).into(),
        random.pick(&["EWR", "JFK", "LGA"]),
        random.pick(&["ORD", "ATL", "LAX", "BOS", "MCO", "CLT", "SFO"]),
        if cancelled { Value::Null } else { (random.below(2400) as i32).into() },
        (random.below(2400) as i32).into(),
        delay,
        arrival,
        air,
        (random.below(5000) as f64).into(),
        (random.below(100_000) as f64 / 100.0).into(),
        cancelled.into(),
        remark,
    ]
}

/// SingleStore's table of 300 doubles: the first two thirds are NULL, the others are what `value` says.
fn sparse(name: &'static str, rows: usize, value: fn(&mut Random) -> f64) -> Table {
    let columns = vec![RowColumn::new(Type::F64).nullable(); 300];
    let is_null = |column: usize| column < 200;
    Table::new(name, columns, rows, move |_, random| {
        (0..300).map(|column| if is_null(column) { Value::Null } else { value(random).into() }).collect()
    })
}

/// The values of the announcement's script.
pub fn sparse_ones(rows: usize) -> Table {
    sparse("300 doubles, 200 NULL, the others 1", rows, |_| 1.0)
}

pub fn sparse_random(rows: usize) -> Table {
    sparse("300 doubles, 200 NULL, the others random bits", rows, |random| {
        f64::from_bits(0x3ff0_0000_0000_0000 | random.below(1 << 52))
    })
}

pub fn sparse_amounts(rows: usize) -> Table {
    sparse("300 doubles, 200 NULL, the others amounts", rows, |random| {
        random.below(10_000_000) as f64 / 100.0
    })
}

/// A vehicle's track: positions of seven digits, a speed of one, a time in microseconds.
pub fn positions(rows: usize) -> Table {
    let of = RowColumn::new;
    let columns = vec![of(Type::I64), of(Type::Timestamp), of(Type::F64), of(Type::F64), of(Type::F64)];
    Table::new("positions, 5 columns", columns, rows, |id, random| {
        vec![
            (id as i64).into(),
            Value::Timestamp(1_795_000_000_000_000 + random.below(86_400_000_000) as i64),
            (51.0 + random.below(10_000_000) as f64 / 1e7).into(),
            (4.0 + random.below(10_000_000) as f64 / 1e7).into(),
            (random.below(1300) as f64 / 10.0).into(),
        ]
    })
}

/// An address book: an identifier, a day, five short texts of which one is often empty and one often NULL.
pub fn texts(rows: usize) -> Table {
    let of = RowColumn::new;
    let mut columns = vec![of(Type::I64), of(Type::Timestamp)];
    columns.extend(vec![of(Type::Utf8).nullable(); 5]);
    Table::new("short texts, 7 columns", columns, rows, |id, random| {
        let day = 18_000 + random.below(3000) as i64;
        vec![
            (id as i64).into(),
            Value::Timestamp(day * 86_400_000_000),
            random.pick(&["Anna", "Jan", "Pieter", "Maria", "Johannes", "Willem"]),
            random.pick(&["de Vries", "Jansen", "Bakker", "van Dijk", "Visser", "Smit"]),
            random.pick(&["Delft", "Gouda", "Leiden", "Rotterdam", "Den Haag"]),
            random.pick(&["", "", "", "c/o"]),
            if random.below(4) > 0 {
                Value::Null
            } else {
                format!("+31 6 {:08}", random.below(100_000_000)).into()
            },
        ]
    })
}
