//! Statements in steps: Parse, Bind, Describe, Execute. A statement is planned when its types are asked for, or when it runs.

use ambo::Datum;
use ambo_sql::PreparedStatement;
use arrow_schema::{DataType, SchemaRef};

use super::{
    client::{Block, Client, Stop},
    command::Command,
    encode::Shape,
    failure::Failure,
    message::{Bind, Format, write},
    parameter::decode,
    run::{Run, Running, aborted},
    stream::Stream,
    types::{oid, type_of},
    words::split,
};

/// A statement that was read.
pub(super) struct Statement {
    /// `None`: there is none in the text.
    command: Option<Command>,
    text: String,
    /// Characters of what the client sent before the text.
    begin: usize,
    prepared: Option<PreparedStatement>,
    /// The types of parameters that the client has said, 0 where it has not.
    given: Vec<u32>,
    described: Option<Described>,
}

/// What a statement takes and returns.
#[derive(Clone)]
struct Described {
    parameters: Vec<u32>,
    rows: Option<SchemaRef>,
}

/// A statement with values.
pub(super) struct Portal {
    command: Option<Command>,
    text: String,
    begin: usize,
    prepared: Option<PreparedStatement>,
    params: Vec<Datum>,
    formats: Vec<Format>,
    /// What the client was told of the rows.
    promised: Option<SchemaRef>,
    state: State,
}

enum State {
    New,
    Runs(Box<Running>),
    /// All was sent; whether it had rows.
    Done(bool),
}

impl Client {
    pub fn parse(
        &mut self,
        name: &str,
        text: &str,
        types: Vec<u32>,
        stream: &mut Stream,
    ) -> Result<(), Failure> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(Failure::new("42P05", format!("prepared statement \"{name}\" already exists")));
        }
        let parts = split(text);
        if parts.len() > 1 {
            return Err(Failure::new("42601", "cannot insert multiple commands into a prepared statement"));
        }
        let part = parts.first().cloned().unwrap_or(0..0);
        let (begin, text) = (text[..part.start].chars().count(), &text[part]);
        let command = if parts.is_empty() { None } else { Some(Command::of(text)?) };
        if self.block == Block::Failed && command.as_ref().is_some_and(|command| !command.ends_failure()) {
            return Err(aborted());
        }
        let prepared = match &command {
            Some(Command::Engine | Command::RollbackTo) => {
                let prepared = self.session.prepare(text);
                Some(prepared.map_err(|error| Failure::of(&error, text, begin))?)
            }
            _ => None,
        };
        let statement =
            Statement { command, text: text.to_owned(), begin, prepared, given: types, described: None };
        self.statements.insert(name.to_owned(), statement);
        write(&mut stream.out, b'1', |_| {});
        Ok(())
    }

    pub fn bind(&mut self, bind: &Bind<'_>, stream: &mut Stream) -> Result<(), Failure> {
        let Some(statement) = self.statements.get(bind.statement) else {
            return Err(no_statement(bind.statement));
        };
        if !bind.portal.is_empty() && self.portals.contains_key(bind.portal) {
            return Err(Failure::new("42P03", format!("cursor \"{}\" already exists", bind.portal)));
        }
        if self.block == Block::Failed
            && statement.command.as_ref().is_some_and(|command| !command.ends_failure())
        {
            return Err(aborted());
        }
        let wanted = statement.prepared.as_ref().map_or(0, PreparedStatement::parameters);
        let count = bind.values.len();
        if count != wanted {
            let message = format!(
                "bind message supplies {count} parameters, but prepared statement \"{}\" requires {wanted}",
                bind.statement
            );
            return Err(Failure::new("08P01", message));
        }
        if bind.formats.len() > 1 && bind.formats.len() != count {
            return Err(Failure::new(
                "08P01",
                format!("{} formats are for {count} parameters", bind.formats.len()),
            ));
        }
        let types = match statement.knows_types(count) {
            true => statement.given.clone(),
            false => self.described(bind.statement)?.parameters,
        };
        let mut params = Vec::with_capacity(count);
        for (nth, value) in bind.values.iter().enumerate() {
            params.push(match value {
                None => Datum::Null,
                Some(bytes) => decode(bytes, types.get(nth).copied().unwrap_or(oid::TEXT), bind.format(nth))?,
            });
        }
        let statement = self.statements.get(bind.statement).ok_or_else(|| no_statement(bind.statement))?;
        let portal = Portal {
            command: statement.command.clone(),
            text: statement.text.clone(),
            begin: statement.begin,
            prepared: statement.prepared.clone(),
            params,
            formats: bind.results.clone(),
            promised: statement.described.as_ref().and_then(|described| described.rows.clone()),
            state: State::New,
        };
        self.portals.insert(bind.portal.to_owned(), portal);
        write(&mut stream.out, b'2', |_| {});
        Ok(())
    }

    pub fn describe(&mut self, is_portal: bool, name: &str, stream: &mut Stream) -> Result<(), Failure> {
        match is_portal {
            true => self.describe_portal(name, stream),
            false => self.describe_statement(name, stream),
        }
    }

    fn describe_statement(&mut self, name: &str, stream: &mut Stream) -> Result<(), Failure> {
        let described = self.described(name)?;
        write(&mut stream.out, b't', |out| {
            out.extend((described.parameters.len() as u16).to_be_bytes());
            described.parameters.iter().for_each(|ty| out.extend(ty.to_be_bytes()));
        });
        match described.rows {
            Some(schema) => Shape::new(schema, &[], String::new()).describe(&mut stream.out),
            None => write(&mut stream.out, b'n', |_| {}),
        }
        Ok(())
    }

    /// What only reads begins to run, so that it is planned once.
    fn describe_portal(&mut self, name: &str, stream: &mut Stream) -> Result<(), Failure> {
        // Cursors of SQL are portals, too.
        if !self.portals.contains_key(name) && self.cursors.contains_key(name) {
            let schema = self.rows_of_cursor(name)?;
            self.shape(schema, &[]).describe(&mut stream.out);
            return Ok(());
        }
        let mut portal = self.portals.remove(name).ok_or_else(|| no_portal(name))?;
        let described = self.describe_taken(&mut portal, stream);
        self.portals.insert(name.to_owned(), portal);
        described
    }

    fn describe_taken(&mut self, portal: &mut Portal, stream: &mut Stream) -> Result<(), Failure> {
        let only_reads = match (&portal.command, &portal.prepared) {
            (Some(Command::Show(_) | Command::Version), _) => true,
            // What was fetched is gone from its cursor.
            (Some(Command::Fetch(..)), _) => true,
            (Some(Command::Engine), Some(prepared)) => !prepared.writes() && !prepared.is_maintenance(),
            _ => false,
        };
        if matches!(portal.state, State::New) && only_reads {
            portal.state = State::Runs(Box::new(self.begin_portal(portal, false, stream)?));
        }
        let schema = match &portal.state {
            State::Runs(running) if running.has_rows() => Some(running.shape.schema.clone()),
            State::Runs(_) | State::Done(_) => None,
            State::New => match &portal.prepared {
                Some(prepared) => self.rows_of(&prepared.clone(), &portal.text, portal.begin)?,
                None => None,
            },
        };
        portal.promised = schema.clone();
        match schema {
            Some(schema) => self.shape(schema, &portal.formats).describe(&mut stream.out),
            None => write(&mut stream.out, b'n', |_| {}),
        }
        Ok(())
    }

    fn begin_portal(
        &mut self,
        portal: &mut Portal,
        is_part: bool,
        stream: &mut Stream,
    ) -> Result<Running, Failure> {
        let Some(command) = &portal.command else {
            return Err(Failure::new("42601", "there is no statement"));
        };
        let run = Run {
            command,
            prepared: portal.prepared.as_mut(),
            text: &portal.text,
            begin: portal.begin,
            params: std::mem::take(&mut portal.params),
            formats: &portal.formats,
            promised: portal.promised.clone(),
            is_part,
        };
        self.start(run, stream)
    }

    pub fn execute(&mut self, name: &str, rows_max: u32, stream: &mut Stream) -> Result<(), Stop> {
        let mut portal = self.portals.remove(name).ok_or_else(|| no_portal(name))?;
        if portal.command.is_none() {
            write(&mut stream.out, b'I', |_| {});
            self.portals.insert(name.to_owned(), portal);
            return Ok(());
        }
        if let Some(Command::Copy(copy)) = &portal.command {
            let is_part = stream.next_tag() != Some(b'S');
            return self.copy(&copy.clone(), is_part, stream);
        }
        let mut running = match portal.state {
            State::New => {
                // What comes next is the end of the transaction, or belongs to it.
                let is_part = stream.next_tag() != Some(b'S');
                Box::new(self.begin_portal(&mut portal, is_part, stream)?)
            }
            State::Runs(running) => running,
            State::Done(true) => {
                write(&mut stream.out, b'C', |out| super::message::write_text(out, "SELECT 0"));
                self.portals.insert(name.to_owned(), portal);
                return Ok(());
            }
            State::Done(false) => {
                return Err(Failure::new("55000", format!("portal \"{name}\" cannot be run")).into());
            }
        };
        // What was told to have no rows has none for the client.
        let is_done = running.send(rows_max, stream)?;
        if is_done {
            self.grant_wishes(stream)?;
        }
        match is_done {
            true => running.complete(&mut stream.out),
            false => write(&mut stream.out, b's', |_| {}),
        }
        // What ends a transaction ends its portals.
        let ends = matches!(portal.command, Some(Command::Commit | Command::Rollback));
        if !ends {
            portal.state = if is_done { State::Done(running.has_rows()) } else { State::Runs(running) };
            self.portals.insert(name.to_owned(), portal);
        }
        Ok(())
    }

    /// What a statement takes and returns; found once, as long as it is there.
    fn described(&mut self, name: &str) -> Result<Described, Failure> {
        let statement = self.statements.get(name).ok_or_else(|| no_statement(name))?;
        if let Some(described) = &statement.described {
            return Ok(described.clone());
        }
        let (text, begin, given) = (statement.text.clone(), statement.begin, statement.given.clone());
        let described = match (&statement.command, &statement.prepared) {
            (Some(Command::Show(_) | Command::Version), _) => {
                let name = match &statement.command {
                    Some(Command::Show(setting)) => setting.as_str(),
                    _ => "version",
                };
                let field = arrow_schema::Field::new(name, DataType::Utf8, false);
                let schema = arrow_schema::Schema::new(vec![field]);
                Described { parameters: Vec::new(), rows: Some(schema.into()) }
            }
            (Some(Command::Fetch(name, _)), _) => {
                let name = name.clone();
                // Its cursor may be another one when it runs.
                return Ok(Described { parameters: Vec::new(), rows: Some(self.rows_of_cursor(&name)?) });
            }
            (_, None) => Described { parameters: Vec::new(), rows: None },
            (_, Some(prepared)) => {
                let prepared = prepared.clone();
                self.tell_engine();
                let engines = self.session.connection.describe(&prepared);
                let engines = engines.map_err(|error| Failure::of(&error, &text, begin))?;
                let inferred = engines.parameters.iter().map(|ty| match ty {
                    None | Some(DataType::Null) => oid::TEXT,
                    Some(ty) => type_of(ty).oid,
                });
                let said = prepared.postgres_parameters();
                let inferred = inferred.enumerate().map(|(nth, inferred)| {
                    let said = said.iter().find(|(place, _)| *place == nth);
                    said.map_or(inferred, |(_, said)| *said)
                });
                let parameters: Vec<_> = inferred
                    .enumerate()
                    .map(|(nth, inferred)| match given.get(nth) {
                        None | Some(&(0 | oid::UNKNOWN)) => inferred,
                        Some(given) => *given,
                    })
                    .collect();
                let rows = self.rows_with(&prepared, &text, begin, &given, engines.schema)?;
                Described { parameters, rows }
            }
        };
        if let Some(statement) = self.statements.get_mut(name) {
            statement.described = Some(described.clone());
        }
        Ok(described)
    }

    /// The rows of a statement. Those that are parameters alone have the types that the client gave.
    fn rows_with(
        &mut self,
        prepared: &PreparedStatement,
        text: &str,
        begin: usize,
        given: &[u32],
        schema: Option<SchemaRef>,
    ) -> Result<Option<SchemaRef>, Failure> {
        let rows = self.rows_told(prepared, schema, text, begin)?;
        let is_open =
            |rows: &SchemaRef| rows.fields().iter().any(|field| field.data_type() == &DataType::Null);
        if !rows.as_ref().is_some_and(is_open) || given.iter().all(|ty| *ty == 0) {
            return Ok(rows);
        }
        let hinted = self
            .session
            .prepare(&hinted(text, given))
            .and_then(|hinted| self.session.connection.describe(&hinted));
        // Where a type cannot be said, what is known without it is right.
        let Ok(hinted) = hinted else { return Ok(rows) };
        let schema = hinted.schema.map(|schema| self.named(schema, Some(prepared))).transpose()?;
        Ok(schema.filter(|schema| !schema.fields().is_empty()))
    }

    /// The rows of a statement; `None` if it has none. What tells them only when it runs, and changes nothing, is run.
    fn rows_of(
        &mut self,
        prepared: &PreparedStatement,
        text: &str,
        begin: usize,
    ) -> Result<Option<SchemaRef>, Failure> {
        if let Some(schema) = prepared.known_rows() {
            return self.rows_told(prepared, Some(schema), text, begin);
        }
        self.tell_engine();
        let described = self.session.connection.describe(prepared);
        let described = described.map_err(|error| Failure::of(&error, text, begin))?;
        self.rows_told(prepared, described.schema, text, begin)
    }

    /// The same of a statement that was described.
    fn rows_told(
        &mut self,
        prepared: &PreparedStatement,
        schema: Option<SchemaRef>,
        text: &str,
        begin: usize,
    ) -> Result<Option<SchemaRef>, Failure> {
        let failed = |error: ambo_sql::Error| Failure::of(&error, text, begin);
        let schema = match schema {
            Some(schema) => Some(schema),
            None if prepared.writes() || prepared.is_maintenance() || prepared.parameters() > 0 => None,
            None => {
                let rows = self.session.run(&mut prepared.clone(), Vec::new()).map_err(failed)?;
                Some(rows.schema().clone())
            }
        };
        let schema = schema.map(|schema| self.named(schema, Some(prepared))).transpose()?;
        Ok(schema.filter(|schema| !schema.fields().is_empty()))
    }
}

impl Statement {
    /// Whether the client has said the types of all parameters.
    fn knows_types(&self, count: usize) -> bool {
        self.given.len() >= count && self.given[..count].iter().all(|ty| !matches!(*ty, 0 | oid::UNKNOWN))
    }
}

/// The text with the types of parameters where they stand.
fn hinted(text: &str, given: &[u32]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(place) = rest.find('$') {
        let digits = rest[place + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let end = place + 1 + digits;
        let number = rest[place + 1..end].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let name = number.and_then(|nth| given.get(nth)).and_then(|ty| name_of(*ty));
        match name {
            Some(name) => out.push_str(&format!("{}CAST({} AS {name})", &rest[..place], &rest[place..end])),
            None => out.push_str(&rest[..end]),
        }
        rest = &rest[end..];
    }
    out + rest
}

fn name_of(ty: u32) -> Option<&'static str> {
    Some(match ty {
        oid::BOOL => "boolean",
        oid::INT2 => "smallint",
        oid::INT4 => "integer",
        oid::INT8 => "bigint",
        oid::FLOAT4 => "real",
        oid::FLOAT8 => "double",
        oid::NUMERIC => "decimal",
        oid::DATE => "date",
        oid::TIME => "time",
        oid::TIMESTAMP => "timestamp",
        oid::TIMESTAMPTZ => "timestamptz",
        oid::UUID => "uuid",
        oid::BYTEA => "blob",
        oid::INTERVAL => "interval",
        oid::TEXT | oid::VARCHAR => "text",
        _ => return None,
    })
}

fn no_statement(name: &str) -> Failure {
    Failure::new("26000", format!("prepared statement \"{name}\" does not exist"))
}

fn no_portal(name: &str) -> Failure {
    Failure::new("34000", format!("portal \"{name}\" does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_stand_at_their_parameters() {
        assert_eq!(hinted("select $1, $2, $10", &[23, 0]), "select CAST($1 AS integer), $2, $10");
    }
}
