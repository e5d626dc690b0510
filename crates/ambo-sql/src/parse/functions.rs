//! CREATE and DROP of functions that SQL writes out where they are called.
//!
//! ```text
//! CREATE [OR REPLACE] {FUNCTION | MACRO} [IF NOT EXISTS] name (a, b := 5) AS {expression | TABLE query}
//! DROP {FUNCTION | MACRO} [TABLE] [IF EXISTS] name [, …] [CASCADE | RESTRICT]
//! ```

use std::fmt;

use datafusion::sql::sqlparser::{
    ast::{Expr, Ident, ObjectName, Query},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use super::{depth, finish, parser, tokens, words};
use crate::{Error, Result};

/// A function, with what it is called.
#[derive(Clone, Debug)]
pub(crate) struct CreateFunction {
    pub name: ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub temporary: bool,
    pub function: Function,
}

/// What a function takes and gives.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub parameters: Vec<Parameter>,
    pub body: Body,
}

/// What a function takes.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub name: Ident,
    pub default: Option<Expr>,
}

/// What a function gives.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Value(Box<Expr>),
    Rows(Box<Query>),
}

/// Functions that go.
#[derive(Clone, Debug)]
pub(crate) struct DropFunctions {
    pub names: Vec<ObjectName>,
    pub if_exists: bool,
}

impl fmt::Display for Function {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(")?;
        for (nth, Parameter { name, default }) in self.parameters.iter().enumerate() {
            let comma = if nth > 0 { ", " } else { "" };
            write!(out, "{comma}{name}")?;
            default.iter().try_for_each(|default| write!(out, " := {default}"))?;
        }
        match &self.body {
            Body::Value(expr) => write!(out, ") AS {expr}"),
            Body::Rows(query) => write!(out, ") AS TABLE {query}"),
        }
    }
}

/// The function that a text is, as it is kept.
///
/// # Errors
/// [`crate::ErrorKind::Syntax`] with the place.
pub(crate) fn parse_function(text: &str) -> Result<Function> {
    let tokens = tokens(text)?;
    depth::with_stack(depth::bound(&tokens), || {
        let mut parser = parser(tokens);
        let mut read = function(&mut parser)?;
        parser.expect_token(&Token::EOF)?;
        let tokens = 0..parser.index();
        match &mut read.body {
            Body::Value(expr) => depth::flatten(expr.as_mut())?,
            Body::Rows(query) => drop(finish(query.as_mut(), &parser, tokens)?),
        }
        Ok(read)
    })
}

pub(super) fn create_function(parser: &mut Parser<'_>) -> Result<CreateFunction, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    if !words(parser, &["MACRO"]) {
        parser.expect_keyword(Keyword::FUNCTION)?;
    }
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    Ok(CreateFunction { name, or_replace, if_not_exists, temporary, function: function(parser)? })
}

fn function(parser: &mut Parser<'_>) -> Result<Function, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let mut parameters = Vec::new();
    while !parser.consume_token(&Token::RParen) {
        if !parameters.is_empty() {
            parser.expect_token(&Token::Comma)?;
        }
        let name = parser.parse_identifier()?;
        let has_default = parser.consume_token(&Token::Assignment) || parser.consume_token(&Token::RArrow);
        let default = has_default.then(|| parser.parse_expr()).transpose()?;
        parameters.push(Parameter { name, default });
    }
    parser.expect_keyword(Keyword::AS)?;
    let body = match parser.parse_keyword(Keyword::TABLE) {
        true => Body::Rows(parser.parse_query()?),
        false => Body::Value(Box::new(parser.parse_expr()?)),
    };
    Ok(Function { parameters, body })
}

pub(super) fn drop_functions(parser: &mut Parser<'_>) -> Result<DropFunctions, ParserError> {
    parser.expect_keyword(Keyword::DROP)?;
    if !words(parser, &["MACRO"]) {
        parser.expect_keyword(Keyword::FUNCTION)?;
    }
    let _ = parser.parse_keyword(Keyword::TABLE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
    let _ = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
    Ok(DropFunctions { names, if_exists })
}

impl Function {
    /// # Errors
    /// Two parameters have one name, or one without a default comes behind one that has one.
    pub fn check(&self) -> Result<()> {
        for (nth, parameter) in self.parameters.iter().enumerate() {
            let before = &self.parameters[..nth];
            let name = crate::names::ident(&parameter.name);
            if before.iter().any(|other| crate::names::ident(&other.name) == name) {
                return Err(Error::invalid(format!("two parameters are called \"{name}\"")));
            }
            if parameter.default.is_none() && before.iter().any(|other| other.default.is_some()) {
                return Err(Error::invalid(format!(
                    "parameter \"{name}\" has no default value, and one before it has"
                )));
            }
        }
        Ok(())
    }
}
