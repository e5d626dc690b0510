//! Made-up flights in the form of the real ones, for machines without a network: the same on every machine.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::bench::mix;
use ambo_cli::failure::{Failure, Result};

/// As many as there are real ones.
pub const FLIGHTS: u64 = 336_776;
const DAYS_OF_MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const HEADER: &str = "id,year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,\
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
const MAKERS: [&str; 6] = ["BOEING", "EMBRAER", "AIRBUS", "BOMBARDIER INC", "MCDONNELL DOUGLAS", "CESSNA"];
const PLANES: u64 = 4043;
/// Planes are called N and a number from here on.
const FIRST_PLANE: u64 = 10_000;

/// Writes all files into a directory, and so many flights.
pub fn write(dir: &Path, flights: u64) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|error| Failure::file(dir, &error))?;
    let airlines = |carrier: &str| format!("{carrier},Made-up Air {carrier}");
    write_file(&dir.join("airlines.csv"), "carrier,name", CARRIERS.iter().map(|carrier| airlines(carrier)))?;
    let airport = |name: &str| format!("{name},Made-up Airport {name},40.5,-73.5,NA,-5,A,America/New_York");
    let airports = ORIGINS.into_iter().chain(DESTINATIONS.map(|(name, _)| name)).map(airport);
    write_file(&dir.join("airports.csv"), "faa,name,lat,lon,alt,tz,dst,tzone", airports)?;
    let header = "tailnum,year,type,manufacturer,model,engines,seats,speed,engine";
    write_file(&dir.join("planes.csv"), header, (0..PLANES).map(plane))?;
    write_file(&dir.join("flights.csv"), HEADER, (0..flights).map(|number| flight(number, flights)))
}

/// The file is there when it is whole.
fn write_file(path: &Path, header: &str, lines: impl Iterator<Item = String>) -> Result<()> {
    let part = path.with_extension("part");
    let write = || {
        let mut file = BufWriter::new(File::create(&part)?);
        writeln!(file, "{header}")?;
        for line in lines {
            writeln!(file, "{line}")?;
        }
        file.flush()?;
        std::fs::rename(&part, path)
    };
    write().map_err(|error: io::Error| Failure::file(path, &error))
}

fn plane(number: u64) -> String {
    let dice = mix(number);
    let maker = MAKERS[((dice % 6).min(dice >> 32 & 7)) as usize];
    let year = match dice >> 40 & 31 {
        0 => "NA".to_string(),
        age => (1982 + age).to_string(),
    };
    let seats = 50 + (dice >> 48) % 200;
    format!(
        "N{},{year},Fixed wing multi engine,{maker},M-{},2,{seats},NA,Turbo-fan",
        FIRST_PLANE + number,
        dice >> 16 & 15
    )
}

/// One of so many.
fn flight(number: u64, flights: u64) -> String {
    let dice = mix(number);
    let die = |sides: u64, turn: u32| mix(dice ^ u64::from(turn) << 56) % sides;
    let day_of_year = number * 365 / flights;
    let (month, day) = date(day_of_year);
    // The flight's place in its day sets the hour, 5 to 22; its number is unique in the day, so the key is unique.
    let place = number - (day_of_year * flights).div_ceil(365);
    let (hour, minute) = (5 + place * 18 / (flights / 365 + 1), die(60, 1));
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
    let left = format!("{},{},{}", moved(departure, delay), clock(departure), known(delay));
    let came = format!("{},{},{}", moved(arrival, delay + made_up), clock(arrival), known(delay + made_up));
    let plane = FIRST_PLANE + die(PLANES, 11);
    let flown = known(airborne as i64);
    format!(
        "{},2013,{month},{day},{left},{came},{carrier},{},N{plane},{origin},{dest},{flown},{miles},{hour},{minute},\
         2013-{month:02}-{day:02}T{hour:02}:00:00Z",
        number + 1,
        place + 1
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

    // Keeps away flights that the demo cannot load or join: another number of columns, dates that are none, planes that are not there.
    #[test]
    fn flights_are_well_formed() {
        for flights in [1, 1000, FLIGHTS] {
            for number in (0..flights).step_by(if flights > 1000 { 97 } else { 1 }).chain([flights - 1]) {
                let line = flight(number, flights);
                let fields: Vec<&str> = line.split(',').collect();
                assert_eq!(fields.len(), HEADER.split(',').count(), "{line}");
                assert_eq!(fields[0], (number + 1).to_string());
                let hour: u64 = fields[17].parse().unwrap();
                assert!((5..=22).contains(&hour), "{line}");
                let known: u64 = fields[12].strip_prefix('N').unwrap().parse().unwrap();
                assert!(plane(known - FIRST_PLANE).starts_with(fields[12]), "{line}");
            }
        }
        assert!(flight(0, FLIGHTS).starts_with("1,2013,1,1,"));
        assert!(flight(FLIGHTS - 1, FLIGHTS).starts_with("336776,2013,12,31,"));
    }
}
