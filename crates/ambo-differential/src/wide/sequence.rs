//! Random sequences, and statements that take numbers from them. None begins as queries do: later answers depend on them.

use super::query::Generator;
use crate::random::Random;

/// What each database has.
pub const NAMES: [&str; 2] = ["sa", "sb"];

/// CREATE SEQUENCE, with limits that are reached.
pub fn create(random: &mut Random, name: &str) -> String {
    let step = *random.of(&[1, 2, 7, -1, -3]);
    let (least, greatest) = (*random.of(&[-9, 1, 5]), *random.of(&[12, 40, 9_223_372_036_854_775_807_i64]));
    let cycle = *random.of(&["", " cycle", " no cycle"]);
    let start = if step > 0 { least + random.below(3) as i64 } else { greatest.min(50) };
    format!(
        "create sequence {name} increment by {step} minvalue {least} maxvalue {greatest} start with {start}{cycle}"
    )
}

impl Generator<'_> {
    pub fn sequence(&mut self) -> String {
        let name = *self.random.of(&NAMES);
        match self.random.below(6) {
            0 | 1 => format!("values (nextval('{name}'))"),
            2 => format!("values (nextval('{name}')), (nextval('{name}') + 1), (nextval('{name}'))"),
            3 => format!("values (currval('{name}'))"),
            4 => {
                let rows = 1 + self.random.below(4);
                let each: Vec<_> = (0..rows).map(|row| format!("({row})")).collect();
                format!(
                    "from (values {}) as v (x) select sum(nextval('{name}')) as c0, count(*) as c1",
                    each.join(", ")
                )
            }
            _ => {
                let table = self.table();
                format!(
                    "insert into t{table} (k, g, h, e) values (1000000 + nextval('{name}'), 1, 'a', date '2024-01-01'), \
                     (1000000 + nextval('{name}'), 2, 'b', date '2024-01-01')"
                )
            }
        }
    }
}
