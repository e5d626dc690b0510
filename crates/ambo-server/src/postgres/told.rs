//! What the engine is told of the session: functions and tables of the catalog show it. And what statements set, by `set_config`.

use std::sync::Arc;

use ambo_sql::{ENUM_LABELS, PG_TYPE, PostgresSession, PreparedStatement};
use arrow_schema::{Field, Schema, SchemaRef};

use super::{client::Client, failure::Failure, settings, stream::Stream};

impl Client {
    /// Tells the engine what is set, if that is another than it was told.
    pub fn tell_engine(&mut self) {
        if self.told == Some(self.settings.changes) {
            return;
        }
        let own = self.settings.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.session.connection.set_postgres(PostgresSession {
            user: self.settings.user().to_owned(),
            database: self.database.clone(),
            pid: self.session.entry.id,
            version: settings::version(),
            settings: own.collect(),
            wishes: self.wishes.clone(),
            is_pathless: self.is_pathless,
        });
        self.told = Some(self.settings.changes);
    }

    /// Sets what a statement that has run wants to be set.
    ///
    /// # Errors
    /// As of SET.
    pub fn grant_wishes(&mut self, stream: &mut Stream) -> Result<(), Failure> {
        for (name, value, is_local) in self.wishes.take() {
            let name = name.to_lowercase();
            self.set(&name, &[value], is_local)?;
            self.settings.tell(&name, &mut stream.out);
            self.tell_zone(stream);
        }
        Ok(())
    }
}

impl Client {
    /// Rows as PostgreSQL has them: under its names, and of the enums that users have created.
    ///
    /// # Errors
    /// A type that cannot be read.
    pub fn named(
        &self,
        schema: SchemaRef,
        prepared: Option<&PreparedStatement>,
    ) -> Result<SchemaRef, Failure> {
        let schema = named(schema, prepared);
        if !schema.fields().iter().any(|field| field.metadata().contains_key(ENUM_LABELS)) {
            return Ok(schema);
        }
        let field = |field: &Arc<Field>| {
            let Some(labels) = field.metadata().get(ENUM_LABELS) else { return Ok(field.clone()) };
            let number = self.session.connection.postgres_enum(labels);
            let Some(number) = number.map_err(|error| Failure::of(&error, "", 0))? else {
                return Ok(field.clone());
            };
            let mut told = field.as_ref().clone();
            told.metadata_mut().insert(PG_TYPE.to_owned(), number.to_string());
            Ok(Arc::new(told))
        };
        let fields: Vec<_> = schema.fields().iter().map(field).collect::<Result<_, Failure>>()?;
        Ok(Arc::new(Schema::new(fields)))
    }
}

/// Rows under PostgreSQL's names.
fn named(schema: SchemaRef, prepared: Option<&PreparedStatement>) -> SchemaRef {
    let Some((before, behind)) = prepared.and_then(PreparedStatement::postgres_columns) else {
        return schema;
    };
    let count = schema.fields().len();
    let (first, last) = (before.len(), behind.as_ref().map_or(0, Vec::len));
    if first + last > count || behind.is_none() && first != count {
        return schema;
    }
    let column = |nth: usize| match nth {
        nth if nth < first => before.get(nth),
        nth => behind.as_ref().and_then(|behind| behind.get((nth + last).checked_sub(count)?)),
    };
    let field = |(nth, field): (usize, &Arc<Field>)| {
        let Some(column) = column(nth) else { return field.clone() };
        let says_type = column.is_text && field.metadata().contains_key(PG_TYPE);
        if column.name == *field.name() && !says_type {
            return field.clone();
        }
        let mut named = field.as_ref().clone().with_name(&column.name);
        if says_type {
            named.metadata_mut().remove(PG_TYPE);
        }
        Arc::new(named)
    };
    Arc::new(Schema::new(schema.fields().iter().enumerate().map(field).collect::<Vec<_>>()))
}
