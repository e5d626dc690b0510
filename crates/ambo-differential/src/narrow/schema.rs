//! The tables of a database.

use crate::{random::Random, subject::APPEND};

/// What a column, or an expression, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Text,
    Bool,
}

/// The columns of every table. The last is generated.
pub const COLUMNS: [(&str, Kind); 6] = [
    ("k", Kind::Int),
    ("a", Kind::Int),
    ("b", Kind::Int),
    ("s", Kind::Text),
    ("t", Kind::Text),
    ("g", Kind::Int),
];

/// The columns that rows are inserted with.
pub const GIVEN: &str = "k, a, b, s, t";

/// The texts that columns have.
pub const TEXTS: [&str; 7] = ["", "a", "B", "ab", "abc", "x y", "zz%"];

/// A table: how it is stored, what its rows have to be, and how many it begins with.
pub struct Table {
    storage: &'static str,
    /// Behind the columns.
    constraints: String,
    rows: u64,
    indexes: Vec<String>,
}

pub struct Schema {
    pub tables: Vec<Table>,
}

impl Schema {
    pub fn new(random: &mut Random) -> Self {
        let table = |nth: u64, random: &mut Random| {
            let storage = ["btree", "lsm", "column", "column", "memory", APPEND][random.below(6) as usize];
            let mut indexes = Vec::new();
            for column in ["a", "b", "s", "t"] {
                let using = match random.below(8) {
                    0 => "ordered",
                    1 => "hash",
                    2 if storage == "column" || storage == APPEND => "bitmap",
                    3 if storage == "column" || storage == APPEND => "br64",
                    _ => continue,
                };
                indexes.push(format!("create index r{nth}_{column} on r{nth} using {using} ({column})"));
            }
            let rows = [0, 1, 7, 30, 80][random.below(5) as usize];
            Table { storage, constraints: constraints(nth, random), rows, indexes }
        };
        let tables = (0..4).map(|nth| table(nth, random)).collect();
        Self { tables }
    }

    /// What makes the tables and their first rows, for Ambo and for SQLite; no text where it is Ambo's alone.
    pub fn statements(&self, random: &mut Random) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (nth, table) in self.tables.iter().enumerate() {
            let columns = "k bigint primary key not null, a bigint, b bigint, s text, t text";
            let create = format!("create table r{nth} ({columns}, {})", table.constraints);
            all.push((format!("{create} storage = {}", table.storage), create));
            all.extend(table.indexes.iter().map(|index| (index.clone(), String::new())));
            for key in 0..table.rows {
                let values = row(random, key);
                let insert = format!("insert into r{nth} ({GIVEN}) values ({values})");
                all.push((insert.clone(), insert));
                if random.below(40) == 0 {
                    all.push(("compact".into(), String::new()));
                }
            }
        }
        all
    }
}

/// The generated column, now and then a condition, and a key of another table or of its own.
fn constraints(nth: u64, random: &mut Random) -> String {
    let generated = ["a + k", "coalesce(b, 7) * 2", "length(s) + b"][random.below(3) as usize];
    let kept = ["stored", "virtual"][random.below(2) as usize];
    let mut all = format!("g bigint generated always as ({generated}) {kept}");
    if random.below(4) == 0 {
        all += ["", ", check (a + b < 15)", ", check (s is null or s <> t)"][random.below(3) as usize];
    }
    if random.below(3) == 0 {
        // Not what comes later: it is not there yet.
        let other = random.below(nth + 1);
        let column = ["a", "b"][random.below(2) as usize];
        let action = |random: &mut Random| ["cascade", "set null", "no action"][random.below(3) as usize];
        let (deleted, updated) = (action(random), action(random));
        all += &format!(
            ", foreign key ({column}) references r{other} (k) on delete {deleted} on update {updated}"
        );
    }
    all
}

/// Values of a row under `GIVEN`, as text.
pub fn row(random: &mut Random, key: u64) -> String {
    let mut int = || match random.below(6) {
        0 => "null".to_owned(),
        _ => (random.below(12) as i64 - 2).to_string(),
    };
    let (a, b) = (int(), int());
    let mut text = || match random.below(6) {
        0 => "null".to_owned(),
        _ => format!("'{}'", TEXTS[random.below(TEXTS.len() as u64) as usize]),
    };
    let (s, t) = (text(), text());
    format!("{key}, {a}, {b}, {s}, {t}")
}
