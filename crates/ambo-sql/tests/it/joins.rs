//! Random joins of small tables against every combination of their rows.

use ambo_sql::Database;

use crate::common::{Random, STORAGES, sound};

/// A row: its key, and three values that may be NULL.
type Row = [Option<i64>; 4];

const COLUMNS: [&str; 4] = ["k", "a", "b", "c"];

/// `left.column OPERATOR right.column`, or a constant on the right.
struct Condition {
    left: (usize, usize),
    operator: &'static str,
    right: Result<(usize, usize), i64>,
}

impl Condition {
    fn text(&self) -> String {
        let column = |(table, column): (usize, usize)| format!("t{table}.{}", COLUMNS[column]);
        let right = self.right.map_or_else(|constant| constant.to_string(), column);
        format!("{} {} {right}", column(self.left), self.operator)
    }

    /// Whether it holds, as soon as all its tables have a row.
    fn holds(&self, rows: &[Row]) -> bool {
        let value = |(table, column): (usize, usize)| rows.get(table).map(|row| row[column]);
        let (Some(left), Some(right)) = (value(self.left), self.right.map_or_else(|c| Some(Some(c)), value))
        else {
            return true;
        };
        let (Some(left), Some(right)) = (left, right) else { return false };
        match self.operator {
            "=" => left == right,
            "<" => left < right,
            _ => left != right,
        }
    }
}

/// `[not] exists (select 1 from rTABLE as x where x.inner = t.outer [and x.c <> t.c])`, or a left join by the same condition.
struct Beside {
    table: usize,
    inner: usize,
    outer: (usize, usize),
    differs: bool,
}

impl Beside {
    fn text(&self) -> String {
        let (of, outer) = self.outer;
        let differs = if self.differs { format!(" and x.c <> t{of}.c") } else { String::new() };
        format!("x.{} = t{of}.{}{differs}", COLUMNS[self.inner], COLUMNS[outer])
    }

    /// How many rows of the table fit.
    fn count(&self, tables: &[Vec<Row>], rows: &[Row]) -> i64 {
        let (of, outer) = self.outer;
        let fits = |row: &&Row| {
            let (inner, outer, own, other) = (row[self.inner], rows[of][outer], row[3], rows[of][3]);
            let differs = own.is_some() && other.is_some() && own != other;
            inner.is_some() && inner == outer && (differs || !self.differs)
        };
        tables[self.table].iter().filter(fits).count() as i64
    }
}

fn row(random: &mut Random, key: i64) -> Row {
    let mut value = || Some(random.below(9)).filter(|value| *value > 0);
    [Some(key), value(), value(), value()]
}

/// How many combinations fit, each as often as its weight says, and the sum of the first table's keys in them.
fn fitting(
    tables: &[&Vec<Row>],
    conditions: &[Condition],
    weight: &impl Fn(&[Row]) -> i64,
    chosen: &mut Vec<Row>,
) -> (i64, i64) {
    let Some(table) = tables.get(chosen.len()) else {
        let weight = weight(chosen);
        return (weight, weight * chosen[0][0].expect("a key"));
    };
    let mut all = (0, 0);
    for row in *table {
        chosen.push(*row);
        if conditions.iter().all(|condition| condition.holds(chosen)) {
            let (rows, sum) = fitting(tables, conditions, weight, chosen);
            all = (all.0 + rows, all.1 + sum);
        }
        chosen.pop();
    }
    all
}

fn query(random: &mut Random, tables: usize) -> (Vec<usize>, Vec<Condition>) {
    let count = 2 + random.below(4) as usize;
    let chosen: Vec<usize> = (0..count).map(|_| random.below(tables as i64) as usize).collect();
    let mut column = |table| (table, random.below(4) as usize);
    let mut conditions: Vec<_> = (1..count)
        .map(|table| (column(table), column(table / 2)))
        .map(|(left, right)| Condition { left, operator: "=", right: Ok(right) })
        .collect();
    for _ in 0..random.below(4) {
        let left = (random.below(count as i64) as usize, random.below(4) as usize);
        let operator = ["=", "<", "<>"][random.below(3) as usize];
        let right = match random.below(2) {
            0 => Err(random.below(9)),
            _ => Ok((random.below(count as i64) as usize, random.below(4) as usize)),
        };
        conditions.push(Condition { left, operator, right });
    }
    (chosen, conditions)
}

#[test]
fn joins_have_the_rows_of_all_combinations_that_fit() {
    for (storage, seed) in STORAGES.into_iter().zip([3, 5, 7]) {
        let mut random = Random(seed);
        let db = Database::in_memory().unwrap();
        let mut connection = db.connect();
        let sizes = [2, 9, 14, 25, 40];
        let mut tables: Vec<Vec<Row>> = Vec::new();
        for (table, rows) in sizes.into_iter().enumerate() {
            let create =
                format!("create table r{table} (k bigint primary key, a bigint, b bigint, c bigint)");
            connection.execute(&format!("{create} storage = {storage}"), ()).unwrap();
            tables.push((0..rows).map(|key| row(&mut random, key)).collect());
            for (at, row) in tables[table].iter().enumerate() {
                let value = |value: &Option<i64>| value.map_or("null".into(), |value| value.to_string());
                let values: Vec<String> = row.iter().map(value).collect();
                let insert = format!("insert into r{table} values ({})", values.join(", "));
                connection.execute(&insert, ()).unwrap();
                if at * 2 == rows as usize {
                    db.compact().unwrap();
                }
            }
        }
        for _ in 0..150 {
            let (chosen, conditions) = query(&mut random, tables.len());
            let from: Vec<_> =
                chosen.iter().enumerate().map(|(at, table)| format!("r{table} as t{at}")).collect();
            let conditions_text: Vec<_> = conditions.iter().map(Condition::text).collect();
            let statement = format!(
                "select count(*), coalesce(sum(t0.k), 0) from {} where {}",
                from.join(" cross join "),
                conditions_text.join(" and ")
            );
            let beside = Beside {
                table: random.below(5) as usize,
                inner: random.below(4) as usize,
                outer: (random.below(chosen.len() as i64) as usize, random.below(4) as usize),
                differs: random.below(2) == 0,
            };
            let (from, on) = (format!("r{} as x", beside.table), beside.text());
            let way = random.below(4);
            let statement = match way {
                0 => format!("{statement} and exists (select 1 from {from} where {on})"),
                1 => format!("{statement} and not exists (select 1 from {from} where {on})"),
                2 => statement.replace(" where ", &format!(" left join {from} on {on} where ")),
                _ => statement,
            };
            let weight = |rows: &[Row]| match (way, beside.count(&tables, rows)) {
                (0, count) => count.min(1),
                (1, count) => 1 - count.min(1),
                (2, count) => count.max(1),
                _ => 1,
            };
            let of: Vec<_> = chosen.iter().map(|table| &tables[*table]).collect();
            let expected = fitting(&of, &conditions, &weight, &mut Vec::new());
            let found: (i64, i64) =
                connection.sql(&statement).unwrap().single().unwrap().into_values().unwrap();
            if found != expected {
                let plan = crate::common::rows(&mut connection, &format!("explain analyze {statement}"));
                panic!("{storage}: {statement}\nhas {found:?}, not {expected:?}\n{plan}");
            }
        }
        sound(&db);
    }
}
