//! The dialect: the parser's most generous, but operators bind as in PostgreSQL and DuckDB, `^` and `**` are powers, and IS DISTINCT FROM
//! binds as IS NULL does.

use std::any::TypeId;

use datafusion::sql::sqlparser::{
    ast::{
        BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
        FunctionArguments, Ident, ObjectName, UnaryOperator,
    },
    dialect::{Dialect, GenericDialect, Precedence},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use super::lambdas;

/// See the module.
#[derive(Debug)]
pub(crate) struct Generous;

/// How tight powers bind: more than `*` and less than `::`. A sign before them belongs to the first number: `-2 ^ 2` is 4.
const POWER: u8 = 45;

/// How tight paths into JSON bind: more than `||`, `+` and comparisons, as in SQLite.
const PATH: u8 = 44;

/// What the parser allows those who say that they do.
macro_rules! allowed {
    ($($what:ident)*) => {$(
        fn $what(&self) -> bool {
            true
        }
    )*};
}

impl Dialect for Generous {
    /// What the parser does for one of its own dialects only, it does for this one as for the generic one.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        GenericDialect.is_identifier_part(ch)
    }

    /// PostgreSQL's: operators that have no place of their own bind less than `+` and more than comparisons, all alike.
    fn prec_value(&self, prec: Precedence) -> u8 {
        match prec {
            Precedence::Period => 100,
            Precedence::DoubleColon => 50,
            Precedence::AtTz => 41,
            Precedence::MulDivModOp => 40,
            Precedence::PlusMinus => 30,
            Precedence::PgOther
            | Precedence::Ampersand
            | Precedence::Caret
            | Precedence::Pipe
            | Precedence::Colon => 26,
            Precedence::Between | Precedence::Like => 24,
            Precedence::Eq => 20,
            Precedence::Is => 17,
            Precedence::UnaryNot => 15,
            Precedence::And => 10,
            Precedence::Xor => 7,
            Precedence::Or => 5,
        }
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        if power_tokens(parser) > 0 {
            return Some(Ok(POWER));
        }
        if glob_tokens(parser).is_some() {
            return Some(Ok(self.prec_value(Precedence::Like)));
        }
        match parser.peek_token_ref().token {
            Token::Arrow | Token::LongArrow | Token::HashArrow | Token::HashLongArrow => Some(Ok(PATH)),
            Token::StringConcat => Some(Ok(self.prec_value(Precedence::PgOther))),
            _ => None,
        }
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let (op, precedence) = match parser.peek_token_ref().token {
            Token::Minus => (UnaryOperator::Minus, POWER),
            Token::Plus => (UnaryOperator::Plus, POWER),
            Token::Tilde => (UnaryOperator::BitwiseNot, self.prec_value(Precedence::PgOther)),
            _ => return lambdas::prefix(parser),
        };
        parser.advance_token();
        let expr = parser.parse_subexpr(precedence);
        Some(expr.map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
    }

    /// Of `INSERT INTO t SELECT 1 ON CONFLICT …` ON is not the name of the column.
    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        let is_conflict = *word == Keyword::ON && parser.peek_keyword(Keyword::CONFLICT);
        // Words that are reserved for others, and not in PostgreSQL.
        let is_free = matches!(
            word,
            Keyword::CLUSTER | Keyword::DISTRIBUTE | Keyword::SORT | Keyword::TOP | Keyword::VIEW
        ) && !parser.peek_keyword(Keyword::BY);
        is_free || !is_conflict && GenericDialect.is_column_alias(word, parser)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let tokens = power_tokens(parser);
        if tokens == 0 {
            return distinct(parser, expr, precedence)
                .or_else(|| in_list(parser, expr, precedence))
                .or_else(|| glob(parser, expr, precedence));
        }
        (0..tokens).for_each(|_| parser.advance_token());
        let power = |exponent| {
            let (left, right) = (Box::new(expr.clone()), Box::new(exponent));
            Expr::BinaryOp { left, op: BinaryOperator::PGExp, right }
        };
        Some(parser.parse_subexpr(precedence).map(power))
    }

    allowed! {
        allow_extract_custom
        allow_extract_single_quotes
        support_map_literal_syntax
        supports_array_join_syntax
        supports_array_typedef_with_brackets
        supports_asc_desc_in_column_definition
        supports_bitwise_shift_operators
        supports_comma_separated_set_assignments
        supports_create_table_like_parenthesized
        supports_column_definition_trailing_commas
        supports_comma_separated_trim
        supports_comment_on
        supports_comment_optimizer_hint
        supports_connect_by
        supports_constraint_keyword_without_name
        supports_create_index_with_clause
        supports_create_view_comment_syntax
        supports_cte_without_as
        supports_data_type_signed_suffix
        supports_detach
        supports_dictionary_syntax
        supports_empty_projections
        supports_explain_with_utility_options
        supports_extract_comma_syntax
        supports_factorial_operator
        supports_filter_during_aggregation
        supports_from_first_select
        supports_group_by_expr
        supports_group_by_with_modifier
        supports_insert_table_alias
        supports_install
        supports_in_empty_list
        supports_interpolate
        supports_interval_options
        supports_key_column_option
        supports_left_associative_joins_without_parens
        supports_limit_by
        supports_limit_comma
        supports_load_extension
        supports_match_against
        supports_match_recognize
        supports_multiline_comment_hints
        supports_named_fn_args_with_assignment_operator
        supports_nested_comments
        supports_numeric_literal_underscores
        supports_optimize_table
        supports_parens_around_table_factor
        supports_parenthesized_set_variables
        supports_partition_by_after_order_by
        supports_pipe_operator
        supports_prewhere
        supports_projection_trailing_commas
        supports_quote_delimited_string
        supports_select_format
        supports_select_item_multi_column_alias
        supports_select_wildcard_except
        supports_select_wildcard_exclude
        supports_select_wildcard_ilike
        supports_select_wildcard_rename
        supports_select_wildcard_replace
        supports_set_names
        supports_settings
        supports_start_transaction_modifier
        supports_string_escape_constant
        supports_struct_literal
        supports_try_convert
        supports_unicode_string_literal
        supports_update_order_by
        supports_user_host_grantee
        supports_values_as_table_factor
        supports_window_clause_named_window_reference
        supports_window_function_null_treatment_arg
        supports_with_fill
        supports_xml_expressions
    }
}

/// `a IS DISTINCT FROM b`, `a IS NOT DISTINCT FROM b`. The parser takes all that follows for b: `a IS DISTINCT FROM (b AND c)`.
fn distinct(parser: &mut Parser<'_>, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
    let is_not = parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]);
    if !is_not && !parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
        return None;
    }
    let left = Box::new(expr.clone());
    Some(parser.parse_subexpr(precedence).map(|right| match is_not {
        true => Expr::IsNotDistinctFrom(left, Box::new(right)),
        false => Expr::IsDistinctFrom(left, Box::new(right)),
    }))
}

fn is_word(parser: &Parser<'_>, nth: usize, wanted: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(nth).token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// `a IN list`, without parentheses, is `a = ANY (list)`.
fn in_list(parser: &mut Parser<'_>, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
    let nth = usize::from(parser.peek_keyword(Keyword::NOT));
    let is_list = |token: &Token| match token {
        Token::Word(word) => word.keyword != Keyword::UNNEST,
        Token::LBracket => true,
        _ => false,
    };
    if !is_word(parser, nth, "in") || !is_list(&parser.peek_nth_token_ref(nth + 1).token) {
        return None;
    }
    (0..=nth).for_each(|_| parser.advance_token());
    let left = Box::new(expr.clone());
    Some(parser.parse_subexpr(precedence).map(|list| {
        let any = Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right: Box::new(list), is_some: false };
        match nth {
            0 => any,
            _ => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(any))) },
        }
    }))
}

/// How many tokens stand before GLOB, if it comes next and a pattern follows: it may be a name, too.
fn glob_tokens(parser: &Parser<'_>) -> Option<usize> {
    let nth = usize::from(parser.peek_keyword(Keyword::NOT));
    let is_pattern = match &parser.peek_nth_token_ref(nth + 1).token {
        Token::SingleQuotedString(_) | Token::Placeholder(_) | Token::LParen => true,
        Token::Word(word) => word.keyword == Keyword::NoKeyword,
        _ => false,
    };
    (is_pattern && is_word(parser, nth, "glob")).then_some(nth)
}

/// `a GLOB 'x*'`: the regular expression of the pattern has to fit all of the text.
fn glob(parser: &mut Parser<'_>, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
    let nth = glob_tokens(parser)?;
    (0..=nth).for_each(|_| parser.advance_token());
    let op = if nth == 0 { BinaryOperator::PGRegexMatch } else { BinaryOperator::PGRegexNotMatch };
    let left = Box::new(expr.clone());
    Some(parser.parse_subexpr(precedence).map(|pattern| {
        let right = Box::new(call(GLOB, pattern));
        Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }))
    }))
}

/// The function that makes a regular expression of a pattern of GLOB.
pub(crate) const GLOB: &str = "glob_to_regexp";

fn call(name: &str, argument: Expr) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// How many of the next tokens are the sign of a power.
fn power_tokens(parser: &Parser<'_>) -> usize {
    let [first, second] = [0, 1].map(|nth| parser.peek_nth_token_ref(nth));
    match (&first.token, &second.token) {
        (Token::Caret, _) => 1,
        (Token::Mul, Token::Mul) if first.span.end == second.span.start => 2,
        _ => 0,
    }
}
