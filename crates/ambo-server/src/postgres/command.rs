//! What a statement is, as far as that is this protocol's matter: transactions, settings, COPY with the client. All else is the engine's.

use super::{
    copy::Copy,
    failure::Failure,
    words::{Word, word, words},
};

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Command {
    /// One for the engine, in any state but after a failure.
    Engine,
    Begin(Modes),
    /// COMMIT and END.
    Commit,
    Rollback,
    /// ROLLBACK TO a savepoint, which ends a failure.
    RollbackTo,
    /// Modes of the transaction that has just begun.
    SetTransaction(Modes),
    /// Modes of those to come.
    SetCharacteristics(Modes),
    Set {
        name: String,
        values: Vec<String>,
        is_local: bool,
    },
    Show(String),
    /// SELECT version(): that of PostgreSQL which clients reckon with.
    Version,
    /// One setting, or all.
    Reset(Option<String>),
    Discard,
    DeallocateAll,
    Declare(Box<Cursor>),
    Fetch(String, Much),
    Move(String, Much),
    /// One cursor, or all.
    Close(Option<String>),
    /// What is of no use here and harms nobody: its tag.
    Nothing(&'static str),
    /// What is refused, with the reason.
    Refused(&'static str),
    Copy(Box<Copy>),
}

/// The rows of a query a part at a time.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub name: String,
    pub query: String,
    pub holds: bool,
    pub scrolls: bool,
}

/// How many rows of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Much {
    Rows(u64),
    All,
    /// Rows that were there before.
    Back,
}

/// How a transaction is to be; what is not said is as the session has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Modes {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

/// What a transaction is protected from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// Its name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    pub fn of(name: &str) -> Option<Self> {
        Some(match name.to_lowercase().as_str() {
            "read committed" | "read uncommitted" => Self::ReadCommitted,
            "repeatable read" | "snapshot" => Self::RepeatableRead,
            "serializable" => Self::Serializable,
            _ => return None,
        })
    }
}

impl Command {
    /// What the text of one statement is.
    pub fn of(text: &str) -> Result<Self, Failure> {
        let Some((Word::Plain(first), rest)) = word(text) else { return Ok(Self::Engine) };
        let second = || word(rest).map(|(word, _)| word);
        let follows = |wanted: &str| second().is_some_and(|word| word.is(wanted));
        Ok(match first.as_str() {
            "begin" => Self::Begin(modes(rest)),
            "start" if follows("transaction") => Self::Begin(modes(rest)),
            "commit" | "end" if follows("prepared") => Self::Refused("two-phase commit is not supported"),
            "commit" | "end" => Self::Commit,
            "rollback" | "abort" => rollback(rest),
            "prepare" if follows("transaction") => Self::Refused("two-phase commit is not supported"),
            "set" => set(rest)?,
            "show" => show(rest),
            "select" if rest.len() <= VERSION_MAX && is_version(rest) => Self::Version,
            "reset" => match words(rest).as_slice() {
                [all] if all.is("all") => Self::Reset(None),
                [name] => Self::Reset(Some(name.clone().text().to_lowercase())),
                [time, zone] if time.is("time") && zone.is("zone") => {
                    Self::Reset(Some("timezone".to_owned()))
                }
                [session, ..] if session.is("session") => Self::Nothing("RESET"),
                _ => Self::Engine,
            },
            "discard" => Self::Discard,
            "deallocate" => match words(rest).last() {
                Some(all) if all.is("all") => Self::DeallocateAll,
                _ => Self::Engine,
            },
            "unlisten" => Self::Nothing("UNLISTEN"),
            "listen" | "notify" => Self::Refused("LISTEN and NOTIFY are not supported"),
            // A transaction sees what it saw when it began, whatever others do.
            "lock" => Self::Nothing("LOCK TABLE"),
            "declare" => declare(rest)?,
            "fetch" => {
                let (name, much) = fetch(rest)?;
                Self::Fetch(name, much)
            }
            "move" => {
                let (name, much) = fetch(rest)?;
                Self::Move(name, much)
            }
            "close" if follows("all") => Self::Close(None),
            "close" => match words(rest).as_slice() {
                [name] => Self::Close(Some(name.clone().text())),
                _ => return Err(Failure::new("42601", "CLOSE has the name of a cursor, or ALL")),
            },
            "copy" => match Copy::of(rest)? {
                Some(copy) => Self::Copy(Box::new(copy)),
                None => Self::Engine,
            },
            _ => Self::Engine,
        })
    }

    /// Whether it is taken after a failure, when the transaction can only be ended.
    pub fn ends_failure(&self) -> bool {
        matches!(self, Self::Commit | Self::Rollback | Self::RollbackTo)
    }
}

/// `DECLARE name [BINARY] [INSENSITIVE] [NO] [SCROLL] CURSOR [WITH HOLD] FOR query`.
fn declare(rest: &str) -> Result<Command, Failure> {
    let wrong = || Failure::new("42601", "DECLARE has the name of a cursor, CURSOR FOR, and a query");
    let (name, mut rest) = word(rest).ok_or_else(wrong)?;
    let mut cursor = Cursor { name: name.text(), query: String::new(), holds: false, scrolls: false };
    let (mut before, mut is_cursor) = (None, false);
    while let Some((next, after)) = word(rest) {
        rest = after;
        let next = next.text().to_lowercase();
        match next.as_str() {
            "cursor" => is_cursor = true,
            "binary" => return Err(Failure::new("0A000", "binary cursors are not supported")),
            "scroll" => cursor.scrolls = before.as_deref() != Some("no"),
            "hold" => cursor.holds = before.as_deref() == Some("with"),
            "for" if is_cursor => {
                cursor.query = rest.trim().to_owned();
                return Ok(Command::Declare(Box::new(cursor)));
            }
            "no" | "insensitive" | "asensitive" | "with" | "without" => {}
            _ => return Err(wrong()),
        }
        before = Some(next);
    }
    Err(wrong())
}

/// `[how many] [FROM | IN] name`.
fn fetch(rest: &str) -> Result<(String, Much), Failure> {
    let mut all = words(rest);
    let wrong = || Failure::new("42601", "FETCH has how many rows, and the name of a cursor");
    let name = all.pop().ok_or_else(wrong)?.text();
    let from = |last: Option<&Word>| last.is_some_and(|word| word.is("from") || word.is("in"));
    if from(all.last()) {
        all.pop();
    }
    let texts: Vec<_> = all.into_iter().map(|word| word.text().to_lowercase()).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let much = match &texts[..] {
        [] | ["next" | "forward"] => Much::Rows(1),
        ["all"] | ["forward", "all"] => Much::All,
        [count] | ["forward", count] if count.parse::<u64>().is_ok() => {
            Much::Rows(count.parse().unwrap_or(0))
        }
        ["prior" | "first" | "last"]
        | ["backward", ..]
        | ["-", ..]
        | ["absolute" | "relative", ..]
        | ["forward", "-", ..] => Much::Back,
        _ => return Err(wrong()),
    };
    Ok((name, much))
}

/// Longer texts are not looked at.
const VERSION_MAX: usize = 40;

fn is_version(rest: &str) -> bool {
    let [name, open, close] = &words(rest)[..] else { return false };
    (name.is("version") || name.is("pg_catalog.version")) && open.is("(") && close.is(")")
}

fn rollback(rest: &str) -> Command {
    let rest = words(rest);
    let is_to = rest.iter().any(|word| word.is("to"));
    match rest.first() {
        Some(first) if first.is("prepared") => Command::Refused("two-phase commit is not supported"),
        _ if is_to => Command::RollbackTo,
        _ => Command::Rollback,
    }
}

/// ISOLATION LEVEL …, READ ONLY, READ WRITE, wherever they stand.
fn modes(rest: &str) -> Modes {
    let mut modes = Modes::default();
    let all = words(rest);
    for (nth, word) in all.iter().enumerate() {
        let next = |by: usize| all.get(nth + by).map(|word| word.clone().text()).unwrap_or_default();
        if word.is("level") {
            let (one, two) = (next(1), format!("{} {}", next(1), next(2)));
            modes.isolation = Isolation::of(&two).or_else(|| Isolation::of(&one));
        }
        if word.is("read") {
            match next(1).as_str() {
                "only" => modes.read_only = Some(true),
                "write" => modes.read_only = Some(false),
                _ => {}
            }
        }
    }
    modes
}

fn set(rest: &str) -> Result<Command, Failure> {
    let mut all = words(rest);
    let mut is_local = false;
    match all.first() {
        Some(first) if first.is("local") => {
            is_local = true;
            all.remove(0);
        }
        Some(first) if first.is("session") && all.len() > 1 => match &all[1] {
            next if next.is("characteristics") => return Ok(Command::SetCharacteristics(modes(rest))),
            next if next.is("authorization") => return Ok(Command::Nothing("SET")),
            _ => drop(all.remove(0)),
        },
        Some(first) if first.is("transaction") => return Ok(Command::SetTransaction(modes(rest))),
        Some(first) if first.is("constraints") => return Ok(Command::Nothing("SET CONSTRAINTS")),
        _ => {}
    }
    let is = |nth: usize, wanted: &str| all.get(nth).is_some_and(|word| word.is(wanted));
    let (name, values) = match () {
        () if is(0, "time") && is(1, "zone") => ("timezone".to_owned(), &all[2..]),
        () if is(0, "names") => ("client_encoding".to_owned(), &all[1..]),
        () if is(1, "=") || is(1, "to") => (all[0].clone().text().to_lowercase(), &all[2..]),
        () => return Ok(Command::Engine),
    };
    let mut texts: Vec<String> = Vec::new();
    for (nth, value) in values.iter().enumerate() {
        match value {
            Word::Plain(sign) if sign == "," => {}
            // A sign and its number are one.
            Word::Plain(word) if nth > 0 && values[nth - 1].is("-") => texts.push(format!("-{word}")),
            Word::Plain(sign) if sign == "-" => {}
            word => texts.push(word.clone().text()),
        }
    }
    if texts.is_empty() {
        return Err(Failure::new("42601", format!("SET {name} has no value")));
    }
    Ok(Command::Set { name, values: texts, is_local })
}

fn show(rest: &str) -> Command {
    let all = words(rest);
    let is = |nth: usize, wanted: &str| all.get(nth).is_some_and(|word| word.is(wanted));
    match all.as_slice() {
        [name] if !is(0, "tables") && !is(0, "databases") && !is(0, "schemas") => {
            Command::Show(name.clone().text().to_lowercase())
        }
        [_, _] if is(0, "time") && is(1, "zone") => Command::Show("timezone".to_owned()),
        [_, _, _] if is(0, "transaction") && is(1, "isolation") => {
            Command::Show("transaction_isolation".to_owned())
        }
        [_, _] if is(0, "session") && is(1, "authorization") => {
            Command::Show("session_authorization".to_owned())
        }
        _ => Command::Engine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_the_protocol_are_told() {
        let shown = |text: &str| format!("{:?}", Command::of(text).unwrap());
        assert_eq!(shown("select 1"), "Engine");
        assert_eq!(
            shown("/* x */ BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
            "Begin(Modes { isolation: Some(RepeatableRead), read_only: Some(true) })"
        );
        assert_eq!(
            shown("START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ WRITE"),
            "Begin(Modes { isolation: Some(Serializable), read_only: Some(false) })"
        );
        assert_eq!(shown("rollback to savepoint a"), "RollbackTo");
        assert_eq!(shown("ROLLBACK WORK"), "Rollback");
        assert_eq!(
            shown("SET extra_float_digits TO -3"),
            "Set { name: \"extra_float_digits\", values: [\"-3\"], is_local: false }"
        );
        assert_eq!(
            shown("set local search_path = \"$user\", 'public'"),
            "Set { name: \"search_path\", values: [\"$user\", \"public\"], is_local: true }"
        );
        assert_eq!(shown("show transaction isolation level"), "Show(\"transaction_isolation\")");
        assert_eq!(shown("show create table t"), "Engine");
        assert_eq!(
            shown("DECLARE \"A b\" NO SCROLL CURSOR WITH HOLD FOR select ';' from t"),
            "Declare(Cursor { name: \"A b\", query: \"select ';' from t\", holds: true, scrolls: false })"
        );
        assert_eq!(shown("FETCH FORWARD 10 FROM \"A b\""), "Fetch(\"A b\", Rows(10))");
        assert_eq!(shown("fetch all in c"), "Fetch(\"c\", All)");
        assert_eq!(shown("move backward 2 c"), "Move(\"c\", Back)");
        assert_eq!(shown("close c"), "Close(Some(\"c\"))");
        assert_eq!(Command::of("declare c cursor").unwrap_err().code, "42601");
    }
}
