//! The queries of a dashboard: joins, groups, top lists. All engines of the comparison understand them as they are.

use std::time::{Duration, Instant};

use ambo_sql::Connection;
use serde_json::{Value as Json, json};

use ambo_files::datum::to_json;

/// A query and what it answers.
pub struct Dashboard {
    pub name: &'static str,
    pub title: &'static str,
    pub sql: &'static str,
}

/// What is asked about the flights.
pub const DASHBOARDS: [Dashboard; 6] = [
    Dashboard {
        name: "carriers",
        title: "Which airlines fly most, and how late?",
        sql: include_str!("sql/carriers.sql"),
    },
    Dashboard { name: "hours", title: "When is the delay worst?", sql: include_str!("sql/hours.sql") },
    Dashboard {
        name: "destinations",
        title: "Where does one arrive late?",
        sql: include_str!("sql/destinations.sql"),
    },
    Dashboard { name: "makers", title: "Whose planes are they?", sql: include_str!("sql/makers.sql") },
    Dashboard { name: "days", title: "Which were the worst days?", sql: include_str!("sql/days.sql") },
    Dashboard { name: "latest", title: "Which flights were latest?", sql: include_str!("sql/latest.sql") },
];

/// Joins what is being booked with what was loaded.
pub const SALES: Dashboard =
    Dashboard { name: "sales", title: "Who sells most right now?", sql: include_str!("sql/sales.sql") };

/// Free seats and bookings at one moment: together they never change in number.
pub const TOTAL: &str = include_str!("sql/total.sql");

impl Dashboard {
    /// Runs it. How long it took, and its rows.
    pub fn run(&self, connection: &mut Connection) -> ambo_sql::Result<(Duration, Vec<Vec<Json>>)> {
        let start = Instant::now();
        let rows: Vec<_> = connection.sql(self.sql)?.collect::<ambo_sql::Result<_>>()?;
        let time = start.elapsed();
        Ok((time, rows.iter().map(|row| row.values().iter().map(to_json).collect()).collect()))
    }

    /// For the programs that do the same in other engines.
    pub fn to_json(&self) -> Json {
        json!({ "name": self.name, "title": self.title, "sql": self.sql.trim_end() })
    }
}
