//! Ambo and a peer, which are told the same.

use std::collections::HashSet;

use crate::{
    Result,
    answer::Answer,
    peer::{Outcome, Peer},
    subject::{Failure, Subject, Way, is_out_of_range, is_refusal, is_too_large},
};

/// What both are told.
#[derive(Clone, Debug)]
pub struct Statement {
    pub ambo: String,
    /// Empty where it concerns Ambo alone.
    pub peer: String,
    /// Whether the rows have to come in one order.
    pub is_ordered: bool,
}

impl Statement {
    pub fn same(text: impl Into<String>, is_ordered: bool) -> Self {
        let ambo = text.into();
        Self { peer: ambo.clone(), ambo, is_ordered }
    }
}

/// What came of a statement.
pub enum Verdict {
    /// So many rows were alike.
    Alike(usize),
    /// One of both did not do it, for a reason that is none of a fault: in short, and its message.
    Apart(&'static str, String),
    Differs(Difference),
}

/// The kind of a statement that takes too long: it is not made smaller, as each try would take as long.
pub const SLOW: &str = "slow";

/// A fault.
pub struct Difference {
    /// What kind of fault it is: as long as it stays, a smaller statement shows the same.
    pub kind: String,
    pub text: String,
}

pub struct Pair<'p> {
    pub ambo: Subject,
    pub peer: &'p mut dyn Peer,
    /// Tables whose rows go with rows of the same table that they refer to. SQLite does not count one that went so before it was reached.
    own_cascades: HashSet<String>,
}

impl<'p> Pair<'p> {
    /// Both without a table.
    pub fn new(way: Way, peer: &'p mut dyn Peer) -> Result<Self> {
        peer.reset()?;
        Ok(Self { ambo: Subject::new(way)?, peer, own_cascades: HashSet::new() })
    }

    /// Tells both.
    ///
    /// # Errors
    /// The peer is gone.
    pub fn run(&mut self, statement: &Statement) -> Result<Verdict> {
        let peer = match statement.peer.is_empty() {
            true => None,
            false => Some(self.peer.run(&statement.peer)?),
        };
        if let Some(Outcome::TooMany) = peer {
            return Ok(Verdict::Apart("too many rows", String::new()));
        }
        if let Some(table) = own_cascade(&statement.peer) {
            self.own_cascades.insert(table.to_owned());
        }
        let is_uncounted = deleted(&statement.peer).is_some_and(|table| self.own_cascades.contains(table));
        let ambo = self.ambo.run(&statement.ambo);
        Ok(match (ambo, peer) {
            (Err(slow @ Failure::Slow), _) => differs(SLOW.into(), slow.message()),
            (Err(Failure::Panic(message)), _) => differs(format!("panic: {}", in_short(&message)), message),
            (Ok(_), None) => Verdict::Alike(0),
            (Err(Failure::Error(error)), None) => failed(&error, "done"),
            (Err(Failure::Error(_)), Some(Outcome::Failed(_))) => Verdict::Alike(0),
            (Err(Failure::Error(error)), Some(outcome)) => {
                let message = error.message();
                match () {
                    () if is_refusal(message) => Verdict::Apart("refused by Ambo", message.to_owned()),
                    () if is_out_of_range(message) => {
                        Verdict::Apart("out of range in Ambo alone", message.to_owned())
                    }
                    () if is_too_large(message) => Verdict::Apart("too large", message.to_owned()),
                    () => failed(&error, &shown(&outcome)),
                }
            }
            (Ok(_), Some(Outcome::Failed(message))) => match is_out_of_range(&message) {
                true => Verdict::Apart("out of range in the peer alone", message),
                false => Verdict::Apart("refused by the peer", message),
            },
            (Ok(ambo), Some(Outcome::Rows(rows))) => compare(ambo, rows, statement.is_ordered),
            (Ok(ambo), Some(Outcome::Changed(count))) => {
                let word = statement.peer.split(' ').next().unwrap_or_default();
                match ambo.changed {
                    _ if is_uncounted => Verdict::Alike(0),
                    Some(changed) if ["insert", "update", "delete"].contains(&word) && changed != count => {
                        differs("changed rows".into(), format!("Ambo: {changed} rows\npeer: {count} rows\n"))
                    }
                    _ => Verdict::Alike(0),
                }
            }
            (Ok(_), Some(Outcome::TooMany)) => Verdict::Alike(0),
        })
    }
}

/// The table that a statement makes, if its rows go with rows of its own.
fn own_cascade(statement: &str) -> Option<&str> {
    let table = statement.strip_prefix("create table ")?.split(' ').next()?;
    statement.contains(&format!("references {table} (k) on delete cascade")).then_some(table)
}

/// The table that a statement deletes rows of.
fn deleted(statement: &str) -> Option<&str> {
    statement.strip_prefix("delete from ")?.split(' ').next()
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Rows(answer) => answer.to_string(),
        Outcome::Changed(count) => format!("{count} rows changed"),
        Outcome::Failed(message) => message.clone(),
        Outcome::TooMany => "many rows".into(),
    }
}

fn failed(error: &ambo_sql::Error, peer: &str) -> Verdict {
    differs(format!("error: {}", in_short(error.message())), format!("Ambo: {error}\npeer: {peer}\n"))
}

fn differs(kind: String, text: String) -> Verdict {
    Verdict::Differs(Difference { kind, text })
}

/// The beginning of a message, without what differs from statement to statement: names, values, numbers.
pub fn in_short(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let outside = line.split(['"', '\'']).step_by(2).collect::<String>();
    let begin = outside.split(['{', ':', '(']).next().unwrap_or_default();
    begin
        .split_whitespace()
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
        .take(9)
        .collect::<Vec<_>>()
        .join(" ")
}

fn compare(ambo: Answer, peer: Answer, is_ordered: bool) -> Verdict {
    let (ambo, peer) = match is_ordered {
        true => (ambo, peer),
        false => (ambo.sorted(), peer.sorted()),
    };
    let text = || format!("Ambo:\n{ambo}peer:\n{peer}");
    if !ambo.has_rows_of(&peer) {
        return differs("rows".into(), text());
    }
    let unlike = ambo.types.chars().zip(peer.types.chars()).find(|(a, b)| a != b && *a != '?' && *b != '?');
    match unlike {
        Some((a, b)) => differs(format!("types {a} {b}"), text()),
        None => Verdict::Alike(peer.rows.len()),
    }
}
