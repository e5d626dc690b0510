//! Random statements that define: what they change is as before at the end, for the tables of a database are known beforehand.

use super::query::Generator;
use crate::pair::Statement;

impl Generator<'_> {
    /// Changes something about a table, looks at its rows, and changes it back. `is_open` says whether a transaction is.
    pub fn definition(&mut self, is_open: bool) -> Vec<Statement> {
        let table = format!("r{}", self.table());
        let look = |rows: &str| format!("select * from {rows}");
        let filter = self.small_filter();
        let all: Vec<String> = match self.random.below(6) {
            0 => vec![
                format!("alter table {table} rename to z"),
                look("z"),
                format!("update z set b = b + 1 where {filter}"),
                format!("alter table z rename to {table}"),
                look(&table),
            ],
            1 => vec![
                format!("alter table {table} add column y bigint default 5"),
                format!("update {table} set y = k where {filter}"),
                look(&table),
                format!("alter table {table} drop column y"),
                look(&table),
            ],
            2 => vec![
                format!("create table c as select k, a, s, g from {table} where {filter}"),
                look("c"),
                "drop table c".into(),
            ],
            3 => vec![
                format!("alter table {table} rename column s to y"),
                format!("select k, y, g from {table} where {filter}"),
                format!("alter table {table} rename column y to s"),
                look(&table),
            ],
            4 => vec![
                format!("create unique index c on {table} (k, a)"),
                format!("select k, a, b, g from {table} where {filter}"),
                "drop index c".into(),
            ],
            _ if is_open => {
                let write = self.write();
                let end = *self.random.of(&["release c", "rollback to c"]);
                let mut all = vec!["savepoint c".into(), write, look(&table), end.into()];
                if end.starts_with("rollback") {
                    all.push("release c".into());
                }
                all.push(look(&table));
                all
            }
            _ => vec![
                format!("create view c as select k + 1 as k, g from {table} where {filter}"),
                format!("select c.k, c.g, {table}.t from c join {table} on c.k = {table}.k"),
                "drop view c".into(),
            ],
        };
        all.into_iter().map(|text| Statement::same(text, false)).collect()
    }

    fn small_filter(&mut self) -> String {
        let number = self.random.below(9);
        (*self.random.of(&["a > ", "b < ", "g <> ", "k > "])).to_owned() + &number.to_string()
    }
}
