//! The tables of the demo, and how they are filled.

use std::path::Path;

use ambo_sql::Connection;
use serde_json::{Value as Json, json};

use super::stage::{Stage, or_fail};
use ambo_cli::failure::{Failure, Result};

/// Seats of each flight at the beginning.
pub const SEATS: u64 = 200;

/// A table as all engines of the comparison understand it, and what only Ambo does.
pub struct NewTable {
    pub name: &'static str,
    /// Where its rows are from.
    pub file: Option<&'static str>,
    columns: &'static str,
    /// Of tables that are mostly read as a whole, which the comparison measures in both storages.
    is_wide: bool,
}

/// All of them. What is found by its key, a row at a time, is a btree; what is summed up is a column table.
pub const TABLES: [NewTable; 5] = [
    NewTable {
        name: "flights",
        file: Some("flights.csv"),
        columns: "
    id bigint primary key, year int not null, month int not null, day int not null,
    dep_time int, sched_dep_time int not null, dep_delay int,
    arr_time int, sched_arr_time int not null, arr_delay int,
    carrier text not null, flight int not null, tailnum text, origin text not null, dest text not null,
    air_time int, distance int not null, hour int not null, minute int not null, time_hour timestamp not null,
    seats_free int not null default 200",
        is_wide: true,
    },
    NewTable {
        name: "planes",
        file: Some("planes.csv"),
        columns: "
    tailnum text primary key, year int, type text, manufacturer text, model text,
    engines int, seats int, speed int, engine text",
        is_wide: true,
    },
    NewTable {
        name: "airlines",
        file: Some("airlines.csv"),
        columns: "carrier text primary key, name text not null",
        is_wide: false,
    },
    NewTable {
        name: "airports",
        file: Some("airports.csv"),
        columns: "
    faa text primary key, name text not null, lat double not null, lon double not null,
    alt int, tz int, dst text, tzone text",
        is_wide: false,
    },
    NewTable {
        name: "bookings",
        file: None,
        columns: "
    seller int, number bigint, flight_id bigint not null, passenger text not null,
    primary key (seller, number)",
        is_wide: false,
    },
];

impl NewTable {
    /// The statement that any engine understands.
    fn create(&self) -> String {
        format!("create table {} ({})", self.name, self.columns)
    }

    /// The statement that makes it in Ambo, where wide tables get this storage.
    fn create_with(&self, storage: &str) -> String {
        let storage = if self.is_wide { storage } else { "btree" };
        format!("{} storage = {storage}", self.create())
    }

    /// The statement that fills it.
    fn copy(&self, data: &Path) -> Option<String> {
        let path = data.join(self.file?).display().to_string().replace('\'', "''");
        Some(format!("copy {} from '{path}' with (null 'NA')", self.name))
    }

    /// For the programs that do the same in other engines.
    pub fn to_json(&self) -> Json {
        json!({ "name": self.name, "file": self.file, "sql": self.create() })
    }
}

/// Fails unless all files are there, so that nothing is begun that cannot be ended.
pub fn find_files(data: &Path) -> Result<()> {
    for path in TABLES.iter().filter_map(|table| table.file).map(|file| data.join(file)) {
        std::fs::metadata(&path).map_err(|error| Failure::file(&path, &error))?;
    }
    Ok(())
}

/// The length of all files.
pub fn file_bytes(data: &Path) -> u64 {
    let bytes = |file| std::fs::metadata(data.join(file)).map_or(0, |metadata| metadata.len());
    TABLES.iter().filter_map(|table| table.file).map(bytes).sum()
}

/// Makes and fills the tables, for somebody who looks on.
pub fn show(stage: &mut Stage<'_>, connection: &mut Connection, data: &Path) -> Result<()> {
    for table in &TABLES {
        stage.run(connection, &table.create_with("column"))?;
    }
    for copy in TABLES.iter().filter_map(|table| table.copy(data)) {
        stage.run(connection, &copy)?;
    }
    Ok(())
}

/// Makes and fills the tables, wide ones with this storage. Returns how many rows came.
pub fn fill(connection: &mut Connection, storage: &str, data: &Path, dir: &Path) -> Result<u64> {
    let mut rows = 0;
    for table in &TABLES {
        or_fail(connection.execute(&table.create_with(storage), ()), dir)?;
        if let Some(copy) = table.copy(data) {
            rows += or_fail(connection.execute(&copy, ()), dir)?;
        }
    }
    Ok(rows)
}
