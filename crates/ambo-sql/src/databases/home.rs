//! Which database a statement is about. Names of what it writes become those in that database.

use ambo::{Definitions, ObjectKind, qualify};
use datafusion::sql::sqlparser::ast::{
    self, AlterTableOperation, ColumnOption, CommentObject, CreateTableLikeKind, FromTable, Ident,
    ObjectName, ObjectType, SchemaName, SetExpr, ShowStatementIn, TableConstraint, TableFactor, TableObject,
};

use super::{
    Named, Scope,
    names::{has_relation, has_schema, localize, parts},
};
use crate::{
    Connection, Error, Result,
    names::{about_object, object},
    parse::{Grant, Granted, GrantedTo, Owned, Renamed, SetOwner, Statement},
    planner::find_table,
    statement::all_indexes,
};

/// What a name is that of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Something that is to be made.
    New,
    Temporary,
    /// A table or a view.
    Relation,
    Index,
    Object(ObjectKind),
}

impl Wanted {
    fn new(is_temporary: bool) -> Self {
        if is_temporary { Self::Temporary } else { Self::New }
    }

    fn is_there(self, definitions: &Definitions<'_>, named: &Named) -> bool {
        match self {
            Self::New | Self::Temporary => false,
            Self::Relation => has_relation(definitions, named),
            Self::Index => qualify(&named.local()).is_ok_and(|name| all_indexes(definitions).contains(&name)),
            Self::Object(kind) => definitions.object(kind, &named.local()).is_ok(),
        }
    }
}

impl Connection {
    /// Which of its databases a statement is about; the first one where that is no question.
    ///
    /// # Errors
    /// It writes to several, or names one that is not there.
    pub(crate) fn home_of(&mut self, statement: &mut Statement) -> Result<usize> {
        let mut finding = Finding { connection: self, home: None };
        match statement {
            Statement::Sql(tree) => finding.sql(tree)?,
            Statement::CreateTable(create, _) => finding.create_table(create)?,
            Statement::AlterTable(name, _) => finding.relation(name)?,
            Statement::AlterField(alter) => finding.relation(&mut alter.table)?,
            Statement::Maintain(_) => finding.of_path()?,
            Statement::CreateSequence(create) => {
                finding.named(&mut create.name, Wanted::new(create.temporary))?;
                finding.column(&mut create.parts.owned_by)?;
            }
            Statement::CreateFunction(create) => {
                finding.named(&mut create.name, Wanted::new(create.temporary))?;
            }
            Statement::DropFunctions(drop) => {
                finding.all(&mut drop.names, Wanted::Object(ObjectKind::Function))?
            }
            Statement::CreateType(create) => {
                finding.named(&mut create.name, Wanted::new(create.temporary))?
            }
            Statement::RenameView { name, .. } => finding.relation(name)?,
            Statement::Rename { what: Renamed::Index, name, .. } => finding.named(name, Wanted::Index)?,
            Statement::Rename { what: Renamed::Sequence, name, .. } => {
                finding.named(name, Wanted::Object(ObjectKind::Sequence))?;
            }
            Statement::AlterSequence(alter) => {
                finding.named(&mut alter.name, Wanted::Object(ObjectKind::Sequence))?;
                finding.column(&mut alter.parts.owned_by)?;
            }
            Statement::RenameConstraint { table, .. } => finding.relation(table)?,
            Statement::Attach(_) | Statement::Detach { .. } | Statement::Use(_) | Statement::Role(_) => {}
            Statement::Grant(grant) => finding.grant(grant)?,
            Statement::SetOwner(set) => finding.owned(set)?,
            Statement::AddIdentity(add) => {
                finding.relation(&mut add.table)?;
                if let Some(name) = &mut add.sequence {
                    finding.named(name, Wanted::New)?;
                }
            }
        }
        Ok(finding.home.unwrap_or(0))
    }
}

struct Finding<'c> {
    connection: &'c mut Connection,
    home: Option<usize>,
}

impl Finding<'_> {
    /// Takes note that the statement is about a database.
    fn at(&mut self, nth: usize) -> Result<()> {
        match self.home {
            Some(other) if other != nth => {
                let name = |nth| self.connection.place(nth).name.as_str();
                Err(Error::invalid(format!(
                    "the statement is about database \"{}\" and about \"{}\"",
                    name(other),
                    name(nth)
                ))
                .with_hint("a statement writes to one database, and reads from all"))
            }
            _ => {
                self.home = Some(nth);
                Ok(())
            }
        }
    }

    /// The database that the search path begins with.
    fn of_path(&mut self) -> Result<()> {
        let first = self.connection.with_names(|names| names.first())?;
        self.at(first)
    }

    fn relation(&mut self, name: &mut ObjectName) -> Result<()> {
        self.named(name, Wanted::Relation)
    }

    fn all(&mut self, names: &mut [ObjectName], wanted: Wanted) -> Result<()> {
        names.iter_mut().try_for_each(|name| self.named(name, wanted))
    }

    fn named(&mut self, name: &mut ObjectName, wanted: Wanted) -> Result<()> {
        if name.0.len() == 1 && wanted != Wanted::Temporary && self.connection.is_plain() {
            return self.at(0);
        }
        let named = self.find(name, wanted)?;
        self.at(named.place).map_err(|error| about_object(error, name))?;
        localize(name, &named.schema);
        Ok(())
    }

    fn find(&mut self, name: &ObjectName, wanted: Wanted) -> Result<Named> {
        let parts = parts(name)?;
        let is_temporary = match &parts[..] {
            [schema, _] => schema == "temp" || schema == "pg_temp",
            [database, ..] if parts.len() > 2 => database == "temp" || database == "pg_temp",
            _ => wanted == Wanted::Temporary,
        };
        let is_new = matches!(wanted, Wanted::New | Wanted::Temporary);
        if wanted == Wanted::Temporary && !is_temporary {
            let error = format!("what is temporary is in no other database or schema, so not in {name}");
            return Err(
                about_object(Error::invalid(error), name).with_hint("leave out the schema, or write temp")
            );
        }
        if is_new && is_temporary && !(parts.len() == 2 && self.has_schema(&parts[0])) {
            let place = self.connection.temporary()?;
            let schema = if parts.len() == 3 { parts[1].clone() } else { ambo::DEFAULT_SCHEMA.to_owned() };
            return Ok(Named { place, schema, name: parts[parts.len() - 1].clone() });
        }
        self.connection.first_there(name, |definitions, named| wanted.is_there(definitions, named))
    }

    /// Whether a schema has this name where things are created.
    fn has_schema(&self, schema: &str) -> bool {
        let first = self.connection.with_names(|names| names.first());
        first.is_ok_and(|nth| has_schema(&self.connection.place(nth).definitions(), schema))
    }

    fn create_table(&mut self, create: &mut ast::CreateTable) -> Result<()> {
        self.named(&mut create.name, Wanted::new(create.temporary))?;
        create.temporary = false;
        for column in &mut create.columns {
            for option in &mut column.options {
                if let ColumnOption::ForeignKey(key) = &mut option.option {
                    self.parent(&mut key.foreign_table, &create.name)?;
                }
            }
        }
        for constraint in &mut create.constraints {
            if let TableConstraint::ForeignKey(key) = constraint {
                self.parent(&mut key.foreign_table, &create.name)?;
            }
        }
        // Another table may be anywhere.
        if let Some(CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)) =
            &create.like
        {
            parts(&like.name)?;
        }
        Ok(())
    }

    /// The table that a foreign key refers to. One that refers to its own table is written when that is not there.
    fn parent(&mut self, name: &mut ObjectName, child: &ObjectName) -> Result<()> {
        if self.connection.is_plain() && self.home == Some(0) && name.0.len() < 3 || name == child {
            return Ok(());
        }
        let named = self.find(name, Wanted::Relation)?;
        if self.home != Some(named.place) {
            let error =
                format!("a foreign key refers to a table of its own database, and {name} is in another");
            return Err(about_object(Error::invalid(error), name)
                .with_hint("what is temporary refers to what is temporary alone, and nothing else does"));
        }
        localize(name, &named.schema);
        Ok(())
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        match factor {
            TableFactor::Table { name, .. } => self.relation(name),
            // What writes says that it is no table.
            _ => Ok(()),
        }
    }

    fn query(&mut self, query: &mut ast::Query) -> Result<()> {
        let tables = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        tables.into_iter().try_for_each(|table| self.query(&mut table.query))?;
        match &mut *query.body {
            SetExpr::Insert(of) | SetExpr::Update(of) | SetExpr::Delete(of) | SetExpr::Merge(of) => {
                self.sql(of)
            }
            SetExpr::Select(select) if !query.locks.is_empty() => match &mut select.from[..] {
                [one] => self.factor(&mut one.relation),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn sql(&mut self, statement: &mut ast::Statement) -> Result<()> {
        use ast::Statement as S;
        match statement {
            S::Query(query) => self.query(query),
            S::Insert(insert) => {
                if let Some(source) = &mut insert.source {
                    self.query(source)?;
                }
                match &mut insert.table {
                    TableObject::TableName(name) => self.relation(name),
                    _ => Ok(()),
                }
            }
            S::Update(update) => self.factor(&mut update.table.relation),
            S::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &mut delete.from;
                from.iter_mut().try_for_each(|from| self.factor(&mut from.relation))
            }
            S::Merge(merge) => self.factor(&mut merge.table),
            S::Copy { source: ast::CopySource::Table { table_name, .. }, to: false, .. } => {
                self.relation(table_name)
            }
            S::Explain { statement, .. } => self.sql(statement),
            _ => self.definition(statement),
        }
    }

    /// Statements about what there is.
    fn definition(&mut self, statement: &mut ast::Statement) -> Result<()> {
        use ast::Statement as S;
        match statement {
            S::Drop { object_type, names, .. } => self.drop(*object_type, names),
            S::AlterTable(alter) => self.alter_table(alter),
            S::AlterType(alter) => self.named(&mut alter.name, Wanted::Object(ObjectKind::Type)),
            S::CreateIndex(create) => self.create_index(create),
            S::CreateView(create) => self.create_view(create),
            S::AlterView { name, query, .. } => {
                let named = self.find(name, Wanted::Relation)?;
                self.bound(query, &named)?;
                self.relation(name)
            }
            S::CreateSchema { schema_name: SchemaName::Simple(name), .. } => self.schema(name),
            S::Truncate(truncate) => {
                truncate.table_names.iter_mut().try_for_each(|target| self.relation(&mut target.name))
            }
            S::Comment { object_type, object_name, .. } => self.comment(*object_type, object_name),
            S::ExplainTable { table_name, .. } => self.relation(table_name),
            S::ShowCreate { obj_name, .. } => self.relation(obj_name),
            S::ShowVariable { variable } => self.show_indexes(variable),
            S::ShowColumns { show_options, .. } => match &mut show_options.show_in {
                Some(ShowStatementIn { parent_name: Some(name), .. }) => self.relation(name),
                _ => Ok(()),
            },
            S::Vacuum(_) => self.of_path(),
            _ => Ok(()),
        }
    }

    fn drop(&mut self, what: ObjectType, names: &mut [ObjectName]) -> Result<()> {
        match what {
            ObjectType::Table | ObjectType::View => self.all(names, Wanted::Relation),
            ObjectType::Index => self.all(names, Wanted::Index),
            ObjectType::Sequence => self.all(names, Wanted::Object(ObjectKind::Sequence)),
            ObjectType::Type => self.all(names, Wanted::Object(ObjectKind::Type)),
            ObjectType::Schema => names.iter_mut().try_for_each(|name| self.schema(name)),
            _ => Ok(()),
        }
    }

    fn grant(&mut self, grant: &mut Grant) -> Result<()> {
        match &mut grant.what {
            Granted::Rights { to: GrantedTo::Tables(names), .. } => self.all(names, Wanted::Relation),
            Granted::Rights { to: GrantedTo::Sequences(names), .. } => {
                self.all(names, Wanted::Object(ObjectKind::Sequence))
            }
            Granted::Rights {
                to: GrantedTo::AllTables(names) | GrantedTo::AllSequences(names) | GrantedTo::Schemas(names),
                ..
            } => names.iter_mut().try_for_each(|name| self.schema(name)),
            Granted::Rights { .. } | Granted::Roles(_) => Ok(()),
        }
    }

    /// A column with its table before it.
    fn column(&mut self, name: &mut Option<ObjectName>) -> Result<()> {
        let Some(name) = name.as_mut().filter(|name| name.0.len() > 2) else { return Ok(()) };
        let column = name.0.pop();
        let found = self.relation(name);
        name.0.extend(column);
        found
    }

    /// What gets an owner: a sequence stands where a table does.
    fn owned(&mut self, set: &mut SetOwner) -> Result<()> {
        match set.what {
            Owned::Schema => self.schema(&mut set.name),
            Owned::Relation => {
                let named = self.connection.first_there(&set.name, |definitions, named| {
                    let is_sequence = definitions.object(ObjectKind::Sequence, &named.local()).is_ok();
                    is_sequence || has_relation(definitions, named)
                })?;
                self.at(named.place)?;
                localize(&mut set.name, &named.schema);
                Ok(())
            }
            Owned::Other => Ok(()),
        }
    }

    fn alter_table(&mut self, alter: &mut ast::AlterTable) -> Result<()> {
        self.relation(&mut alter.name)?;
        let name = alter.name.clone();
        let is_rename = |of: &AlterTableOperation| matches!(of, AlterTableOperation::RenameTable { .. });
        if alter.operations.iter().any(is_rename) && self.passes(&name)? {
            return Err(about_object(
                Error::invalid(format!("{name} goes when the transaction is committed")),
                &name,
            )
            .with_hint("leave out ON COMMIT DROP for a table that gets another name"));
        }
        for operation in &mut alter.operations {
            match operation {
                AlterTableOperation::AddConstraint {
                    constraint: TableConstraint::ForeignKey(key), ..
                } => {
                    self.parent(&mut key.foreign_table, &name)?;
                }
                AlterTableOperation::AddColumn { column_def, .. } => {
                    for option in &mut column_def.options {
                        if let ColumnOption::ForeignKey(key) = &mut option.option {
                            self.parent(&mut key.foreign_table, &name)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a table goes when the transaction is committed.
    fn passes(&self, name: &ObjectName) -> Result<bool> {
        let home = self.connection.place(self.home.unwrap_or(0));
        let wanted = object(name)?;
        let is_passing = matches!(&home.scope, Scope::Open(open) if open.passing.contains(&wanted));
        Ok(is_passing || home.emptied.contains(&wanted))
    }

    /// An index is where its table is.
    fn create_index(&mut self, create: &mut ast::CreateIndex) -> Result<()> {
        self.relation(&mut create.table_name)?;
        if let Some(name) = &mut create.name
            && name.0.len() > 1
        {
            return self.named(name, Wanted::New);
        }
        Ok(())
    }

    fn create_view(&mut self, create: &mut ast::CreateView) -> Result<()> {
        let is_temporary = create.temporary || self.connection.names_temporary(&create.query)?;
        let wanted = Wanted::new(is_temporary);
        let view = match self.connection.is_plain() && !is_temporary && create.name.0.len() == 1 {
            true => Named {
                place: 0,
                schema: ambo::DEFAULT_SCHEMA.to_owned(),
                name: parts(&create.name)?.remove(0),
            },
            false => self.find(&create.name, wanted)?,
        };
        self.bound(&mut create.query, &view)?;
        self.at(view.place)?;
        localize(&mut create.name, &view.schema);
        create.temporary = false;
        Ok(())
    }

    /// The query of a view, as it is to be kept.
    fn bound(&self, query: &mut ast::Query, view: &Named) -> Result<()> {
        match self.connection.is_plain() {
            true => Ok(()),
            false => self.connection.bind(query, view.place, view),
        }
    }

    /// A schema, with its database before it or without.
    fn schema(&mut self, name: &mut ObjectName) -> Result<()> {
        match &parts(name)?[..] {
            [database, _] => {
                let nth = self.connection.with_names(|names| names.place(database));
                let nth = nth.ok_or_else(|| {
                    let known = self.connection.places().map(|place| place.name.as_str());
                    about_object(Error::not_found("database", database, known), name)
                })?;
                name.0.remove(0);
                self.at(nth)
            }
            _ => self.of_path(),
        }
    }

    fn comment(&mut self, on: CommentObject, name: &mut ObjectName) -> Result<()> {
        match on {
            CommentObject::Column => {
                let Some(column) = name.0.pop().filter(|_| !name.0.is_empty()) else { return Ok(()) };
                let found = self.relation(name);
                name.0.push(column);
                found
            }
            CommentObject::Function => self.named(name, Wanted::Object(ObjectKind::Function)),
            CommentObject::Sequence => self.named(name, Wanted::Object(ObjectKind::Sequence)),
            CommentObject::Type => self.named(name, Wanted::Object(ObjectKind::Type)),
            _ => self.relation(name),
        }
    }

    /// SHOW INDEXES FROM a table, which the parser knows as a name.
    fn show_indexes(&mut self, variable: &mut Vec<Ident>) -> Result<()> {
        let words: Vec<_> = variable.iter().map(|word| word.value.to_lowercase()).collect();
        let is_indexes =
            matches!(words.first().map(String::as_str), Some("indexes" | "index" | "indices" | "keys"));
        if !is_indexes || words.len() < 3 {
            return Ok(());
        }
        let mut name = ObjectName::from(variable.split_off(2));
        self.relation(&mut name)?;
        variable.extend(name.0.iter().filter_map(|part| part.as_ident().cloned()));
        Ok(())
    }
}

/// The table of a name that LIKE or the like copies, in whichever database it is.
pub(crate) fn table_anywhere(connection: &Connection, name: &ObjectName) -> Result<ambo::Table> {
    let (definitions, named) = connection.definitions_with(name)?;
    find_table(&definitions, &named.local()).map_err(|error| about_object(error, name))
}
