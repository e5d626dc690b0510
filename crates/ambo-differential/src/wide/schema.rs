//! The tables of a database: keys of one column and of several, sort keys, any storage, columns of any type.

use super::sequence;
use crate::{random::Random, subject::APPEND};

/// What a column, or an expression, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Double,
    Decimal,
    Text,
    Bool,
    Date,
    Moment,
    /// With a time zone.
    Instant,
    Time,
    Blob,
    Uuid,
    /// Of whole numbers.
    List,
    /// `mood`.
    Enum,
}

/// A column in sight, or of a table.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

/// Columns that a table may have: their names say what they are in all tables.
const OPTIONAL: [(&str, &str, Kind); 18] = [
    ("i", "int", Kind::Int),
    ("l", "bigint", Kind::Int),
    ("v", "smallint", Kind::Int),
    ("d", "double", Kind::Double),
    ("r", "real", Kind::Double),
    ("m", "decimal(10, 2)", Kind::Decimal),
    ("n", "decimal(38, 4)", Kind::Decimal),
    ("s", "text", Kind::Text),
    ("u", "text", Kind::Text),
    ("b", "boolean", Kind::Bool),
    ("day", "date", Kind::Date),
    ("p", "timestamp", Kind::Moment),
    ("z", "timestamp with time zone", Kind::Instant),
    ("o", "time", Kind::Time),
    ("x", "blob", Kind::Blob),
    ("w", "uuid", Kind::Uuid),
    ("q", "bigint[]", Kind::List),
    ("c", "mood", Kind::Enum),
];

/// Columns that are never NULL, of which keys are made.
const OF_KEYS: [(&str, &str, Kind); 4] = [
    ("k", "bigint", Kind::Int),
    ("g", "int", Kind::Int),
    ("h", "text", Kind::Text),
    ("e", "date", Kind::Date),
];

/// Keys that begin with what other rows have, too.
const KEYS: [&[&str]; 8] =
    [&["k"], &["k"], &["g", "k"], &["k", "g"], &["h", "k"], &["e", "g", "k"], &["h", "g", "k"], &[]];
const SORT_KEYS: [&[&str]; 4] = [&["e"], &["g"], &["h", "g"], &["g", "e"]];

pub struct Table {
    pub name: String,
    pub columns: Vec<(Column, &'static str)>,
    pub key: Vec<&'static str>,
    storage: &'static str,
    sort_key: Vec<&'static str>,
    indexes: Vec<String>,
    rows: u64,
}

pub struct Schema {
    pub tables: Vec<Table>,
}

impl Schema {
    pub fn new(random: &mut Random) -> Self {
        let count = 2 + random.below(2);
        Self { tables: (0..count).map(|nth| table(nth, random)).collect() }
    }

    /// What makes the tables and their first rows, for Ambo and for the peer. A statement without text for the peer is Ambo's alone.
    pub fn statements(&self, random: &mut Random) -> Vec<(String, String)> {
        let moods: Vec<_> = MOODS.iter().map(|mood| text(mood)).collect();
        let mood = format!("create type mood as enum ({})", moods.join(", "));
        let sequences = sequence::NAMES.map(|name| sequence::create(random, name));
        let mut all: Vec<_> =
            std::iter::once(mood).chain(sequences).map(|text| (text.clone(), text)).collect();
        for table in &self.tables {
            all.push(table.create());
            all.extend(table.indexes.iter().map(|index| (index.clone(), String::new())));
            let mut key = 0;
            while key < table.rows {
                let count = 1 + random.below(6);
                let rows: Vec<_> = (key..key + count).map(|key| table.row(random, key)).collect();
                let insert = format!("insert into {} values {}", table.name, rows.join(", "));
                all.push((insert.clone(), insert));
                key += count;
                if random.below(8) == 0 {
                    all.push(("compact".into(), String::new()));
                }
            }
            if random.below(3) == 0 {
                all.push(("compact".into(), String::new()));
            }
        }
        all
    }
}

fn table(nth: u64, random: &mut Random) -> Table {
    let storage = *random.of(&["btree", "lsm", "column", "column", "memory", APPEND]);
    let chosen =
        |random: &mut Random| -> Vec<_> { OPTIONAL.iter().filter(|_| random.below(5) < 2).collect() };
    let optional = chosen(random);
    let columns: Vec<_> = OF_KEYS
        .iter()
        .chain(optional)
        .map(|(name, of, kind)| (Column { name: (*name).to_owned(), kind: *kind }, *of))
        .collect();
    let sort_key = match (storage == "column" || storage == APPEND) && random.one_in(2) {
        true => random.of(&SORT_KEYS).to_vec(),
        false => Vec::new(),
    };
    let mut indexes = Vec::new();
    // No index has lists.
    for (column, _) in columns.iter().filter(|(column, _)| column.kind != Kind::List) {
        let using = match random.below(16) {
            0 => "ordered",
            1 => "hash",
            2 if storage == "column" || storage == APPEND => "bitmap",
            3 if storage == "column" || storage == APPEND => "br64",
            _ => continue,
        };
        let column = &column.name;
        indexes.push(format!("create index t{nth}_{column} on t{nth} using {using} ({column})"));
    }
    // Of its own, so that what a seed makes does not hang on it.
    let has = |name: &str| columns.iter().any(|(column, _)| column.name == name);
    // Columns of one type.
    let any = [("k", "l", "(any (k, l))"), ("g", "i", "(any (g, i))"), ("h", "s", "(any (h, s))")];
    let any = any.into_iter().find(|(one, other, _)| has(one) && has(other)).map_or("", |(.., any)| any);
    let several = *random.clone().of(&["", "", "(g, h)", any, "(h, e, k)"]);
    if !several.is_empty() && (storage == "column" || storage == APPEND) {
        indexes.push(format!("create index t{nth}_several on t{nth} using br64 {several}"));
    }
    let rows = *random.of(&[0, 1, 6, 20, 20, 50, 120]);
    Table {
        name: format!("t{nth}"),
        columns,
        key: random.of(&KEYS).to_vec(),
        storage,
        sort_key,
        indexes,
        rows,
    }
}

impl Table {
    pub fn columns_under(&self, name: &str) -> Vec<Column> {
        let under =
            |(column, _): &(Column, _)| Column { name: format!("{name}.{}", column.name), kind: column.kind };
        self.columns.iter().map(under).collect()
    }

    fn create(&self) -> (String, String) {
        let column = |(column, of): &(Column, &str)| {
            let not_null =
                if OF_KEYS.iter().any(|(name, ..)| *name == column.name) { " not null" } else { "" };
            format!("{} {of}{not_null}", column.name)
        };
        let mut parts: Vec<_> = self.columns.iter().map(column).collect();
        if !self.key.is_empty() {
            parts.push(format!("primary key ({})", self.key.join(", ")));
        }
        let create = format!("create table {} ({})", self.name, parts.join(", "));
        let sort_key = match self.sort_key.is_empty() {
            true => String::new(),
            false => format!(" sort key ({})", self.sort_key.join(", ")),
        };
        (format!("{create} storage = {}{sort_key}", self.storage), create)
    }

    /// Values of a row, as text in parentheses.
    pub fn row(&self, random: &mut Random, key: u64) -> String {
        let value = |(column, _): &(Column, _), random: &mut Random| match column.name.as_str() {
            "k" => key.to_string(),
            "g" => (key * 7 % 5).to_string(),
            "h" => text(random.of::<&str>(&TEXTS[..5])),
            "e" => format!("date '2024-0{}-1{}'", 1 + random.below(3), random.below(4)),
            _ if random.below(5) == 0 => "null".to_owned(),
            "v" => (random.below(12) as i64 - 2).to_string(),
            "l" if random.below(10) == 0 => {
                (*random.of(&["9223372036854775807", "-9223372036854775807", "4294967296"])).to_owned()
            }
            "n" if random.below(6) == 0 => (*random
                .of(&["9999999999999999999999999999999999.9999", "-1234567890123456789012345678.0001"]))
            .to_owned(),
            "r" => format!("cast({} as real)", random.of(&["0.5", "-1.25", "2", "1024", "0"])),
            _ => literal(random, column.kind),
        };
        let values: Vec<_> = self.columns.iter().map(|column| value(column, random)).collect();
        format!("({})", values.join(", "))
    }
}

/// The texts that columns have: letters with marks apart, empty ones, some that are alike but for spaces.
const TEXTS: [&str; 15] =
    ["", "a", "B", "ab", "abc", "x y", "zz%", "é", "e\u{301}", "a_b", " a ", "😀", "12", "AB", "É"];
const DAYS: [&str; 10] = [
    "2024-02-29",
    "2024-01-10",
    "1999-12-31",
    "1970-01-01",
    "1969-12-31",
    "0001-01-01",
    "9999-12-31",
    "1582-10-10",
    "infinity",
    "-infinity",
];
const MOMENTS: [&str; 11] = [
    "2024-02-29 12:30:00.123456",
    "2024-03-31 02:30:00",
    "1999-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "1677-01-01 00:00:00",
    "2262-12-31 00:00:00",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59",
    "infinity",
    "-infinity",
];
const ZONES: [&str; 4] = ["+00", "+02", "-05:30", "+00"];

const UUIDS: [&str; 5] = [
    "00000000-0000-0000-0000-000000000000",
    "00000000-0000-0000-0000-0000000000ff",
    "550e8400-e29b-41d4-a716-446655440000",
    "80000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
];
const LISTS: [&str; 7] = ["[]", "[1]", "[null]", "[1, null]", "[1, 2]", "[2]", "[-1, 5, 5]"];

/// In another order than that of letters.
const MOODS: [&str; 4] = ["sad", "ok", "happy", ""];

/// Mostly one that is near.
fn moment(random: &mut Random) -> &'static str {
    if random.one_in(12) { random.of::<&str>(&MOMENTS) } else { random.of::<&str>(&MOMENTS[..5]) }
}

fn text(text: &str) -> String {
    format!("'{text}'")
}

/// A constant of a kind.
pub fn literal(random: &mut Random, kind: Kind) -> String {
    match kind {
        Kind::Int => (random.below(14) as i64 - 3).to_string(),
        Kind::Double if random.one_in(20) => {
            format!("cast('{}' as double)", random.of(&["infinity", "-infinity", "nan"]))
        }
        Kind::Double => {
            let number =
                *random.of(&["0.5", "-1.25", "2", "0", "0.1", "100000", "'-0.0'", "1e10", "3.75", "-3"]);
            format!("cast({number} as double)")
        }
        Kind::Decimal => {
            (*random.of(&["1.25", "0.10", "-3.50", "100.00", "0.00", "99999999.99", "2.50"])).to_owned()
        }
        Kind::Text if random.one_in(20) => "('a' || chr(0) || 'b')".into(),
        Kind::Text => text(random.of::<&str>(&TEXTS)),
        Kind::Bool => (*random.of(&["true", "false"])).to_owned(),
        Kind::Date => format!("date '{}'", random.of(&DAYS)),
        Kind::Moment => format!("timestamp '{}'", moment(random)),
        Kind::Instant => {
            let (moment, zone) = (moment(random), random.of(&ZONES));
            // What has no end has no zone.
            let zone = if moment.ends_with("infinity") { "" } else { zone };
            format!("cast('{moment}{zone}' as timestamptz)")
        }
        Kind::Time => {
            format!("time '{}'", random.of(&["00:00:00", "12:34:56", "23:59:59.999999", "12:34:56.000001"]))
        }
        Kind::Uuid => format!("cast('{}' as uuid)", random.of(&UUIDS)),
        Kind::List => format!("cast({} as bigint[])", random.of(&LISTS)),
        Kind::Enum => format!("cast('{}' as mood)", random.of(&MOODS)),
        Kind::Blob => format!("unhex('{}')", random.of(&["", "00", "00FF", "616263", "FF"])),
    }
}
