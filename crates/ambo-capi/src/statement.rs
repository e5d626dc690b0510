//! # SQL: prepared statements

use std::{
    ffi::{CString, c_char, c_void},
    ptr,
    sync::Mutex,
};

use ambo_face::Class;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};

use crate::{
    c::{Out, given, name, tell, text},
    connection::{Connected, Connection, finish, of_statement},
    datum::{AMBO_BLOB, AMBO_BOOL, AMBO_INT, AMBO_TEXT, AMBO_UINT, Datum},
    error::{Error, Failure, Result, ask, c_text, call, free},
    handle::{Child, Handle, body, broken, give, of},
    result::{QueryResult, ResultBody},
    status::{AMBO_OK, Status},
    stream::schema_of,
};

/// A statement and the values for its parameters.
struct Prepared {
    statement: ambo_sql::PreparedStatement,
    /// `None` where none was given.
    values: Vec<Option<ambo::Datum>>,
}

/// A statement of a connection.
pub struct StatementBody {
    connection: Child<Connected>,
    text: String,
    names: Vec<Option<CString>>,
    prepared: Mutex<Prepared>,
}
body!(StatementBody, "statement", b"ambostat");

/// A statement that was read, to run it often.
pub type Statement = Handle<StatementBody>;

impl StatementBody {
    /// Does something with the connection, the statement, and a value for each parameter.
    fn with<R>(
        &self,
        act: impl FnOnce(&mut ambo_sql::Connection, &mut ambo_sql::PreparedStatement, Vec<ambo::Datum>) -> R,
    ) -> Result<R> {
        let mut prepared = self.prepared.lock().map_err(broken)?;
        let Prepared { statement, values } = &mut *prepared;
        let lacking = values.iter().position(Option::is_none);
        if let Some(place) = lacking {
            let mut error =
                ambo_face::Error::new(Class::Request, format!("parameter {} has no value", place + 1));
            error.sqlstate = "08P01";
            return Err(error.with_hint("bind a value to it, or NULL").into());
        }
        let values = values.iter().flatten().cloned().collect();
        self.connection.with(|connection| Ok(act(connection, statement, values)))
    }

    fn bind(&self, parameter: usize, value: ambo::Datum) -> Result<Status> {
        let mut prepared = self.prepared.lock().map_err(broken)?;
        let count = prepared.values.len();
        let place = parameter.checked_sub(1).and_then(|place| prepared.values.get_mut(place));
        let message = || format!("there is no parameter {parameter}: the statement has {count}, from 1 on");
        *place.ok_or_else(|| Failure::misuse(message()))? = Some(value);
        Ok(AMBO_OK)
    }
}

/// Reads one statement. Parameters are written as ?, $1, $name or :name. `sql_size` may be AMBO_ZERO_ENDED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_prepare(
    connection: *mut Connection,
    sql: *const c_char,
    sql_size: usize,
    statement: *mut *mut Statement,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (connection, sql) = (of(connection)?, text("the statement", sql, sql_size)?);
        let out = Out::new("statement", statement)?;
        let prepared = connection
            .0
            .with(|connection| connection.prepare(sql).map_err(|error| of_statement(error, sql)))?;
        let names = prepared.parameter_names().map(|name| name.map(c_text)).collect();
        let values = vec![None; prepared.parameters()];
        out.set(give(StatementBody {
            connection: connection.0.clone(),
            text: sql.to_owned(),
            names,
            prepared: Mutex::new(Prepared { statement: prepared, values }),
        }));
        Ok(AMBO_OK)
    })
}

/// How many parameters a statement has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_parameter_count(statement: *const Statement) -> usize {
    ask(0, || Ok(of(statement)?.names.len()))
}

/// The name of a parameter, from 1; NULL if it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_parameter_name(statement: *const Statement, parameter: usize) -> *const c_char {
    ask(ptr::null(), || {
        let names = &of(statement)?.names;
        let name = parameter.checked_sub(1).and_then(|place| names.get(place)?.as_ref());
        Ok(name.map_or(ptr::null(), |name| name.as_ptr()))
    })
}

/// The place of the parameter with a name, from 1; 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_parameter_index(
    statement: *const Statement,
    parameter_name: *const c_char,
) -> usize {
    ask(0, || {
        // Names are in small letters in SQL.
        let wanted = name("the name", parameter_name)?.to_lowercase();
        let is_it =
            |name: &Option<CString>| name.as_deref().is_some_and(|name| name.to_bytes() == wanted.as_bytes());
        Ok(of(statement)?.names.iter().position(is_it).map_or(0, |place| place + 1))
    })
}

/// Gives a parameter, from 1, a value of any kind. Texts and bytes are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind(
    statement: *mut Statement,
    parameter: usize,
    value: *const Datum,
    error: *mut *mut Error,
) -> Status {
    call(error, || of(statement)?.bind(parameter, given("the value", value)?.read()?))
}

/// Gives a parameter NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind_null(
    statement: *mut Statement,
    parameter: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || of(statement)?.bind(parameter, Datum::NULL.read()?))
}

/// Gives a parameter a truth.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind_bool(
    statement: *mut Statement,
    parameter: usize,
    value: bool,
    error: *mut *mut Error,
) -> Status {
    call(error, || of(statement)?.bind(parameter, Datum::integer(AMBO_BOOL, value.into()).read()?))
}

/// Gives a parameter an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind_int64(
    statement: *mut Statement,
    parameter: usize,
    value: i64,
    error: *mut *mut Error,
) -> Status {
    call(error, || of(statement)?.bind(parameter, Datum::integer(AMBO_INT, value).read()?))
}

/// Gives a parameter an integer without a sign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind_uint64(
    statement: *mut Statement,
    parameter: usize,
    value: u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || of(statement)?.bind(parameter, Datum::integer(AMBO_UINT, value as i64).read()?))
}

/// Gives a parameter a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind_double(
    statement: *mut Statement,
    parameter: usize,
    value: f64,
    error: *mut *mut Error,
) -> Status {
    call(error, || of(statement)?.bind(parameter, Datum::real(value).read()?))
}

/// Gives a parameter a text, which is copied. `size` may be AMBO_ZERO_ENDED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind_text(
    statement: *mut Statement,
    parameter: usize,
    value: *const c_char,
    size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let text = text("the text", value, size)?;
        of(statement)?.bind(parameter, Datum::lent(AMBO_TEXT, text.as_bytes()).read()?)
    })
}

/// Gives a parameter bytes, which are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_bind_blob(
    statement: *mut Statement,
    parameter: usize,
    value: *const c_void,
    size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let bytes = crate::c::bytes("the bytes", value, size)?;
        of(statement)?.bind(parameter, Datum::lent(AMBO_BLOB, bytes).read()?)
    })
}

/// Takes the values of all parameters away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_clear_bindings(statement: *mut Statement, error: *mut *mut Error) -> Status {
    call(error, || {
        of(statement)?.prepared.lock().map_err(broken)?.values.iter_mut().for_each(|value| *value = None);
        Ok(AMBO_OK)
    })
}

/// Runs a statement with the values that its parameters have, which stay. The rows need the statement no longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_run(
    statement: *mut Statement,
    result: *mut *mut QueryResult,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (body, result) = (of(statement)?, Out::new("result", result)?);
        let rows = body.with(|connection, statement, values| statement.run(connection, values))?;
        let rows = rows.map_err(|error| of_statement(error, &body.text))?;
        result.set(give(ResultBody::new(&body.connection, rows, &body.text)?));
        Ok(AMBO_OK)
    })
}

/// The same where no rows are wanted. `affected`, unless it is NULL, becomes how many rows were inserted, changed or deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_run_update(
    statement: *mut Statement,
    affected: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let body = of(statement)?;
        let run = |connection: &mut _, statement: &mut ambo_sql::PreparedStatement, values| {
            finish(statement.run(connection, values), &body.text)
        };
        tell(affected, body.with(run)??);
        Ok(AMBO_OK)
    })
}

/// What a statement returns and takes, as Arrow's schemas, without running it. Either may be NULL if it is not wanted. A parameter whose
/// type may be any has that of NULL. Where only running the statement tells its columns, that is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_describe(
    statement: *mut Statement,
    columns: *mut FFI_ArrowSchema,
    parameters: *mut FFI_ArrowSchema,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let body = of(statement)?;
        let prepared = body.prepared.lock().map_err(broken)?;
        let described = body.connection.with(|connection| {
            connection.describe(&prepared.statement).map_err(|error| of_statement(error, &body.text))
        })?;
        let of_columns = match (&described.schema, columns.is_null()) {
            (_, true) => None,
            (Some(schema), false) => Some(schema_of(schema)?),
            (None, false) => {
                let message = "the columns of the statement are known when it runs, and not before";
                return Err(Failure::new(Class::NotSupported, message));
            }
        };
        let types = described.parameters.iter().zip(prepared.statement.parameter_names()).enumerate();
        let fields = types.map(|(place, (ty, name))| {
            let name = name.map_or_else(|| (place + 1).to_string(), str::to_owned);
            Field::new(name, ty.clone().unwrap_or(DataType::Null), true)
        });
        let of_parameters = schema_of(&Schema::new(fields.collect::<Vec<_>>()))?;
        if let Some(schema) = of_columns {
            tell(columns, schema);
        }
        tell(parameters, of_parameters);
        Ok(AMBO_OK)
    })
}

/// Frees a statement. Its results stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_statement_free(statement: *mut *mut Statement) {
    free(statement);
}
