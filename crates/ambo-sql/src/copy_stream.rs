//! COPY from and to streams of the application: `COPY t FROM STDIN`, `COPY t TO STDOUT`.

use std::io::{Read, Write};

use datafusion::sql::sqlparser::ast::{CopyTarget, Statement as Tree};

use crate::{
    Connection, Error, Result,
    parse::Statement,
    rights,
    statement::{copy_from_stream, copy_to_stream, copy_width},
};

/// What a COPY from or to a stream is, as is known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamCopy {
    /// Whether rows go to a table, `FROM STDIN`.
    pub is_in: bool,
    /// How many columns the rows have.
    pub columns: usize,
    /// Whether the stream has lines of text, and not bytes, as Parquet is.
    pub is_text: bool,
}

impl Connection {
    /// What a statement copies from or to a stream; `None` for one that does not. What is wrong with its table, columns or options is told
    /// here, before any row is asked for.
    ///
    /// # Errors
    /// As [`Connection::sql`], as far as that shows before it runs.
    pub fn stream_copy(&mut self, statement: &str) -> Result<Option<StreamCopy>> {
        let known = self.known(statement)?;
        let Statement::Sql(tree) = &known.statement else { return Ok(None) };
        let Tree::Copy { target: CopyTarget::Stdin | CopyTarget::Stdout, to, .. } = **tree else {
            return Ok(None);
        };
        let (columns, is_text) = self.act_at_home(known.statement.clone(), copy_width)?;
        Ok(Some(StreamCopy { is_in: !to, columns, is_text }))
    }

    /// Runs a `COPY … FROM STDIN`: its rows are what `input` says until its end. All of them come into the table, or none; an error of
    /// `input` ends the statement. Returns how many they are.
    ///
    /// They are PostgreSQL's text if the options say nothing else. CSV has no line of names here unless they say so.
    ///
    /// ```
    /// let db = ambo_sql::Database::in_memory()?;
    /// let mut connection = db.connect();
    /// connection.script("create table t (id int primary key, name text)")?;
    /// connection.copy_in("copy t from stdin", &mut "1\tAda\n2\t\\N\n".as_bytes())?;
    /// connection.copy_in("copy t (name, id) from stdin (format csv)", &mut "Bea,3\n".as_bytes())?;
    /// let mut out = Vec::new();
    /// connection.copy_out("copy (select * from t order by id) to stdout (format csv, header)", &mut out)?;
    /// assert_eq!(String::from_utf8_lossy(&out), "id,name\n1,Ada\n2,\n3,Bea\n");
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Connection::sql`]; the stream cannot be read, or the statement is no such COPY.
    pub fn copy_in(&mut self, statement: &str, input: &mut dyn Read) -> Result<u64> {
        self.copy(statement, |connection, tree| copy_from_stream(connection, tree, input))
    }

    /// Runs a `COPY … TO STDOUT`: its rows are written to `output`. Returns how many they are.
    ///
    /// # Errors
    /// As [`Connection::sql`]; the stream cannot be written to, or the statement is no such COPY.
    pub fn copy_out(&mut self, statement: &str, output: &mut (dyn Write + Send)) -> Result<u64> {
        self.copy(statement, |connection, tree| copy_to_stream(connection, tree, output))
    }

    fn copy(
        &mut self,
        statement: &str,
        act: impl FnOnce(&mut Connection, Tree) -> Result<u64>,
    ) -> Result<u64> {
        let known = self.known(statement)?;
        self.begin_to_act(&known.statement)?;
        self.act_at_home(known.statement.clone(), act)
    }

    /// Does something for a statement of the parser's in the database that it is about.
    fn act_at_home<R>(
        &mut self,
        mut statement: Statement,
        act: impl FnOnce(&mut Connection, Tree) -> Result<R>,
    ) -> Result<R> {
        let home = self.home_of(&mut statement)?;
        rights::check(&self.at(home), &statement)?;
        match statement {
            Statement::Sql(tree) => act(&mut self.at(home), *tree),
            _ => Err(Error::invalid("the statement is no COPY")),
        }
    }
}
