//! The service of `ambo.thrift`: what its methods do.

use std::{
    io::{self, Read},
    ops::Bound,
    sync::Arc,
};

use ambo::{Datum, Read as _, Snapshot, Table};
use ambo_sql::Access;

use super::binary::{Limits, Reader, Value, ty, write, write_head};
use crate::{roles::Visitor, server::Shared, session::Session};

/// A key of a table and what becomes of it; no value: it is deleted.
type Change = (Table, Vec<u8>, Option<Vec<u8>>);

/// Kinds of messages.
const CALL: u8 = 1;
const REPLY: u8 = 2;
const EXCEPTION: u8 = 3;
const ONEWAY: u8 = 4;
/// The exception of Thrift's own for a method that is not there.
const UNKNOWN_METHOD: i32 = 1;
/// Rows of one answer.
const ROWS_MAX: usize = 100_000;

/// What a client does, in its session.
pub(super) struct Service {
    session: Session,
    shared: Arc<Shared>,
    /// Whether the client has said who it is, if that is asked for.
    role: Option<Visitor>,
}

type Done = Result<Option<Value>, ambo_sql::Error>;

/// What an argument must be.
fn missing(what: &str) -> ambo_sql::Error {
    ambo_sql::Error::new(
        ambo_sql::ErrorKind::Invalid,
        format!("the argument \"{what}\" is missing, or of another type"),
    )
}

fn text(args: &Value, id: i16, what: &str) -> Result<String, ambo_sql::Error> {
    match args.field(id) {
        Some(Value::Bytes(bytes)) => String::from_utf8(bytes.clone()).map_err(|_| missing(what)),
        _ => Err(missing(what)),
    }
}

fn bytes<'a>(args: &'a Value, id: i16, what: &str) -> Result<&'a [u8], ambo_sql::Error> {
    match args.field(id) {
        Some(Value::Bytes(bytes)) => Ok(bytes),
        _ => Err(missing(what)),
    }
}

fn truth(args: &Value, id: i16) -> bool {
    matches!(args.field(id), Some(Value::Bool(true)))
}

fn maybe(value: Option<Vec<u8>>) -> Value {
    Value::Struct(value.into_iter().map(|value| (1, Value::Bytes(value))).collect())
}

impl Service {
    pub(super) fn new(session: Session, shared: &Arc<Shared>) -> Self {
        let role = shared.is_open().then(|| Visitor::anybody("ambo"));
        Self { session, shared: shared.clone(), role }
    }

    /// Whether nobody has come in yet who has to.
    pub(super) fn needs_role(&self) -> bool {
        !self.shared.is_open()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.session.is_ended()
    }

    pub(super) fn begin(&self, what: &str) {
        self.session.begin(what);
    }

    pub(super) fn end(&self) {
        self.session.end();
    }

    /// Answers a message. An error ends the connection.
    pub(super) fn answer(&mut self, from: impl Read, limits: Limits) -> io::Result<Vec<u8>> {
        let mut reader = Reader::new(from, limits);
        let (name, kind, number) = reader.head()?;
        let args = reader.value(ty::STRUCT)?;
        if kind != CALL && kind != ONEWAY {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is no call"));
        }
        self.begin(&name);
        let done = self.call(&name, &args);
        self.end();
        let mut out = Vec::new();
        let answer = match done {
            None => {
                write_head(&name, EXCEPTION, number, &mut out)?;
                let said = format!("there is no method {name}");
                Value::Struct(vec![(1, Value::text(said)), (2, Value::I32(UNKNOWN_METHOD))])
            }
            Some(done) => {
                write_head(&name, REPLY, number, &mut out)?;
                let fields = match done {
                    Ok(value) => value.into_iter().map(|value| (0, value)).collect(),
                    Err(error) => vec![(1, exception(&error))],
                };
                Value::Struct(fields)
            }
        };
        write(&answer, &mut out)?;
        Ok(out)
    }

    /// What a method does; `None` if there is no such method.
    fn call(&mut self, name: &str, args: &Value) -> Option<Done> {
        let writes = matches!(name, "createTable" | "put" | "remove" | "write");
        match (&self.role, name) {
            (_, "authenticate" | "ping") | (Some(Visitor { is_read_only: false, .. }), _) => {}
            (Some(_), _) if !writes => {}
            (Some(_), _) => return Some(Err(refused("this role may only read"))),
            (None, _) => return Some(Err(refused("authenticate is the first call"))),
        }
        Some(match name {
            "ping" => Ok(None),
            "authenticate" => self.authenticate(args),
            "createTable" => self.create_table(args),
            "get" => self.get(args).map(|value| Some(maybe(value))),
            "exists" => self.get(args).map(|value| Some(Value::Bool(value.is_some()))),
            "multiGet" => self.multi_get(args),
            "put" | "remove" => self.change(name == "put", args),
            "write" => self.write(args),
            "range" => self.range(args),
            "count" => self.count(args),
            "begin" => self.run(if truth(args, 1) { "begin read only" } else { "begin" }),
            "commit" => self.run("commit"),
            "rollback" => self.run("rollback"),
            "sql" => self.sql(args),
            _ => return None,
        })
    }

    fn authenticate(&mut self, args: &Value) -> Done {
        let (name, secret) = (text(args, 1, "role")?, text(args, 2, "secret")?);
        let of_token = || self.shared.with_token(&secret).filter(|visitor| visitor.name() == name);
        let found = self.shared.with_password(&name, &secret).or_else(of_token);
        if let Some(audit) = &self.shared.audit {
            audit.login(&self.session.entry.who(&name), found.is_some());
        }
        let found = found.ok_or_else(|| refused("no role has this password or token"))?;
        if self.session.connection.in_transaction() {
            return Err(refused("nobody becomes another within a transaction"));
        }
        self.session.become_of(&found);
        self.role = Some(found);
        Ok(None)
    }

    fn run(&mut self, sql: &str) -> Done {
        self.session.connection.execute(sql, ()).map(|_| None)
    }

    fn table(&self, args: &Value, access: Access) -> Result<Table, ambo_sql::Error> {
        let name = text(args, 1, "table")?;
        self.session.connection.require(&name, access)?;
        self.table_named(&name)
    }

    fn table_named(&self, name: &str) -> Result<Table, ambo_sql::Error> {
        let table = self.shared.database.table(name)?;
        match table.definition().is_raw() {
            true => Ok(table),
            false => Err(ambo_sql::Error::new(
                ambo_sql::ErrorKind::Invalid,
                format!("table \"{name}\" has columns; its rows are read and written with sql"),
            )),
        }
    }

    fn create_table(&mut self, args: &Value) -> Done {
        let name = text(args, 1, "table")?;
        if self.shared.database.table(&name).is_err() {
            self.session.connection.require(&name, Access::Create)?;
            self.shared.database.key_value(&name)?;
            self.session.connection.own(&name)?;
        }
        self.shared.database.key_value(&name)?;
        Ok(None)
    }

    fn value_of(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>, ambo_sql::Error> {
        if !self.session.connection.in_transaction() {
            return Ok(table.get_with(key, <[u8]>::to_vec)?);
        }
        let value = match self.session.connection.read_only_view() {
            Some(view) => view.get(table, key)?,
            None => match self.session.connection.transaction() {
                Some(transaction) => transaction.get(table, key)?,
                None => table.get(key)?,
            },
        };
        Ok(value.map(|value| value.to_vec()))
    }

    fn get(&mut self, args: &Value) -> Result<Option<Vec<u8>>, ambo_sql::Error> {
        let table = self.table(args, Access::Read)?;
        self.value_of(&table, bytes(args, 2, "key")?)
    }

    fn multi_get(&mut self, args: &Value) -> Done {
        let table = self.table(args, Access::Read)?;
        let Some(Value::List(_, keys)) = args.field(2) else { return Err(missing("keys")) };
        let mut values = Vec::new();
        for key in keys {
            let Value::Bytes(key) = key else { return Err(missing("keys")) };
            values.push(maybe(self.value_of(&table, key)?));
        }
        Ok(Some(Value::List(ty::STRUCT, values)))
    }

    fn change(&mut self, puts: bool, args: &Value) -> Done {
        let access = if puts { Access::Write } else { Access::Delete };
        let (table, key) = (self.table(args, access)?, bytes(args, 2, "key")?);
        let value = if puts { Some(bytes(args, 3, "value")?) } else { None };
        if self.session.connection.in_transaction() {
            return self.change_all(&[(table, key.to_vec(), value.map(<[u8]>::to_vec))]);
        }
        match value {
            Some(value) => table.put(key, value)?,
            None => table.delete(key)?,
        }
        Ok(None)
    }

    fn write(&mut self, args: &Value) -> Done {
        let Some(Value::List(_, list)) = args.field(1) else { return Err(missing("changes")) };
        let mut changes = Vec::new();
        for change in list {
            let value = match change.field(3) {
                Some(Value::Bytes(value)) => Some(value.clone()),
                None => None,
                Some(_) => return Err(missing("value")),
            };
            let access = if value.is_some() { Access::Write } else { Access::Delete };
            changes.push((self.table(change, access)?, bytes(change, 2, "key")?.to_vec(), value));
        }
        self.change_all(&changes)
    }

    /// Makes changes, all or none, in the open transaction or by themselves.
    fn change_all(&mut self, changes: &[Change]) -> Done {
        if !self.session.connection.in_transaction() {
            let mut batch = self.shared.database.batch();
            for (table, key, value) in changes {
                match value {
                    Some(value) => batch.put(table, key, value),
                    None => batch.delete(table, key),
                }
            }
            batch.commit()?;
            return Ok(None);
        }
        let transaction = self.session.connection.transaction();
        let transaction = transaction.ok_or_else(|| refused("the transaction only reads"))?;
        let before = transaction.savepoint();
        let done = changes.iter().try_for_each(|(table, key, value)| match value {
            Some(value) => transaction.put(table, key, value),
            None => transaction.delete(table, key),
        });
        if let Err(error) = done {
            transaction.rollback_to(before)?;
            return Err(error.into());
        }
        Ok(None)
    }

    /// What is seen now: what the transaction wrote, or all that is committed.
    fn view(&mut self) -> Snapshot {
        let own = match self.session.connection.read_only_view() {
            Some(view) => Some((*view).clone()),
            None if self.session.connection.in_transaction() => {
                self.session.connection.transaction().map(|transaction| transaction.view())
            }
            None => None,
        };
        own.unwrap_or_else(|| self.shared.database.snapshot())
    }

    fn bounds(args: &Value) -> ambo::Bounds {
        let key = |id| match args.field(id) {
            Some(Value::Bytes(key)) => Some(key.clone()),
            _ => None,
        };
        (key(2).map_or(Bound::Unbounded, Bound::Included), key(3).map_or(Bound::Unbounded, Bound::Excluded))
    }

    fn range(&mut self, args: &Value) -> Done {
        let table = self.table(args, Access::Read)?;
        let limit = match args.field(4) {
            Some(Value::I32(limit)) => usize::try_from(*limit).map_err(|_| missing("limit"))?.min(ROWS_MAX),
            _ => return Err(missing("limit")),
        };
        let reverse = truth(args, 5);
        let scan = self.view().scan(&table, Self::bounds(args))?;
        let mut scan = if reverse { scan.rev() } else { scan };
        let (mut rows, mut last, mut left) =
            (Vec::new(), Vec::new(), self.shared.options.limits.message_bytes);
        while rows.len() < limit {
            let Some((key, value)) = scan.next().transpose()? else { break };
            rows.push(Value::Struct(vec![
                (1, Value::Bytes(key.to_vec())),
                (2, Value::Bytes(value.to_vec())),
            ]));
            last = key.to_vec();
            match left.checked_sub(key.len() + value.len()) {
                Some(rest) => left = rest,
                None => break,
            }
        }
        let mut fields = Vec::new();
        let more = scan.next().transpose()?;
        if let Some((key, _)) = more {
            // Backwards the bound above is left out: it is the last key that was given.
            fields.push((2, Value::Bytes(if reverse { last } else { key.to_vec() })));
        }
        fields.insert(0, (1, Value::List(ty::STRUCT, rows)));
        Ok(Some(Value::Struct(fields)))
    }

    fn count(&mut self, args: &Value) -> Done {
        let table = self.table(args, Access::Read)?;
        let count = self.view().count(&table, Self::bounds(args))?;
        Ok(Some(Value::I64(i64::try_from(count).unwrap_or(i64::MAX))))
    }

    fn sql(&mut self, args: &Value) -> Done {
        let sql = text(args, 1, "text")?;
        let params = match args.field(2) {
            None => Vec::new(),
            Some(Value::List(_, values)) => values.iter().map(datum).collect::<Result<_, _>>()?,
            Some(_) => return Err(missing("params")),
        };
        let mut statement = self.session.prepare(&sql)?;
        let rows = self.session.run(&mut statement, params)?;
        let column = |field: &arrow_schema::FieldRef| {
            let ty = crate::http::types::name(field);
            Value::Struct(vec![(1, Value::text(field.name().as_str())), (2, Value::text(ty))])
        };
        let columns = rows.schema().fields().iter().map(column).collect();
        let (tag, affected) = (rows.tag(), rows.affected());
        let mut list = Vec::new();
        for row in rows {
            if list.len() == ROWS_MAX {
                return Err(refused("the result has more than 100,000 rows; ask for fewer, or by HTTP"));
            }
            list.push(Value::List(ty::STRUCT, row?.values().iter().map(value).collect()));
        }
        let mut fields = vec![(1, Value::List(ty::STRUCT, columns)), (2, Value::List(ty::LIST, list))];
        if let Some(affected) = affected {
            fields.push((3, Value::I64(i64::try_from(affected).unwrap_or(i64::MAX))));
        }
        fields.push((4, Value::text(tag)));
        Ok(Some(Value::Struct(fields)))
    }
}

fn refused(why: &str) -> ambo_sql::Error {
    ambo_sql::Error::new(ambo_sql::ErrorKind::Invalid, why)
}

fn exception(error: &ambo_sql::Error) -> Value {
    let fields =
        [Value::text(error.sqlstate()), Value::text(error.to_string()), Value::Bool(error.is_retryable())];
    Value::Struct((1..).zip(fields).collect())
}

/// A value of a statement from the union that the client sent.
fn datum(value: &Value) -> Result<Datum, ambo_sql::Error> {
    let Value::Struct(fields) = value else { return Err(missing("params")) };
    Ok(match fields.first() {
        None => Datum::Null,
        Some((1, Value::Bool(value))) => Datum::Bool(*value),
        Some((2, Value::I64(value))) => Datum::I64(*value),
        Some((3, Value::Double(value))) => Datum::F64(*value),
        Some((4, Value::Bytes(text))) => {
            Datum::Utf8(String::from_utf8(text.clone()).map_err(|_| missing("params"))?)
        }
        Some((5, Value::Bytes(bytes))) => Datum::Binary(bytes.clone()),
        Some(_) => return Err(missing("params")),
    })
}

/// The union for a value of a row.
fn value(datum: &Datum) -> Value {
    let one = |id: i16, value: Value| Value::Struct(vec![(id, value)]);
    let number = datum.as_ref();
    match datum {
        Datum::Null => Value::Struct(Vec::new()),
        Datum::Bool(value) => one(1, Value::Bool(*value)),
        Datum::F64(value) => one(3, Value::Double(*value)),
        Datum::F32(value) => one(3, Value::Double(f64::from(*value))),
        Datum::Binary(bytes) => one(5, Value::Bytes(bytes.clone())),
        Datum::I8(_)
        | Datum::I16(_)
        | Datum::I32(_)
        | Datum::I64(_)
        | Datum::U8(_)
        | Datum::U16(_)
        | Datum::U32(_) => match number.as_i64() {
            Some(number) => one(2, Value::I64(number)),
            None => one(4, Value::text(ambo_files::datum::field(datum))),
        },
        other => one(4, Value::text(ambo_files::datum::field(other))),
    }
}
