//! ALTER TABLE.

use ambo::{CatalogEdit, Check, Column, Datum, TableChange, TableDefinition, arrow::column_type, qualify};
use datafusion::{
    logical_expr::Volatility,
    sql::sqlparser::ast::{
        self, AlterColumnOperation, AlterTableOperation as Operation, DropBehavior, Expr, Ident, ObjectName,
        RenameTableNameKind, TableConstraint,
    },
};

use super::{
    check_rows, column_type,
    create_index::create_index,
    definition::{
        Parts, collation_of, column_names, default, in_default, length_name, make_check, place, unique_index,
        with_collation,
    },
    drop::drop_whole_index,
    expression, generated, length,
    options::{Setting, place_of},
    references, sequence, table,
    types::declared,
};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    foreign_keys::{has_references, is_kept_text},
    hidden::HIDDEN,
    names::{about, ident, object, shown, split, written},
    parse::{TableSettings, parse_expression},
};

const TAG: &str = "ALTER TABLE";

/// ALTER TABLE … SET with options of ours.
pub(super) fn set(
    connection: &mut Connection,
    name: &ObjectName,
    settings: &TableSettings,
) -> Result<Rows<'static>> {
    let definition = table(&connection.definitions(), name)?.definition().clone();
    let table = definition.name.clone();
    if let Some(column) = settings.sort_key.first() {
        return Err(about(Error::invalid("the sort key of a table does not change"), column)
            .with_hint("create another with CREATE TABLE … SORT KEY (…) AS SELECT …"));
    }
    let mut options = ambo::TableOptions::new();
    let parsed = settings.options.iter().map(Setting::of).collect::<Result<Vec<_>>>()?;
    let goes_with_others = |setting: &Setting| matches!(setting, Setting::Options(_) | Setting::TtlColumn(_));
    if parsed.len() > 1 && !parsed.iter().all(goes_with_others) {
        return Err(Error::invalid("storage, log and comment are set in statements of their own"));
    }
    for (setting, option) in parsed.into_iter().zip(&settings.options) {
        match setting {
            Setting::Storage(storage) => {
                connection.require_no_transaction("ALTER TABLE … SET STORAGE")?;
                connection.engine().db.set_storage(&table, storage)?;
            }
            Setting::Comment(comment) => {
                let changes = vec![TableChange::SetComment(Some(comment))];
                connection.define(&[CatalogEdit::ChangeTable { name: table.clone(), changes }])?;
            }
            Setting::OfPages => {}
            Setting::Time(_) => {
                return Err(Error::invalid("the time of rows is said when their table is created"));
            }
            Setting::Log(_) => {
                return Err(Error::invalid("whether a table is logged is said when it is created"));
            }
            Setting::TtlColumn(column) => {
                let place = |column: String| place_of(&definition, &column, &option.value);
                let place = column.map(place).transpose()?;
                options = options.ttl_column(place.map(|place| definition.stored_in(place)));
            }
            Setting::Options(more) => {
                options = options.and(more);
            }
        }
    }
    if !options.is_empty() {
        connection.define(&[CatalogEdit::AlterTable { name: table, options }])?;
    }
    Ok(Rows::done(TAG, None))
}

pub(super) fn run(connection: &mut Connection, alter: ast::AlterTable) -> Result<Rows<'static>> {
    let found = table(&connection.definitions(), &alter.name);
    let table = match found {
        Err(error) if alter.if_exists && error.kind() == ErrorKind::NotFound => {
            return Ok(Rows::done(TAG, None));
        }
        table => table?,
    };
    let definition = table.definition();
    if let [operation] = &alter.operations[..]
        && run_alone(connection, definition, operation)?
    {
        return Ok(Rows::done(TAG, None));
    }
    let mut changing =
        Changing { connection, table: definition.clone(), changes: Vec::new(), checks: Vec::new() };
    alter.operations.iter().try_for_each(|operation| changing.add(operation))?;
    changing.make()?;
    Ok(Rows::done(TAG, None))
}

/// What is a change of its own to the engine. Returns whether it was one of those.
fn run_alone(connection: &mut Connection, table: &TableDefinition, operation: &Operation) -> Result<bool> {
    if let Some(change) = column_type::alone(operation) {
        let set = column_type::set(connection, &table.name, &change);
        return set.map(|()| true).map_err(|error| about(error, change.column));
    }
    match operation {
        Operation::RenameTable { table_name } => {
            let (RenameTableNameKind::As(to) | RenameTableNameKind::To(to)) = table_name;
            let to = match (split(&table.name), &to.0[..]) {
                // In the schema where it is.
                ((schema, _), [_]) => format!("{schema}.{}", written(to)?),
                _ => object(to)?,
            };
            let whole = qualify(&to)?;
            connection.write(&[], |work| {
                let (from, to) = (table.name.clone(), to.clone());
                work.transaction.define(&CatalogEdit::RenameTable { from, to })?;
                sequence::rename_owner(work, &table.name, &whole)?;
                references::rename_table(work, table, &whole)
            })?;
        }
        Operation::AlterColumn { column_name, op: AlterColumnOperation::SetNotNull } => {
            place(table, column_name)?;
            set_not_null(connection, &table.name, column_name)?;
        }
        Operation::AddConstraint { constraint: TableConstraint::Unique(of), .. } => {
            let columns = column_names(&of.columns)?;
            columns.iter().try_for_each(|column| place(table, column).map(drop))?;
            for column in &columns {
                if collation_of(&table.columns[place(table, column)?])?.is_some() {
                    let what = format!(
                        "not supported: ADD UNIQUE of column \"{}\", which has a collation",
                        ident(column)
                    );
                    return Err(
                        about(Error::invalid(what), column).with_hint("CREATE UNIQUE INDEX keeps it unique")
                    );
                }
            }
            let columns: Vec<_> = columns.iter().map(ident).collect();
            let taken = connection.definitions().table(&table.name)?.indexes();
            create_index(connection, &unique_index(&table.name, of.name.as_ref(), &columns, &taken))?;
        }
        Operation::AddConstraint { constraint: TableConstraint::Check(of), not_valid: false } => {
            let check =
                make_check(&connection.own_reader()?, table, of.name.as_ref(), None, (*of.expr).clone())?;
            check_rows::add(connection, table, check)?;
        }
        Operation::AddConstraint { constraint: TableConstraint::PrimaryKey(of), .. } => {
            column_type::set_key(connection, &table.name, &column_names(&of.columns)?)?;
        }
        Operation::AddConstraint { constraint: TableConstraint::ForeignKey(of), .. } => {
            references::add(connection, &table.name, of.name.as_ref(), of)?;
        }
        Operation::RenameColumn { old_column_name, new_column_name } if has_references(table) => {
            return rename_referring(connection, table, old_column_name, new_column_name).map(|()| true);
        }
        Operation::DropConstraint { if_exists, name, .. } => {
            drop_constraint(connection, table, name, *if_exists)?
        }
        Operation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
            let parts = Parts::of(column_def)?;
            if parts.generated.is_none() {
                return Ok(false);
            }
            let is_there = table.column_index(&ident(&column_def.name)).is_some();
            if !(*if_not_exists && is_there) {
                generated::add(connection, &table.name, column_def, parts)
                    .map_err(|error| about(error, &column_def.name))?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// ALTER TABLE … RENAME CONSTRAINT: a check, or an index that keeps columns unique.
pub(super) fn rename_constraint(
    connection: &mut Connection,
    name: &ObjectName,
    if_exists: bool,
    from: &Ident,
    to: &Ident,
) -> Result<Rows<'static>> {
    let found = table(&connection.definitions(), name);
    let found = match found {
        Err(error) if if_exists && error.kind() == ErrorKind::NotFound => return Ok(Rows::done(TAG, None)),
        found => found?,
    };
    let table = found.definition();
    let (known, new) = (ident(from), ident(to));
    let is_own = |check: &&Check| check.name == known && !is_kept_text(&check.expression);
    let (schema, _) = split(&table.name);
    let indexes = crate::catalog::indexes(&found);
    let taken = table.checks.iter().any(|check| check.name == new);
    if taken {
        let error = format!("table \"{}\" has a constraint \"{new}\" already", shown(&table.name));
        return Err(about(Error::new(ErrorKind::Constraint, error), to));
    }
    let edit = match table.checks.iter().find(is_own) {
        Some(check) if table.is_of_generated(check) => {
            let error = format!("constraint \"{known}\" goes with its generated column");
            return Err(about(Error::invalid(error), from));
        }
        Some(check) => {
            let changed = Check::new(new, check.expression.clone());
            let changes = vec![TableChange::DropCheck(known), TableChange::AddCheck(changed)];
            CatalogEdit::ChangeTable { name: table.name.clone(), changes }
        }
        None => {
            let mut unique = indexes.iter().filter(|index| index.is_unique());
            let Some(index) = unique.find(|index| split(index.name()).1 == known) else {
                let checks = table.checks.iter().map(|check| check.name.as_str());
                let unique = indexes.iter().filter(|index| index.is_unique());
                let names = checks.chain(unique.map(|index| split(index.name()).1));
                return Err(about(Error::not_found("constraint", &known, names), from));
            };
            CatalogEdit::RenameIndex { from: index.name().to_owned(), to: format!("{schema}.{new}") }
        }
    };
    connection.define(&[edit]).map_err(|error| about(error, to))?;
    Ok(Rows::done(TAG, None))
}

/// Renames a column of a table with foreign keys, which follow.
fn rename_referring(
    connection: &mut Connection,
    table: &TableDefinition,
    from: &Ident,
    to: &Ident,
) -> Result<()> {
    connection.whole(|connection| {
        let (checks, changes) = (Vec::new(), Vec::new());
        let mut changing = Changing { connection, table: table.clone(), changes, checks };
        changing.rename_column(from, to)?;
        let changes = std::mem::take(&mut changing.changes);
        connection.write(&[], |work| {
            let (name, changes) = (table.name.clone(), changes.clone());
            work.transaction.define(&CatalogEdit::ChangeTable { name, changes })?;
            references::rename_column(work, table, &ident(from), &ident(to))
        })
    })
}

/// In the open transaction, or else while the table stays in use.
fn set_not_null(connection: &mut Connection, table: &str, column: &Ident) -> Result<()> {
    let refused = |error: ambo::Error| match error {
        ambo::Error::Invalid(_) => Error::new(ErrorKind::Constraint, error.to_string()),
        _ => error.into(),
    };
    let name = ident(column);
    let done = match connection.in_transaction() {
        true => connection.write(&[], |work| work.transaction.set_not_null(table, &name).map_err(refused)),
        false => connection.engine().db.set_not_null(table, &name).map_err(refused),
    };
    done.map_err(|error| about(error, column))
}

fn drop_constraint(
    connection: &mut Connection,
    table: &TableDefinition,
    name: &Ident,
    if_exists: bool,
) -> Result<()> {
    let known = ident(name);
    if table.checks.iter().any(|check| check.name == known && table.is_of_generated(check)) {
        return Err(about(
            Error::invalid(format!("constraint \"{known}\" goes with its generated column")),
            name,
        )
        .with_hint("ALTER TABLE … DROP COLUMN"));
    }
    if references::drop_key(connection, table, &known)? {
        return Ok(());
    }
    let is_own = |check: &Check| check.name == known && !is_kept_text(&check.expression);
    if table.checks.iter().any(is_own) {
        let changes = vec![TableChange::DropCheck(known)];
        return connection.define(&[CatalogEdit::ChangeTable { name: table.name.clone(), changes }]);
    }
    let indexes = crate::catalog::indexes(&connection.definitions().table(&table.name)?);
    let mut unique = indexes.iter().filter(|index| index.is_unique());
    if let Some(index) = unique.find(|index| split(index.name()).1 == known) {
        let name = index.name().to_owned();
        return connection.write(&[], |work| drop_whole_index(work, &name));
    }
    if if_exists {
        return Ok(());
    }
    let checks = table.checks.iter().map(|check| check.name.as_str());
    let indexes = indexes.iter().filter(|index| index.is_unique()).map(|index| split(index.name()).1);
    Err(about(Error::not_found("constraint", &known, checks.chain(indexes)), name))
}

/// Changes that are made all at once.
struct Changing<'a> {
    connection: &'a mut Connection,
    /// The table with the changes so far.
    table: TableDefinition,
    changes: Vec<TableChange>,
    /// Checks among them that rows are to be held to.
    checks: Vec<Check>,
}

impl Changing<'_> {
    fn add(&mut self, operation: &Operation) -> Result<()> {
        match operation {
            Operation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                let name = ident(&column_def.name);
                if *if_not_exists && self.table.column_index(&name).is_some() {
                    return Ok(());
                }
                self.add_column(column_def).map_err(|error| about(error, &column_def.name))
            }
            Operation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let cascade = *drop_behavior == Some(DropBehavior::Cascade);
                column_names.iter().try_for_each(|name| self.drop_column(name, *if_exists, cascade))
            }
            Operation::RenameColumn { old_column_name, new_column_name } => {
                self.rename_column(old_column_name, new_column_name)
            }
            Operation::AlterColumn { column_name, op } => self.alter_column(column_name, op),
            Operation::RenameTable { .. }
            | Operation::AddConstraint { .. }
            | Operation::DropConstraint { .. } => {
                Err(Error::invalid(format!("not supported: {operation} together with other changes"))
                    .with_hint("in an ALTER TABLE of its own it is"))
            }
            other => Err(Error::invalid(format!("not supported: ALTER TABLE … {other}"))),
        }
    }

    fn add_column(&mut self, of: &ast::ColumnDef) -> Result<()> {
        let parts = Parts::of(of)?;
        let name = ident(&of.name);
        if parts.generated.is_some() {
            return Err(Error::invalid("a generated column is added in a statement of its own"));
        }
        if !parts.references.is_empty() {
            return Err(Error::invalid(format!("not supported: column \"{name}\" is added with REFERENCES"))
                .with_hint("ALTER TABLE … ADD FOREIGN KEY (…) REFERENCES … is the next statement"));
        }
        if parts.primary || parts.numbers_itself || super::types::is_serial(&of.data_type) {
            return Err(Error::invalid("the primary key of a table does not change")
                .with_hint("create another table with CREATE TABLE … AS SELECT …"));
        }
        if !parts.unique.is_empty() {
            return Err(Error::invalid(format!("not supported: column \"{name}\" is added as UNIQUE"))
                .with_hint("ALTER TABLE … ADD UNIQUE (…) is the next statement"));
        }
        let planner = self.connection.own_reader()?;
        let types = planner.types()?;
        let of = &ast::ColumnDef { data_type: types.meant(&of.data_type)?, ..of.clone() };
        let column = Column::typed(&name, declared(&of.data_type, &types)?);
        let mut column = with_collation(column, parts.collation)?;
        let ty = column_type(&column);
        column.nullable = !parts.not_null;
        column.comment = parts.comment;
        if let Some(expr) = parts.default {
            let (text, computed) = default(&planner, &column, expr)?;
            let rows = self.connection.definitions().table(&self.table.name)?;
            if computed.volatility == Volatility::Volatile && !self.connection.is_empty(&rows)? {
                return Err(Error::invalid(format!(
                    "the default {text} is another value for each row; the rows that are there cannot have it"
                ))
                .with_hint("add the column without, UPDATE, and then SET DEFAULT"));
            }
            let value = computed.value(&ty).map_err(|error| in_default(&column, &error))?;
            if value != Datum::Null {
                column.default = Some(value);
            }
            if computed.volatility != Volatility::Immutable {
                column.default_expression = Some(text);
            }
        }
        self.table.columns.push(column.clone());
        self.changes.push(TableChange::AddColumn(column));
        let length = length::of_type(&of.data_type);
        let length =
            length.map(|most| Ok::<_, Error>((Some(length_name(&name)), length::check(&name, most)?)));
        for (named, expr) in parts.checks.into_iter().chain(length.transpose()?) {
            let check = make_check(&planner, &self.table, named.as_ref(), Some(&name), expr)?;
            self.table.checks.push(check.clone());
            self.changes.push(TableChange::AddCheck(check.clone()));
            self.checks.push(check);
        }
        Ok(())
    }

    /// Drops what stands in the way of a column that goes: generated columns that are computed of it, and checks over it.
    fn drop_users(&mut self, known: &str) -> Result<()> {
        let mentions =
            |text: &str| Ok::<_, Error>(expression::rename(&mut parse_expression(text)?, known, known));
        let mut computed = Vec::new();
        for column in self.table.columns.iter().filter(|column| column.name != known) {
            if column.generated().map(mentions).transpose()? == Some(true) {
                computed.push(Ident::with_quote('"', &column.name));
            }
        }
        computed.iter().try_for_each(|column| self.drop_column(column, false, false))?;
        let own = TableDefinition::generated_check(known);
        let others =
            self.table.checks.iter().filter(|check| check.name != own && !is_kept_text(&check.expression));
        let mut over = Vec::new();
        for check in others {
            if mentions(&check.expression)? {
                over.push(check.name.clone());
            }
        }
        self.table.checks.retain(|check| !over.contains(&check.name));
        self.changes.extend(over.into_iter().map(TableChange::DropCheck));
        Ok(())
    }

    fn drop_column(&mut self, name: &Ident, if_exists: bool, cascade: bool) -> Result<()> {
        match place(&self.table, name) {
            Err(error) if if_exists && error.kind() == ErrorKind::NotFound => return Ok(()),
            at => at?,
        };
        let known = ident(name);
        if cascade {
            self.drop_users(&known)?;
        }
        let at = place(&self.table, name)?;
        // The length of a column goes with it.
        let is_length = |check: &Check| {
            let expression = parse_expression(&check.expression).ok();
            expression.and_then(|expression| length::limit(&expression)).is_some_and(|(of, _)| of == known)
        };
        while let Some(place) = self.table.checks.iter().position(is_length) {
            let check = self.table.checks.remove(place);
            self.changes.push(TableChange::DropCheck(check.name));
        }
        references::refuse_column(&self.connection.definitions(), &self.table, &known)
            .map_err(|error| about(error, name))?;
        let own = TableDefinition::generated_check(&known);
        let is_generated = self.table.columns[at].generated().is_some();
        self.table.checks.retain(|check| !is_generated || check.name != own);
        for check in self.table.checks.iter().filter(|check| !is_kept_text(&check.expression)) {
            if expression::rename(&mut parse_expression(&check.expression)?, &known, &known) {
                if check.name.starts_with(HIDDEN) {
                    let error = format!(
                        "an index is over an expression with column \"{known}\", or over rows that it chooses"
                    );
                    return Err(about(Error::invalid(error), name).with_hint("DROP INDEX first"));
                }
                return Err(about(
                    Error::invalid(format!(
                        "check \"{}\" is over column \"{known}\": {}",
                        check.name, check.expression
                    )),
                    name,
                )
                .with_hint("ALTER TABLE … DROP CONSTRAINT first"));
            }
        }
        self.table.columns.remove(at);
        self.changes.push(TableChange::DropColumn(known));
        Ok(())
    }

    /// Renames a column, in the checks of the table, too.
    fn rename_column(&mut self, from: &Ident, to: &Ident) -> Result<()> {
        let at = place(&self.table, from)?;
        let (from, new) = (ident(from), ident(to));
        if from != new && self.table.column_index(&new).is_some() {
            let taken = format!("table \"{}\" has a column \"{new}\" already", shown(&self.table.name));
            return Err(about(Error::new(ErrorKind::Constraint, taken), to));
        }
        self.changes.push(TableChange::rename_column(&from, &new));
        self.table.columns[at].name.clone_from(&new);
        self.rename_in_generated(&from, &new)?;
        let own = TableDefinition::generated_check(&from);
        let is_generated = self.table.columns[at].generated().is_some();
        for check in self.table.checks.iter_mut().filter(|check| !is_kept_text(&check.expression)) {
            if is_generated && check.name == own {
                self.changes.push(TableChange::DropCheck(check.name.clone()));
                let mut expr = parse_expression(&check.expression)?;
                expression::rename(&mut expr, &from, &new);
                *check = Check::new(TableDefinition::generated_check(&new), expr.to_string());
                self.changes.push(TableChange::AddCheck(check.clone()));
                continue;
            }
            let mut expr = parse_expression(&check.expression)?;
            if expression::rename(&mut expr, &from, &new) {
                check.expression = expr.to_string();
                self.changes.push(TableChange::DropCheck(check.name.clone()));
                self.changes.push(TableChange::AddCheck(check.clone()));
            }
        }
        Ok(())
    }

    /// Renames a column in what generated ones are computed of.
    fn rename_in_generated(&mut self, from: &str, to: &str) -> Result<()> {
        for column in &mut self.table.columns {
            let Some(text) = column.generated() else { continue };
            let mut expr = parse_expression(text)?;
            if expression::rename(&mut expr, from, to) {
                *column = column.clone().generated_as(expr);
                let (column, expression) = (column.name.clone(), column.default_expression.clone());
                self.changes.push(TableChange::SetDefaultExpression { column, expression });
            }
        }
        Ok(())
    }

    fn alter_column(&mut self, name: &Ident, op: &AlterColumnOperation) -> Result<()> {
        let at = place(&self.table, name)?;
        let column = &self.table.columns[at];
        let is_default =
            matches!(op, AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault);
        if column.generated().is_some() && is_default {
            return Err(about(
                Error::invalid(format!("column \"{}\" is generated, so it has no default", column.name)),
                name,
            ));
        }
        let change = match op {
            AlterColumnOperation::DropNotNull => {
                self.table.columns[at].nullable = true;
                TableChange::DropNotNull(ident(name))
            }
            AlterColumnOperation::SetDefault { value } => self.set_default(column, value)?,
            AlterColumnOperation::DropDefault => {
                // What rows from before the column read is no longer what is inserted.
                let expression = column.default.is_some().then(|| "NULL".to_owned());
                TableChange::SetDefaultExpression { column: column.name.clone(), expression }
            }
            AlterColumnOperation::SetNotNull => {
                return Err(about(Error::invalid("SET NOT NULL is a statement of its own"), name));
            }
            AlterColumnOperation::SetDataType { .. } => {
                return Err(about(
                    Error::invalid("the type of a column changes in a statement of its own"),
                    name,
                ));
            }
            other => return Err(about(Error::invalid(format!("not supported: ALTER COLUMN {other}")), name)),
        };
        self.changes.push(change);
        Ok(())
    }

    fn set_default(&self, column: &Column, expr: &Expr) -> Result<TableChange> {
        let (text, computed) = default(&self.connection.own_reader()?, column, expr.clone())?;
        if computed.volatility == Volatility::Immutable {
            computed.value(&column_type(column)).map_err(|error| in_default(column, &error))?;
        }
        let column = column.name.clone();
        Ok(TableChange::SetDefaultExpression { column, expression: Some(text) })
    }

    fn make(self) -> Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let can_go_back = self.changes.iter().all(|change| undo(change).is_some());
        if !self.checks.is_empty() && !can_go_back {
            return Err(Error::invalid("a column with a CHECK is added in a statement of its own"));
        }
        // Checks come with columns that are added: those go again with them.
        let undo = self.changes.iter().rev().filter_map(undo).collect();
        check_rows::change(self.connection, &self.table, self.changes, &self.checks, undo)
    }
}

/// What takes back an added column or check.
fn undo(change: &TableChange) -> Option<TableChange> {
    match change {
        TableChange::AddColumn(column) => Some(TableChange::DropColumn(column.name.clone())),
        TableChange::AddCheck(check) => Some(TableChange::DropCheck(check.name.clone())),
        _ => None,
    }
}
