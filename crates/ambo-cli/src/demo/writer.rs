//! The process that is killed in the middle of selling tickets.

use std::io::Write;
use std::path::PathBuf;

use ambo::Table;
use clap::Args;

use crate::crash::writer::retrying;
use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::{Failure, Result};

/// Where to sell.
#[derive(Args, Clone, Debug)]
pub struct WriterArguments {
    /// The database's directory
    pub dir: PathBuf,
}

/// How many threads sell.
pub const SELLERS: u64 = 4;
/// The table of tickets.
pub const TICKETS: &str = "tickets";

/// The key of a seller's ticket.
pub fn ticket_key(seller: u64, ticket: u64) -> Vec<u8> {
    format!("ticket/{seller}/{ticket:09}").into_bytes()
}

/// The key under which a seller notes how many tickets were sold, in the same transaction.
pub fn count_key(seller: u64) -> Vec<u8> {
    format!("count/{seller}").into_bytes()
}

/// What is on a ticket.
pub fn ticket(seller: u64, ticket: u64) -> Vec<u8> {
    format!("ticket {ticket} of seller {seller}, not transferable").into_bytes()
}

/// Sells until the process is killed, or until nobody listens any more.
pub fn run(arguments: &WriterArguments) -> Result<()> {
    let store = Store::open(&arguments.dir, Access::Write, &Tuning::default())?;
    let tickets = store.db.key_value(TICKETS).or_fail(&store.dir)?;
    std::thread::scope(|scope| {
        let work = |seller| {
            let (store, tickets) = (&store, &tickets);
            scope.spawn(move || {
                for number in 1.. {
                    retrying(|| sell(store, tickets, seller, number)).or_fail(&store.dir)?;
                    acknowledge(seller, number)?;
                }
                Ok(())
            })
        };
        let sellers: Vec<_> = (0..SELLERS).map(work).collect();
        sellers.into_iter().try_for_each(|seller| seller.join().expect("a seller does not panic"))
    })
}

fn sell(store: &Store, tickets: &Table, seller: u64, number: u64) -> ambo::Result<()> {
    let mut tx = store.db.begin()?;
    tx.put(tickets, &ticket_key(seller, number), &ticket(seller, number))?;
    tx.put(tickets, &count_key(seller), number.to_string().as_bytes())?;
    tx.commit()
}

/// One write of one line: the parent sees all of it or nothing.
fn acknowledge(seller: u64, number: u64) -> Result<()> {
    let mut pipe = std::io::stdout().lock();
    let line = format!("{seller} {number}\n");
    pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).map_err(Failure::from)
}
