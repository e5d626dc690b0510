//! What is stored of a sequence: its numbers, and where they go on.

use std::{fmt, str::FromStr};

use crate::{Error, Result};

/// The text is `id=… increment=… min=… max=… start=… cycle=… next=…`, and `owner=…` behind it for one that goes with a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Definition {
    /// Of chance: tells it from others that had its name.
    pub id: u64,
    /// From one number to the next; not 0.
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    /// Between `min` and `max`.
    pub start: i64,
    /// Whether it begins again at its end.
    pub cycle: bool,
    /// The first number after the next start; outside of the bounds at the end.
    pub next: i128,
    /// The table with which it goes, by its whole name.
    pub owner: Option<String>,
}

impl Definition {
    /// Whether it can give a number.
    pub fn has(&self, number: i128) -> bool {
        (i128::from(self.min)..=i128::from(self.max)).contains(&number)
    }

    /// The definition in a text.
    ///
    /// # Errors
    /// The text is not one of [`Definition`]'s.
    pub fn read(text: &str) -> Result<Self> {
        // The name of a table may have blanks in it.
        let mut parts = text.splitn(8, ' ');
        let mut next = |name: &str| {
            let value = parts.next().and_then(|part| part.strip_prefix(name)?.strip_prefix('='));
            value.ok_or_else(|| unreadable(text))
        };
        let of = Self {
            id: number(next("id")?, text)?,
            increment: number(next("increment")?, text)?,
            min: number(next("min")?, text)?,
            max: number(next("max")?, text)?,
            start: number(next("start")?, text)?,
            cycle: number(next("cycle")?, text)?,
            next: number(next("next")?, text)?,
            owner: None,
        };
        let owner = match parts.next() {
            None => None,
            Some(part) => Some(part.strip_prefix("owner=").ok_or_else(|| unreadable(text))?.to_owned()),
        };
        match of.increment != 0 && of.has(of.start.into()) {
            true => Ok(Self { owner, ..of }),
            false => Err(unreadable(text)),
        }
    }
}

fn number<T: FromStr>(value: &str, text: &str) -> Result<T> {
    value.parse().map_err(|_| unreadable(text))
}

fn unreadable(text: &str) -> Error {
    Error::invalid(format!("a sequence is stored as \"{text}\", which cannot be read"))
}

impl fmt::Display for Definition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, increment, min, max, start, cycle, next, owner } = self;
        write!(
            out,
            "id={id} increment={increment} min={min} max={max} start={start} cycle={cycle} next={next}"
        )?;
        owner.as_ref().map_or(Ok(()), |owner| write!(out, " owner={owner}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a text that is read as another sequence, or with panics.
    #[test]
    fn what_is_written_is_read() {
        let of = Definition {
            id: 7,
            increment: -2,
            min: -9,
            max: 5,
            start: 5,
            cycle: true,
            next: -11,
            owner: None,
        };
        assert_eq!(of.to_string(), "id=7 increment=-2 min=-9 max=5 start=5 cycle=true next=-11");
        assert_eq!(Definition::read(&of.to_string()).unwrap(), of);
        assert!(!of.has(of.next) && of.has(-9));
        let owned = Definition { owner: Some("main.a b=c".into()), ..of.clone() };
        assert_eq!(Definition::read(&owned.to_string()).unwrap(), owned);
        for bad in
            ["", "id=7", "id=7 increment=0 min=1 max=5 start=1 cycle=false next=1", &format!("{of} more=1")]
        {
            assert!(Definition::read(bad).is_err(), "{bad}");
        }
    }
}
