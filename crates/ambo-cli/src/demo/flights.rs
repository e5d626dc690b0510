//! Made-up flights in the form of the real ones, for machines without a network: the same on every machine.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::bench::mix;
use crate::failure::{Failure, Result};

/// As many as there are real ones.
const FLIGHTS: u64 = 336_776;
const DAYS_OF_MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const HEADER: &str = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,\
                      tailnum,origin,dest,air_time,distance,hour,minute,time_hour";
const CARRIERS: [&str; 16] =
    ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX", "FL", "AS", "F9", "YV", "HA", "OO"];
const ORIGINS: [&str; 3] = ["EWR", "JFK", "LGA"];
/// Destination and miles.
const DESTINATIONS: [(&str, u64); 12] = [
    ("ORD", 733),
    ("ATL", 762),
    ("LAX", 2475),
    ("BOS", 187),
    ("MCO", 944),
    ("CLT", 544),
    ("SFO", 2586),
    ("FLL", 1069),
    ("MIA", 1089),
    ("DCA", 214),
    ("DTW", 502),
    ("DFW", 1389),
];

/// Writes the file.
pub fn write(path: &Path) -> Result<()> {
    let fail = |error: io::Error| Failure::file(path, &error);
    let mut file = BufWriter::new(File::create(path).map_err(fail)?);
    writeln!(file, "{HEADER}").map_err(fail)?;
    for number in 0..FLIGHTS {
        write_flight(&mut file, number).map_err(fail)?;
    }
    file.flush().map_err(fail)
}

fn write_flight(file: &mut impl Write, number: u64) -> io::Result<()> {
    let dice = mix(number);
    let die = |sides: u64, turn: u32| mix(dice ^ u64::from(turn) << 56) % sides;
    let day_of_year = number * 365 / FLIGHTS;
    let (month, day) = date(day_of_year);
    // The flight's place in its day sets the hour, 5 to 22; its number is unique in the day, so the key is unique.
    let place = number - (day_of_year * FLIGHTS).div_ceil(365);
    let (hour, minute) = (5 + place * 18 / 923, die(60, 1));
    // The smaller of two dice: the first carriers fly most.
    let carrier = CARRIERS[die(16, 2).min(die(16, 3)) as usize];
    let (origin, (dest, miles)) = (ORIGINS[die(3, 4) as usize], DESTINATIONS[die(12, 5) as usize]);
    let airborne = miles * 60 / 450 + 20 + die(15, 6);
    let delay = i64::try_from(die(20, 7)).unwrap_or_default() - 8 + if die(5, 8) == 0 { 60 } else { 0 };
    let made_up = i64::try_from(die(30, 9)).unwrap_or_default() - 18;
    let departure = hour * 60 + minute;
    let arrival = departure + airborne + 30;
    let clock = |minutes: u64| minutes / 60 % 24 * 100 + minutes % 60;
    let flew = die(41, 10) != 0;
    let known = |value: i64| if flew { value.to_string() } else { "NA".to_string() };
    let moved = |minutes: u64, by: i64| known(clock(minutes.saturating_add_signed(by)) as i64);
    write!(file, "2013,{month},{day},{},{},{},", moved(departure, delay), clock(departure), known(delay))?;
    write!(file, "{},{},{},", moved(arrival, delay + made_up), clock(arrival), known(delay + made_up))?;
    write!(file, "{carrier},{},N{:05},{origin},{dest},", place + 1, 10_000 + die(4043, 11))?;
    writeln!(
        file,
        "{},{miles},{hour},{minute},2013-{month:02}-{day:02}T{hour:02}:00:00Z",
        known(airborne as i64)
    )
}

/// Month and day, from 1.
fn date(mut day_of_year: u64) -> (u64, u64) {
    for (month, days) in (1..).zip(DAYS_OF_MONTHS) {
        if day_of_year < days {
            return (month, day_of_year + 1);
        }
        day_of_year -= days;
    }
    unreachable!("the days of a year are below 365")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away flights that the demo cannot load: equal keys, wrong dates, another number of columns.
    #[test]
    fn keys_are_unique() {
        let mut file = Vec::new();
        (0..FLIGHTS).step_by(1).for_each(|number| write_flight(&mut file, number).unwrap());
        let text = String::from_utf8(file).unwrap();
        let mut keys = std::collections::HashSet::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), HEADER.split(',').count(), "{line}");
            assert!(keys.insert((fields[18], fields[9], fields[10])), "{line}");
        }
        assert_eq!(keys.len() as u64, FLIGHTS);
        assert!(
            text.starts_with("2013,1,1,")
                && text.lines().last().is_some_and(|line| line.starts_with("2013,12,31,"))
        );
    }
}
