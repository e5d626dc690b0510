//! Text to statements: those of the parser, and our own forms around them.
//!
//! Ours are what stands behind a CREATE TABLE (`STORAGE = column`, `SORT KEY (a, b)`, `KEY COMPRESSION = bp128`, `RECORD COMPRESSION =
//! zstd`, `LOG = off`, also before its AS), `ALTER TABLE t SET` with the same options, and COMPACT, CHECKPOINT, CHECK DATABASE,
//! BACKUP TO and PUBLISH TO.

mod asof;
mod column_names;
mod conflicts;
mod copies;
mod created_names;
mod databases;
mod depth;
mod describe;
mod dialect;
mod empty_lists;
mod exclusion;
mod explained;
mod fetches;
mod fields;
mod forms;
mod from_first;
mod functions;
mod keyed;
mod lambdas;
mod limits;
mod literals;
mod merge_forms;
mod names_before;
mod owners;
mod parameters;
mod pivots;
mod pragma;
mod renames;
mod rights;
mod samples;
mod semi_joins;
mod sequences;
mod series_names;
mod stars;
mod tokens;
mod types;
mod words;

use std::ops::Range;

use datafusion::sql::sqlparser::{
    ast::{self, AlterColumnOperation, AlterTableOperation, Ident, ObjectName},
    keywords::Keyword,
    parser::{IsOptional, Parser, ParserError},
    tokenizer::{Token, TokenWithSpan, Tokenizer},
};

use crate::{Error, Result, names, walk::WalkMut};
pub(crate) use asof::ASOF;
pub(crate) use column_names::each_select;
use column_names::name_columns;
pub(crate) use conflicts::conflict_expression;
pub(crate) use copies::copy_option;
pub(crate) use databases::Attach;
pub(crate) use describe::{DESCRIBE, SUMMARIZE};
use dialect::Generous;
use exclusion::name_exclusions;
pub(crate) use exclusion::{EXCLUDE, excluded};
pub(crate) use fields::{AlterField, FieldChange};
pub(crate) use forms::IMPLIED;
use forms::say_forms;
use from_first::say_select_first;
pub(crate) use functions::{Body, CreateFunction, DropFunctions, Function, parse_function};
use functions::{create_function, drop_functions};
pub(crate) use keyed::USING_KEY;
pub(crate) use limits::PERCENT;
use literals::say_literals;
pub(crate) use merge_forms::{ALL_BY_NAME, ALL_BY_POSITION};
pub(crate) use owners::{AddIdentity, Owned, SetOwner};
pub(crate) use parameters::split_names;
pub(crate) use pivots::{ON, PIVOT, UNPIVOT, VALUES, WITH_NULLS};
pub(crate) use renames::{AlterSequence, Renamed};
pub(crate) use rights::{Grant, Granted, GrantedTo, RoleOptions, RoleStatement};
pub(crate) use samples::SAMPLE;
use semi_joins::say_sides;
use sequences::create_sequence;
pub(crate) use sequences::{CreateSequence, SequenceParts};
use series_names::name_series;
pub(crate) use stars::{LAMBDA, UNPACKED};
pub(crate) use tokens::NOTHING;
use tokens::{
    say_argument_of_rank, say_nothing, say_select, say_units, without_hints, without_only,
    without_operator_names,
};
pub(crate) use types::{CreateType, TypeBody, parse_type};
pub(crate) use words::BY_NAME;

/// The dialect of all statements.
pub(crate) static DIALECT: Generous = Generous;

/// An option of a table as it was written: its name in small letters, and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableOption {
    pub name: String,
    pub value: Ident,
}

/// What stands behind the columns of a CREATE TABLE, or is set later.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableSettings {
    pub options: Vec<TableOption>,
    pub sort_key: Vec<Ident>,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// As the parser knows it.
    Sql(Box<ast::Statement>),
    CreateTable(Box<ast::CreateTable>, TableSettings),
    /// ALTER TABLE … SET with our options.
    AlterTable(ObjectName, TableSettings),
    AlterField(Box<AlterField>),
    /// COMPACT, CHECKPOINT, CHECK DATABASE, BACKUP TO, PUBLISH TO.
    Maintain(Maintenance),
    CreateSequence(Box<CreateSequence>),
    CreateFunction(Box<CreateFunction>),
    DropFunctions(DropFunctions),
    CreateType(Box<CreateType>),
    /// ALTER VIEW … RENAME TO.
    RenameView {
        name: ObjectName,
        if_exists: bool,
        to: ObjectName,
    },
    /// ALTER INDEX, ALTER SEQUENCE … RENAME TO.
    Rename {
        what: Renamed,
        name: ObjectName,
        if_exists: bool,
        to: ObjectName,
    },
    /// ALTER TABLE … RENAME CONSTRAINT.
    RenameConstraint {
        table: ObjectName,
        if_exists: bool,
        from: Ident,
        to: Ident,
    },
    AlterSequence(Box<AlterSequence>),
    Attach(Box<Attach>),
    Detach {
        name: Ident,
        if_exists: bool,
    },
    Use(ObjectName),
    Grant(Box<Grant>),
    /// ALTER … OWNER TO.
    SetOwner(Box<SetOwner>),
    /// ALTER TABLE … ALTER COLUMN … ADD GENERATED … AS IDENTITY.
    AddIdentity(Box<AddIdentity>),
    /// CREATE, ALTER, DROP ROLE.
    Role(RoleStatement),
}

impl Statement {
    /// Whether it begins, ends or divides a transaction.
    pub(crate) fn is_transaction(&self) -> bool {
        use ast::Statement as S;
        let Self::Sql(tree) = self else { return false };
        matches!(
            **tree,
            S::StartTransaction { .. }
                | S::Commit { .. }
                | S::Rollback { .. }
                | S::Savepoint { .. }
                | S::ReleaseSavepoint { .. }
        )
    }
}

/// What can be done for the whole database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Maintenance {
    /// Merges all that can be merged.
    Compact,
    /// Writes what is in memory to pages, of the database of this name.
    Checkpoint(Option<ast::Ident>),
    /// Reads everything and says what is wrong.
    Check,
    /// Makes a copy in this directory.
    Backup(String),
    /// Publishes in this directory, with options as ATTACH has them.
    Publish(String, Vec<(ast::Ident, Option<String>)>),
}

/// All statements of a text, with names for the columns that they return.
///
/// # Errors
/// [`crate::ErrorKind::Syntax`] with the place.
pub(crate) fn parse(text: &str) -> Result<Vec<Statement>> {
    Ok(parse_with_names(text)?.into_iter().map(|(statement, _)| statement).collect())
}

/// The same, with the names of the parameters of each, by their places.
///
/// # Errors
/// [`crate::ErrorKind::Syntax`] with the place.
pub(crate) fn parse_with_names(text: &str) -> Result<Named> {
    let mut tokens = parameters::say_colons(tokens(text)?);
    parameters::number(&mut tokens)?;
    let tokens = say_select_first(say_nothing(tokens));
    depth::with_stack(depth::bound(&tokens), || read(tokens))
}

/// Statements, each with the names of its parameters.
type Named = Vec<(Statement, Vec<String>)>;

fn read(tokens: Vec<TokenWithSpan>) -> Result<Named> {
    let Some(selects) = say_select(&tokens) else { return statements(tokens) };
    statements(selects).or_else(|error| {
        // Something may be called TABLE. What reads on further knows better what is wrong.
        statements(tokens).map_err(|other| if place(&other) < place(&error) { error } else { other })
    })
}

fn place(error: &Error) -> Option<(u64, u64)> {
    error.place().map(|place| (place.line, place.column))
}

fn statements(tokens: Vec<TokenWithSpan>) -> Result<Named> {
    let mut parser = parser(tokens);
    let mut all = Vec::new();
    loop {
        while parser.consume_token(&Token::SemiColon) {}
        if parser.peek_token().token == Token::EOF {
            return Ok(all);
        }
        let begin = parser.index();
        let mut statement = statement(&mut parser)?;
        let tokens = begin..parser.index();
        let mut names = Vec::new();
        match &mut statement {
            Statement::Sql(tree) => {
                names = finish(tree.as_mut(), &parser, tokens)?;
                if let ast::Statement::Prepare { data_types, .. } = tree.as_mut() {
                    parameters::keep_names(data_types, std::mem::take(&mut names));
                }
            }
            Statement::CreateTable(create, _) => names = finish(create.as_mut(), &parser, tokens)?,
            Statement::CreateFunction(create) => match &mut create.function.body {
                Body::Value(expr) => depth::flatten(expr.as_mut())?,
                Body::Rows(query) => drop(finish(query.as_mut(), &parser, tokens)?),
            },
            Statement::CreateType(create) => {
                if let TypeBody::Labels(query) = &mut create.body {
                    finish(query.as_mut(), &parser, tokens)?;
                }
            }
            Statement::AlterTable(..) | Statement::Maintain(_) | Statement::RenameView { .. } => {}
            Statement::AlterField(_) => {}
            Statement::CreateSequence(_) | Statement::DropFunctions(_) | Statement::AlterSequence(_) => {}
            Statement::Rename { .. } | Statement::RenameConstraint { .. } => {}
            Statement::Attach(_) | Statement::Detach { .. } | Statement::Use(_) => {}
            Statement::Grant(_) | Statement::Role(_) | Statement::SetOwner(_) => {}
            Statement::AddIdentity(_) => {}
        }
        all.push((statement, names));
        let next = parser.peek_token();
        match next.token {
            Token::SemiColon | Token::EOF => {}
            _ => return Err(parser.expected::<()>("the end of the statement", next).unwrap_err().into()),
        }
    }
}

/// The query in a text, with names for its columns.
///
/// # Errors
/// [`crate::ErrorKind::Syntax`] with the place.
pub(crate) fn parse_query(text: &str) -> Result<ast::Query> {
    let tokens = say_select_first(tokens(text)?);
    depth::with_stack(depth::bound(&tokens), || {
        let mut parser = parser(tokens);
        let mut query = parser.parse_query()?;
        let tokens = 0..parser.index();
        parser.expect_token(&Token::EOF)?;
        finish(query.as_mut(), &parser, tokens)?;
        Ok(*query)
    })
}

/// The expression that a text is.
///
/// # Errors
/// [`crate::ErrorKind::Syntax`] with the place.
pub(crate) fn parse_expression(text: &str) -> Result<ast::Expr> {
    let tokens = tokens(text)?;
    depth::with_stack(depth::bound(&tokens), || {
        let mut parser = parser(tokens);
        let mut expr = parser.parse_expr()?;
        parser.expect_token(&Token::EOF)?;
        depth::flatten(&mut expr)?;
        Ok(expr)
    })
}

fn tokens(text: &str) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&DIALECT, text).tokenize_with_location().map_err(ParserError::from)?;
    let mut tokens = say_literals(tokens)?;
    say_units(&mut tokens);
    let tokens = say_argument_of_rank(without_hints(without_operator_names(without_only(tokens))));
    Ok(say_forms(name_exclusions(tokens)))
}

fn parser(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&DIALECT).with_recursion_limit(depth::NESTING).with_tokens_with_locations(tokens)
}

/// What is done with each tree: it is made flat, its columns get names and its parameters numbers. Returns the names of parameters.
fn finish(tree: &mut impl WalkMut, parser: &Parser<'_>, tokens: Range<usize>) -> Result<Vec<String>> {
    depth::flatten(tree)?;
    empty_lists::refuse(tree)?;
    name_columns(tree, parser, tokens);
    name_series(tree);
    say_sides(tree);
    Ok(parameters::say_numbers(tree))
}

/// Statements of ours, by their words.
const MAINTENANCE: [(&[&str], Maintenance); 3] = [
    (&["COMPACT"], Maintenance::Compact),
    // Its former name.
    (&["SETTLE"], Maintenance::Compact),
    (&["CHECK", "DATABASE"], Maintenance::Check),
];

/// `VACUUM [FULL] [FREEZE] [VERBOSE] [ANALYZE] [table]`. Freezing and figures are no concern of ours.
fn vacuum(parser: &mut Parser<'_>) -> Result<Option<Statement>> {
    if !parser.parse_keyword(Keyword::VACUUM) {
        return Ok(None);
    }
    let options = [Keyword::FULL, Keyword::FREEZE, Keyword::VERBOSE, Keyword::ANALYZE];
    let mut full = false;
    while let Some(option) = parser.parse_one_of_keywords(&options) {
        full |= option == Keyword::FULL;
    }
    let is_whole = matches!(parser.peek_token().token, Token::EOF | Token::SemiColon);
    let table_name = if is_whole { None } else { Some(parser.parse_object_name(false)?) };
    Ok(Some(Statement::Sql(Box::new(ast::Statement::Vacuum(ast::VacuumStatement {
        full,
        sort_only: false,
        delete_only: false,
        reindex: false,
        recluster: false,
        table_name,
        threshold: None,
        boost: false,
    })))))
}

fn statement(parser: &mut Parser<'_>) -> Result<Statement> {
    if let Some((_, what)) = MAINTENANCE.iter().find(|(of, _)| words(parser, of)) {
        return Ok(Statement::Maintain(what.clone()));
    }
    if words(parser, &["CHECKPOINT"]) {
        let is_end = matches!(parser.peek_token().token, Token::EOF | Token::SemiColon);
        let name = if is_end { None } else { Some(parser.parse_identifier()?) };
        return Ok(Statement::Maintain(Maintenance::Checkpoint(name)));
    }
    if words(parser, &["BACKUP", "TO"]) {
        return Ok(Statement::Maintain(Maintenance::Backup(parser.parse_literal_string()?)));
    }
    if words(parser, &["PUBLISH", "TO"]) {
        let path = parser.parse_literal_string()?;
        return Ok(Statement::Maintain(Maintenance::Publish(path, databases::options(parser)?)));
    }
    if let Some(statement) = vacuum(parser)? {
        return Ok(statement);
    }
    if let Some(statement) = databases::statement(parser)? {
        return Ok(statement);
    }
    if let Some(statement) = rights::statement(parser)? {
        return Ok(statement);
    }
    if let Some(statement) = pragma::pragma(parser)? {
        return Ok(Statement::Sql(Box::new(statement)));
    }
    if parser.peek_keyword(Keyword::ALTER)
        && let Some(owner) = parser.maybe_parse(owners::set_owner)?
    {
        return Ok(Statement::SetOwner(Box::new(owner)));
    }
    if parser.peek_keyword(Keyword::ALTER)
        && let Some(add) = parser.maybe_parse(owners::add_identity)?
    {
        return Ok(Statement::AddIdentity(Box::new(add)));
    }
    if parser.peek_keyword(Keyword::ALTER)
        && let Some((name, settings)) = parser.maybe_parse(alter_table)?
    {
        return Ok(Statement::AlterTable(name, settings));
    }
    if parser.peek_keyword(Keyword::ALTER)
        && let Some(rename) = parser.maybe_parse(rename_view)?
    {
        return Ok(rename);
    }
    if parser.peek_keyword(Keyword::ALTER)
        && let Some(rename) = parser.maybe_parse(renames::statement)?
    {
        return Ok(rename);
    }
    if parser.peek_keyword(Keyword::ALTER)
        && let Some(alter) = parser.maybe_parse(fields::alter_field)?
    {
        return Ok(Statement::AlterField(Box::new(alter)));
    }
    if parser.peek_keyword(Keyword::CREATE)
        && let Some(create) = parser.maybe_parse(create_function)?
    {
        return Ok(Statement::CreateFunction(Box::new(create)));
    }
    if parser.peek_keyword(Keyword::CREATE)
        && let Some(create) = parser.maybe_parse(create_sequence)?
    {
        return Ok(Statement::CreateSequence(Box::new(create)));
    }
    if parser.peek_keyword(Keyword::CREATE)
        && let Some(create) = parser.maybe_parse(types::create_type)?
    {
        return Ok(Statement::CreateType(Box::new(create)));
    }
    if parser.peek_keyword(Keyword::DROP)
        && let Some(drop) = parser.maybe_parse(drop_functions)?
    {
        return Ok(Statement::DropFunctions(drop));
    }
    match parser.parse_statement()? {
        ast::Statement::CreateTable(mut create) => {
            let settings = settings(parser)?;
            if create.query.is_none() && parser.parse_keyword(Keyword::AS) {
                create.query = Some(parser.parse_query()?);
            }
            if let Some(query) = &mut create.query
                && parser.parse_keywords(&[Keyword::WITH, Keyword::NO, Keyword::DATA])
            {
                without_rows(query)?;
            }
            let _ = create.query.is_some() && parser.parse_keywords(&[Keyword::WITH, Keyword::DATA]);
            Ok(Statement::CreateTable(Box::new(create), settings))
        }
        ast::Statement::AlterTable(mut alter) => {
            // The parser knows USING in PostgreSQL's dialect alone.
            if let Some(AlterTableOperation::AlterColumn {
                op: AlterColumnOperation::SetDataType { using, .. },
                ..
            }) = alter.operations.last_mut()
                && using.is_none()
                && parser.parse_keyword(Keyword::USING)
            {
                *using = Some(parser.parse_expr()?);
            }
            Ok(Statement::Sql(Box::new(ast::Statement::AlterTable(alter))))
        }
        other => Ok(Statement::Sql(Box::new(other))),
    }
}

/// The query with its columns, but no rows.
fn without_rows(query: &mut Box<ast::Query>) -> Result<()> {
    let mut none =
        self::parser(tokens("SELECT * FROM (SELECT 1) AS \"\u{1}rows\" LIMIT 0")?).parse_query()?;
    if let ast::SetExpr::Select(select) = none.body.as_mut()
        && let Some(ast::TableWithJoins { relation: ast::TableFactor::Derived { subquery, .. }, .. }) =
            select.from.first_mut()
    {
        std::mem::swap(subquery, query);
        std::mem::swap(query, &mut none);
    }
    Ok(())
}

fn rename_view(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::VIEW])?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_keywords(&[Keyword::RENAME, Keyword::TO])?;
    Ok(Statement::RenameView { name, if_exists, to: parser.parse_object_name(false)? })
}

fn alter_table(parser: &mut Parser<'_>) -> Result<(ObjectName, TableSettings), ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let name = parser.parse_object_name(false)?;
    if parser.parse_keyword(Keyword::RESET) {
        return Ok((name, reset(parser)?));
    }
    parser.expect_keyword(Keyword::SET)?;
    let settings = settings(parser)?;
    match settings == TableSettings::default() {
        false => Ok((name, settings)),
        true => parser.expected("an option of a table", parser.peek_token()),
    }
}

/// The options of `RESET (ttl, ttl_column, compaction_filter)`, which are none from then on.
fn reset(parser: &mut Parser<'_>) -> Result<TableSettings, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let options = parser.parse_comma_separated(|parser| {
        let written = parser.parse_identifier()?;
        let name = names::ident(&written).to_lowercase().replace('_', " ");
        Ok(TableOption { name, value: Ident { value: "none".into(), ..written } })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(TableSettings { options, ..TableSettings::default() })
}

/// Names of options, by their words.
const OPTIONS: [(&str, &[&str]); 13] = [
    ("storage", &["STORAGE"]),
    ("key compression", &["KEY", "COMPRESSION"]),
    ("record compression", &["RECORD", "COMPRESSION"]),
    ("record dictionary", &["RECORD", "DICTIONARY"]),
    ("record", &["RECORD"]),
    ("updates", &["UPDATES"]),
    ("time", &["TIME"]),
    ("retention", &["RETENTION"]),
    ("ttl column", &["TTL_COLUMN"]),
    ("ttl", &["TTL"]),
    ("compaction filter", &["COMPACTION_FILTER"]),
    ("log", &["LOG"]),
    ("comment", &["COMMENT"]),
];

fn settings(parser: &mut Parser<'_>) -> Result<TableSettings, ParserError> {
    let mut settings = TableSettings::default();
    loop {
        if words(parser, &["SORT", "KEY"]) {
            settings.sort_key = parser.parse_parenthesized_column_list(IsOptional::Mandatory, false)?;
            continue;
        }
        if words(parser, &["WITH"]) && parser.peek_token().token == Token::LParen
            || parser.peek_token().token == Token::LParen && settings == TableSettings::default()
        {
            settings.options.extend(in_parentheses(parser)?);
            continue;
        }
        let Some((name, _)) = OPTIONS.iter().find(|(_, of)| words(parser, of)) else { return Ok(settings) };
        let _ = parser.consume_token(&Token::Eq);
        let value = option_value(parser)?;
        settings.options.push(TableOption { name: (*name).to_owned(), value });
        let _ = parser.consume_token(&Token::Comma);
    }
}

fn option_value(parser: &mut Parser<'_>) -> Result<Ident, ParserError> {
    match parser.next_token() {
        TokenWithSpan { token: Token::Word(word), span } => Ok(word.into_ident(span)),
        TokenWithSpan { token: Token::SingleQuotedString(text), span } => {
            Ok(Ident::with_quote_and_span('"', span, text))
        }
        other => parser.expected("a value", other),
    }
}

/// Options as `(record = 'power', time = ts)`.
fn in_parentheses(parser: &mut Parser<'_>) -> Result<Vec<TableOption>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let options = parser.parse_comma_separated(|parser| {
        let name = names::ident(&parser.parse_identifier()?).to_lowercase().replace('_', " ");
        parser.expect_token(&Token::Eq)?;
        Ok(TableOption { name, value: option_value(parser)? })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

/// Takes these words if they come next.
fn words(parser: &mut Parser<'_>, wanted: &[&str]) -> bool {
    let is_next = wanted.iter().enumerate().all(|(nth, wanted)| {
        matches!(&parser.peek_nth_token(nth).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    });
    if is_next {
        wanted.iter().for_each(|_| drop(parser.next_token()));
    }
    is_next
}

impl TableOption {
    /// The value in small letters, or as it stands between quotes.
    pub fn value(&self) -> String {
        names::ident(&self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart() {
        let parsed = parse("select 'ä;b' ;\n insert into t values (1);;\nselect 2").unwrap();
        let texts = parsed.iter().map(|statement| match statement {
            Statement::Sql(statement) => statement.to_string(),
            other => panic!("{other:?}"),
        });
        assert_eq!(
            texts.collect::<Vec<_>>(),
            ["SELECT 'ä;b' AS \"'ä;b'\"", "INSERT INTO t VALUES (1)", "SELECT 2 AS \"2\""]
        );
        assert!(parse(" ; ").unwrap().is_empty());
    }

    #[test]
    fn tables_have_options_of_ours() {
        let text = "create table t (a int primary key, b text) storage = column sort key (b, a) record compression = zstd as select 1, 'x'";
        let [Statement::CreateTable(create, settings)] = &parse(text).unwrap()[..] else {
            panic!("one table")
        };
        assert_eq!(create.columns.len(), 2);
        assert!(create.query.is_some());
        assert_eq!(settings.sort_key.len(), 2);
        let options: Vec<_> =
            settings.options.iter().map(|option| (option.name.as_str(), option.value())).collect();
        assert_eq!(options, [("storage", "column".into()), ("record compression", "zstd".into())]);

        let parsed = parse("alter table s.t set storage column").unwrap();
        assert!(matches!(&parsed[0], Statement::AlterTable(name, settings)
            if name.to_string() == "s.t" && settings.options[0].value() == "column"));
        assert!(matches!(parse("alter table t rename to u").unwrap()[0], Statement::Sql(_)));
    }

    #[test]
    fn mistakes_have_their_place() {
        let error = parse("select 1;\nselect (2 from t").unwrap_err();
        assert_eq!(error.place().map(|place| place.line), Some(2), "{error}");
        let error = parse("create table t (a int) storage = ").unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Syntax);
        assert!(parse("select 1 2").is_err());
    }
}
