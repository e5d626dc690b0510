//! What every engine of the comparison does: the same statements, as many operations, on the same keys.

use serde_json::{Value as Json, json};

use super::clerk::{BOOK, CANCEL, FREE, GIVE, TAKE};
use super::dashboards::{DASHBOARDS, SALES, TOTAL};
use super::office::threads;
use super::tables::{SEATS, TABLES};
use super::workload::BOOKERS;
use crate::bench::mix;

/// A point read.
pub const POINT: &str = "select dep_delay, arr_delay, tailnum, origin, dest from flights where id = ?";
/// As many parameters and columns, but no table: what a call costs.
pub const CALL: &str = "select 1, 2, 'N14228', 'EWR', 'IAH' where 1 = ?";
pub const CALLS: usize = 2000;
/// A change of one row, which commits.
pub const UPDATE: &str = "update flights set arr_delay = ? where id = ?";
/// Puts all seats of a flight on sale again.
pub const RESET: &str = "update flights set seats_free = 200 where id = ?";
/// Point reads of a round, and rounds, of which the fastest counts.
pub const POINTS: usize = 5000;
pub const ROUNDS: usize = 3;
/// Updates that do not wait for the disk.
pub const UPDATES: usize = 3000;
/// Updates of a round that do, and rounds. A disk is not as fast at every moment, so they are spread over the steps.
pub const DURABLE_UPDATES: usize = 75;
pub const DURABLE_ROUNDS: usize = 4;
/// How often each dashboard is asked; the median counts.
pub const REPEATS: usize = 5;

const KEYS: u64 = 10_000;
const PICKS: u64 = 4096;
/// Flights that everybody wants: a quarter of all bookings.
const POPULAR: u64 = 8;

/// Which flights are read and booked, in which order.
pub struct Picks {
    /// Random flights.
    pub keys: Vec<i64>,
    /// Places in `keys`, of which the first few come often.
    picks: Vec<u64>,
}

impl Picks {
    /// Chosen among these flights, always the same.
    pub fn among(ids: &[i64]) -> Self {
        let keys: Vec<i64> = (0..KEYS).map(|turn| ids[(mix(turn) % ids.len() as u64) as usize]).collect();
        let pick = |turn| {
            let dice = mix(turn + KEYS);
            dice % if dice >> 62 == 0 { POPULAR } else { KEYS }
        };
        Self { keys, picks: (0..PICKS).map(pick).collect() }
    }

    /// The flight that a booker wants in this turn, and whether everybody does.
    pub fn flight(&self, turn: u64, booker: u64) -> (i64, bool) {
        let pick = self.picks[((turn + booker * PICKS / BOOKERS) % PICKS) as usize];
        (self.keys[pick as usize], pick < POPULAR)
    }

    /// The values of updates, and their keys.
    pub fn updates(&self, from: usize, count: usize) -> impl Iterator<Item = (i32, i64)> {
        (0i32..).map(|value| value % 60).zip(self.keys[from..from + count].iter().copied())
    }

    /// For the programs that do the same in other engines.
    pub fn to_json(&self, flights: u64, seconds: f64) -> Json {
        json!({
            "threads": threads(),
            "tables": TABLES.iter().map(|table| table.to_json()).collect::<Vec<_>>(),
            "keys": self.keys,
            "picks": self.picks,
            "popular": POPULAR,
            "bookers": BOOKERS,
            "seconds": seconds,
            "total": flights * SEATS,
            "repeats": REPEATS,
            "call": { "sql": CALL, "count": CALLS },
            "points": { "sql": POINT, "count": POINTS, "rounds": ROUNDS },
            "updates": {
                "sql": UPDATE,
                "durable": { "from": 0, "count": DURABLE_UPDATES, "rounds": DURABLE_ROUNDS },
                "off": { "from": DURABLE_ROUNDS * DURABLE_UPDATES, "count": UPDATES },
            },
            "dashboards": DASHBOARDS.iter().map(|dashboard| dashboard.to_json()).collect::<Vec<_>>(),
            "sales": SALES.sql.trim_end(),
            "sql": {
                "free": FREE, "take": TAKE, "give": GIVE, "book": BOOK, "cancel": CANCEL,
                "reset": RESET, "total": TOTAL.trim_end(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away keys outside of the plan, and bookers who never meet.
    #[test]
    fn picks() {
        let picks = Picks::among(&[5, 6, 7]);
        assert!(picks.keys.len() >= POINTS && picks.keys.len() >= DURABLE_ROUNDS * DURABLE_UPDATES + UPDATES);
        assert!(picks.keys.iter().all(|id| (5..8).contains(id)));
        let popular = (0..PICKS).filter(|turn| picks.flight(*turn, 0).1).count();
        assert!((PICKS as usize / 5..PICKS as usize / 3).contains(&popular), "{popular}");
        assert_eq!(picks.flight(0, 1), picks.flight(PICKS / 2, 0));
    }
}
