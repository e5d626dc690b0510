//! GRANT, REVOKE, and statements about roles.
//!
//! ```text
//! GRANT {ALL [PRIVILEGES] | right, …} ON {[TABLE] name, … | ALL TABLES IN SCHEMA name, … | SCHEMA name, …} TO role, …
//! GRANT {ALL [PRIVILEGES] | right, …} ON {SEQUENCE name, … | ALL SEQUENCES IN SCHEMA name, …} TO role, …
//! GRANT role, … TO role, …
//! REVOKE … FROM role, …
//! CREATE {ROLE | USER} [IF NOT EXISTS] name [WITH] [option …]
//! ALTER {ROLE | USER} name {[WITH] option … | RENAME TO name}
//! DROP {ROLE | USER} [IF EXISTS] name, …
//! ```

use datafusion::sql::sqlparser::{
    ast::{Ident, ObjectName},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use super::{Statement, words};

/// GRANT and REVOKE.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub is_revoke: bool,
    pub what: Granted,
    pub roles: Vec<Ident>,
}

/// What is given or taken.
#[derive(Clone, Debug)]
pub(crate) enum Granted {
    Roles(Vec<Ident>),
    /// Rights by their names, to something; no name: all.
    Rights {
        rights: Vec<Ident>,
        to: GrantedTo,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum GrantedTo {
    /// Tables and views.
    Tables(Vec<ObjectName>),
    AllTables(Vec<ObjectName>),
    Schemas(Vec<ObjectName>),
    Sequences(Vec<ObjectName>),
    AllSequences(Vec<ObjectName>),
    /// What everybody may use, in PostgreSQL's word for it.
    Everybodys(&'static str),
}

/// CREATE, ALTER and DROP of roles.
#[derive(Clone, Debug)]
pub(crate) enum RoleStatement {
    Create { name: Ident, if_not_exists: bool, options: RoleOptions },
    Alter { name: Ident, options: RoleOptions },
    Rename { name: Ident, to: Ident },
    Drop { names: Vec<Ident>, if_exists: bool },
}

/// What is said of a role; what is not said stays.
#[derive(Clone, Default)]
pub(crate) struct RoleOptions {
    pub superuser: Option<bool>,
    pub login: Option<bool>,
    /// `PASSWORD NULL` takes it away.
    pub password: Option<Option<String>>,
    pub in_roles: Vec<Ident>,
}

impl RoleOptions {
    /// Whether it is a password and nothing else.
    pub fn is_password(&self) -> bool {
        self.password.is_some()
            && self.superuser.is_none()
            && self.login.is_none()
            && self.in_roles.is_empty()
    }
}

impl std::fmt::Debug for RoleOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Passwords are shown nowhere.
        f.debug_struct("RoleOptions").field("superuser", &self.superuser).finish_non_exhaustive()
    }
}

/// One of these statements, if one comes next.
pub(super) fn statement(parser: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    if words(parser, &["GRANT"]) {
        return grant(parser, false).map(|grant| Some(Statement::Grant(Box::new(grant))));
    }
    if words(parser, &["REVOKE"]) {
        return grant(parser, true).map(|grant| Some(Statement::Grant(Box::new(grant))));
    }
    for (word, is_user) in [("ROLE", false), ("USER", true)] {
        if words(parser, &["CREATE", word]) {
            let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
            let name = parser.parse_identifier()?;
            let mut options = options(parser)?;
            options.login = options.login.or(is_user.then_some(true));
            return Ok(Some(Statement::Role(RoleStatement::Create { name, if_not_exists, options })));
        }
        if words(parser, &["ALTER", word]) {
            let name = parser.parse_identifier()?;
            if words(parser, &["RENAME", "TO"]) {
                let to = parser.parse_identifier()?;
                return Ok(Some(Statement::Role(RoleStatement::Rename { name, to })));
            }
            let options = options(parser)?;
            return Ok(Some(Statement::Role(RoleStatement::Alter { name, options })));
        }
        if words(parser, &["DROP", word]) {
            let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
            let names = parser.parse_comma_separated(Parser::parse_identifier)?;
            return Ok(Some(Statement::Role(RoleStatement::Drop { names, if_exists })));
        }
    }
    Ok(None)
}

fn grant(parser: &mut Parser<'_>, is_revoke: bool) -> Result<Grant, ParserError> {
    if is_revoke && words(parser, &["GRANT", "OPTION", "FOR"]) {
        return refused("nobody has a right to give a right but the owner");
    }
    let is_all = words(parser, &["ALL"]);
    let rights = match is_all {
        true => {
            let _ = words(parser, &["PRIVILEGES"]);
            Vec::new()
        }
        false => parser.parse_comma_separated(|parser| {
            let right = parser.parse_identifier()?;
            match parser.peek_token_ref().token {
                Token::LParen => refused("rights are to tables, not to columns: a view shows some columns"),
                _ => Ok(right),
            }
        })?,
    };
    let what = match (words(parser, &["ON"]), is_all) {
        (true, _) => Granted::Rights { rights, to: granted_to(parser)? },
        (false, false) => Granted::Roles(rights),
        (false, true) => return parser.expected("ON", parser.peek_token()),
    };
    let between = if is_revoke { "FROM" } else { "TO" };
    if !words(parser, &[between]) {
        return parser.expected(between, parser.peek_token());
    }
    let roles = parser.parse_comma_separated(|parser| {
        let _ = words(parser, &["GROUP"]);
        parser.parse_identifier()
    })?;
    if words(parser, &["WITH", "GRANT", "OPTION"]) || words(parser, &["WITH", "ADMIN", "OPTION"]) {
        return refused("rights are given by the owner and by superusers alone");
    }
    if is_revoke {
        let _ = words(parser, &["CASCADE"]) || words(parser, &["RESTRICT"]);
    }
    Ok(Grant { is_revoke, what, roles })
}

fn refused<T>(why: &str) -> Result<T, ParserError> {
    Err(ParserError::ParserError(format!("not supported: {why}")))
}

fn granted_to(parser: &mut Parser<'_>) -> Result<GrantedTo, ParserError> {
    let names =
        |parser: &mut Parser<'_>| parser.parse_comma_separated(|parser| parser.parse_object_name(false));
    if words(parser, &["ALL", "TABLES", "IN", "SCHEMA"]) {
        return names(parser).map(GrantedTo::AllTables);
    }
    if words(parser, &["SCHEMA"]) {
        return names(parser).map(GrantedTo::Schemas);
    }
    if words(parser, &["ALL", "SEQUENCES", "IN", "SCHEMA"]) {
        return names(parser).map(GrantedTo::AllSequences);
    }
    if words(parser, &["SEQUENCE"]) {
        return names(parser).map(GrantedTo::Sequences);
    }
    for what in ["FUNCTIONS", "ROUTINES"] {
        if words(parser, &["ALL", what, "IN", "SCHEMA"]) {
            names(parser)?;
            return Ok(GrantedTo::Everybodys(what));
        }
    }
    for what in ["DATABASE", "TYPE", "LANGUAGE"] {
        if words(parser, &[what]) {
            names(parser)?;
            return Ok(GrantedTo::Everybodys(what));
        }
    }
    let _ = words(parser, &["TABLE"]);
    names(parser).map(GrantedTo::Tables)
}

fn options(parser: &mut Parser<'_>) -> Result<RoleOptions, ParserError> {
    let mut options = RoleOptions::default();
    let _ = words(parser, &["WITH"]);
    loop {
        if words(parser, &["SUPERUSER"]) {
            options.superuser = Some(true);
        } else if words(parser, &["NOSUPERUSER"]) {
            options.superuser = Some(false);
        } else if words(parser, &["LOGIN"]) {
            options.login = Some(true);
        } else if words(parser, &["NOLOGIN"]) {
            options.login = Some(false);
        } else if words(parser, &["ENCRYPTED", "PASSWORD"]) || words(parser, &["PASSWORD"]) {
            options.password = Some(match parser.parse_keyword(Keyword::NULL) {
                true => None,
                false => Some(parser.parse_literal_string()?),
            });
        } else if words(parser, &["IN", "ROLE"]) || words(parser, &["IN", "GROUP"]) {
            options.in_roles.extend(parser.parse_comma_separated(Parser::parse_identifier)?);
        } else if !WITHOUT.iter().any(|word| words(parser, &[word])) {
            return Ok(options);
        }
    }
}

/// What every role is.
const WITHOUT: [&str; 6] =
    ["NOCREATEDB", "NOCREATEROLE", "NOREPLICATION", "NOBYPASSRLS", "INHERIT", "NOINHERIT"];
