//! Lambdas, `x -> x + 1`, `(x, i) -> x + i` and `lambda x, i: x + i`; and lists made of lists, `[x + 1 FOR x IN list IF x > 0]`.
//!
//! An arrow behind a name is a lambda where a function takes one; elsewhere it is a path into JSON.

use datafusion::sql::sqlparser::{
    ast::{
        Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
        LambdaFunction, LambdaFunctionParameter, LambdaSyntax, ObjectName, OneOrManyWithParens,
    },
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use crate::functions::{LIST_COMPREHENSION, WITH_LAMBDAS};

/// The lambda or the list that stands here, if one does.
pub(super) fn prefix(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    match &parser.peek_token_ref().token {
        Token::LBracket if is_comprehension(parser) => Some(comprehension(parser)),
        Token::Word(word) if word.keyword == Keyword::LAMBDA && has_colon(parser) => {
            parser.advance_token();
            Some(lambda(parser, &Token::Colon, LambdaSyntax::LambdaKeyword))
        }
        Token::Word(_) if parser.peek_nth_token_ref(1).token == Token::Arrow && takes_lambda(parser) => {
            Some(lambda(parser, &Token::Arrow, LambdaSyntax::Arrow))
        }
        Token::LParen if has_arrow(parser) && takes_lambda(parser) => {
            Some(lambda(parser, &Token::Arrow, LambdaSyntax::Arrow))
        }
        _ => None,
    }
}

/// Where a list of names from the n-th token on ends.
fn names_end(parser: &Parser<'_>, mut nth: usize) -> Option<usize> {
    let token = |nth| &parser.peek_nth_token_ref(nth).token;
    while matches!(token(nth), Token::Word(_)) {
        nth += 1;
        if *token(nth) != Token::Comma {
            return Some(nth);
        }
        nth += 1;
    }
    None
}

/// Where names in parentheses from the n-th token on end.
fn parenthesized_end(parser: &Parser<'_>, nth: usize) -> Option<usize> {
    let token = |nth| &parser.peek_nth_token_ref(nth).token;
    let end = names_end(parser, nth + 1).filter(|_| *token(nth) == Token::LParen)?;
    (*token(end) == Token::RParen).then_some(end + 1)
}

fn has_colon(parser: &Parser<'_>) -> bool {
    let end = names_end(parser, 1).or_else(|| parenthesized_end(parser, 1));
    end.is_some_and(|end| parser.peek_nth_token_ref(end).token == Token::Colon)
}

fn has_arrow(parser: &Parser<'_>) -> bool {
    parenthesized_end(parser, 0).is_some_and(|end| parser.peek_nth_token_ref(end).token == Token::Arrow)
}

/// Whether what comes next is an argument of a function that takes a lambda: the first one only behind a point, as in
/// `l.list_filter(x -> x > 1)`.
fn takes_lambda(parser: &Parser<'_>) -> bool {
    let before = (0..parser.index()).rev().map(|at| &parser.token_at(at).token);
    let mut before = before.filter(|token| !matches!(token, Token::Whitespace(_))).peekable();
    let is_first = before.peek() == Some(&&Token::LParen);
    if !is_first && before.peek() != Some(&&Token::Comma) {
        return false;
    }
    let mut depth = 0;
    for token in before.by_ref() {
        match token {
            Token::RParen | Token::RBracket | Token::RBrace => depth += 1,
            Token::LParen if depth == 0 => break,
            Token::LBracket | Token::LBrace | Token::SemiColon if depth == 0 => return false,
            Token::LParen | Token::LBracket | Token::LBrace => depth -= 1,
            _ => {}
        }
    }
    let takes_one = matches!(before.next(), Some(Token::Word(word))
        if WITH_LAMBDAS.iter().any(|name| word.value.eq_ignore_ascii_case(name)));
    takes_one && (!is_first || before.next() == Some(&Token::Period))
}

fn lambda(parser: &mut Parser<'_>, sign: &Token, syntax: LambdaSyntax) -> Result<Expr, ParserError> {
    let names = match parser.consume_token(&Token::LParen) {
        true => {
            let names = names(parser)?;
            parser.expect_token(&Token::RParen)?;
            names
        }
        false if syntax == LambdaSyntax::Arrow => vec![parser.parse_identifier()?],
        false => names(parser)?,
    };
    parser.expect_token(sign)?;
    Ok(of(names, parser.parse_expr()?, syntax))
}

fn names(parser: &mut Parser<'_>) -> Result<Vec<Ident>, ParserError> {
    parser.parse_comma_separated(Parser::parse_identifier)
}

fn of(names: Vec<Ident>, body: Expr, syntax: LambdaSyntax) -> Expr {
    let param = |name| LambdaFunctionParameter { name, data_type: None };
    let mut params: Vec<_> = names.into_iter().map(param).collect();
    let params = match params.len() {
        1 => OneOrManyWithParens::One(params.remove(0)),
        _ => OneOrManyWithParens::Many(params),
    };
    Expr::Lambda(LambdaFunction { params, body: Box::new(body), syntax })
}

/// Whether the list that begins here has a FOR behind its first expression.
fn is_comprehension(parser: &Parser<'_>) -> bool {
    let mut depth = 0;
    for nth in 1.. {
        match &parser.peek_nth_token_ref(nth).token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace if depth > 0 => depth -= 1,
            Token::RBracket | Token::RParen | Token::RBrace | Token::SemiColon | Token::EOF => return false,
            Token::Comma if depth == 0 => return false,
            Token::Word(word) if depth == 0 && nth > 1 && word.keyword == Keyword::FOR => return true,
            _ => {}
        }
    }
    false
}

/// `[value FOR names IN list IF condition]`.
fn comprehension(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LBracket)?;
    let value = parser.parse_expr()?;
    parser.expect_keyword(Keyword::FOR)?;
    let names = names(parser)?;
    parser.expect_keyword(Keyword::IN)?;
    let list = parser.parse_expr()?;
    let condition = match parser.parse_keyword(Keyword::IF) {
        true => Some(parser.parse_expr()?),
        false => None,
    };
    parser.expect_token(&Token::RBracket)?;
    let mut args = vec![list];
    if let Some(condition) = condition {
        args.push(of(names.clone(), condition, LambdaSyntax::LambdaKeyword));
    }
    args.push(of(names, value, LambdaSyntax::LambdaKeyword));
    let arg = |arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg));
    Ok(Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(LIST_COMPREHENSION)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(arg).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }))
}
