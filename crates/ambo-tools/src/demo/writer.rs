//! The process that is killed in the middle of selling tickets.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::clerk::Booked;
use super::office::Office;
use crate::bench::mix;
use ambo_cli::engine::Tuning;
use ambo_cli::failure::{Failure, Result};

/// Where to sell.
#[derive(Args, Clone, Debug)]
pub struct WriterArguments {
    /// The database's directory
    pub dir: PathBuf,
}

/// How many threads sell.
pub const SELLERS: u64 = 4;
/// The number of the first of them in table `bookings`.
pub const FIRST_SELLER: i64 = 100;

/// The flight of a seller's ticket.
pub fn flight(ids: &[i64], seller: u64, ticket: u64) -> i64 {
    ids[(mix(seller << 48 ^ ticket) % ids.len() as u64) as usize]
}

/// Who flies.
pub fn passenger(seller: u64, ticket: u64) -> String {
    format!("ticket {ticket} of seller {seller}, not transferable")
}

/// Sells until the process is killed, or until nobody listens any more.
pub fn run(arguments: &WriterArguments) -> Result<()> {
    let office = Office::open(&arguments.dir, &Tuning::default())?;
    std::thread::scope(|scope| {
        let sell = |seller| {
            let office = &office;
            scope.spawn(move || sell(office, seller))
        };
        let sellers: Vec<_> = (0..SELLERS).map(sell).collect();
        sellers.into_iter().try_for_each(|seller| seller.join().expect("a seller does not panic"))
    })
}

fn sell(office: &Office, seller: u64) -> Result<()> {
    let mut clerk = office.clerk()?;
    let number = FIRST_SELLER + seller as i64;
    for ticket in 1.. {
        let flight = flight(&office.ids, seller, ticket);
        let booked = clerk.book(flight, number, ticket as i64, &passenger(seller, ticket));
        match office.or_fail(booked)? {
            Booked::Seat { .. } => acknowledge(seller, ticket)?,
            Booked::Full => return Err(Failure::Database(format!("flight {flight} is full"))),
        }
    }
    Ok(())
}

/// One write of one line: the parent sees all of it or nothing.
fn acknowledge(seller: u64, ticket: u64) -> Result<()> {
    let mut pipe = std::io::stdout().lock();
    let line = format!("{seller} {ticket}\n");
    pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).map_err(Failure::from)
}
