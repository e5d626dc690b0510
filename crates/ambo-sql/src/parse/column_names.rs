//! What columns of results are called that have no AS: as their expressions are written, `a + 1`, `count(*)`.
//!
//! The planner has names of its own for them (`t.a + Int64(1)`), and calls a cast by what is cast. So each expression of a select list or
//! of RETURNING that is no column is given its text as its name, as if AS stood behind it: the short cuts, tables and views that are made
//! of queries, and queries in FROM all see that one name. Names of lists that nobody sees, those of queries that are values, are left to
//! the planner.
//!
//! The parser does not keep where an expression ends. So a list is read once more, from the token where it begins.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
    ops::{ControlFlow, Range},
};

use datafusion::sql::sqlparser::{
    ast::{
        self, Expr, FunctionArguments, Ident, Query, Select, SelectItem, SetExpr, Visitor, VisitorMut,
        helpers::attached_token::AttachedToken,
    },
    keywords::Keyword,
    parser::Parser,
    tokenizer::{Location, Token, TokenWithSpan},
};

use super::{depth::flatten, parameters::written};

use crate::walk::{Walk, WalkMut};

/// Names the columns of a statement, or of a query, that the parser read from these of its tokens.
pub(super) fn name_columns(tree: &mut impl WalkMut, parser: &Parser<'_>, tokens: Range<usize>) {
    let _ = tree.walk_mut(&mut Naming { parser, tokens, values: HashSet::new(), starts: OnceCell::new() });
}

struct Naming<'p> {
    parser: &'p Parser<'p>,
    tokens: Range<usize>,
    /// Where queries begin that are values.
    values: HashSet<Location>,
    /// Where tokens begin; made when it is asked for.
    starts: OnceCell<HashMap<Location, usize>>,
}

impl VisitorMut for Naming<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<()> {
        let returned = match statement {
            ast::Statement::Insert(insert) => &mut insert.returning,
            ast::Statement::Update(update) => &mut update.returning,
            ast::Statement::Delete(delete) => &mut delete.returning,
            _ => return ControlFlow::Continue(()),
        };
        if let Some(items) = returned
            && items.iter().any(needs_name)
        {
            name_items(items, self.returning().and_then(|at| self.read_again(at)));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        each_select(&mut query.body, &mut |select| {
            let begin = begin(select);
            // What is marked is not a list of columns yet.
            let is_marked = matches!(select.projection.first(), Some(SelectItem::UnnamedExpr(Expr::Identifier(name)))
                if name.value.starts_with('\u{1}'));
            if !is_marked && !self.values.contains(&begin) && select.projection.iter().any(needs_name) {
                let written = self.token_at(begin).and_then(|at| self.read_again(at));
                name_items(&mut select.projection, written);
            }
        });
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let query = match expr {
            Expr::Subquery(query)
            | Expr::Exists { subquery: query, .. }
            | Expr::InSubquery { subquery: query, .. } => query,
            Expr::Function(ast::Function { args: FunctionArguments::Subquery(query), .. }) => query,
            _ => return ControlFlow::Continue(()),
        };
        each_select(&mut query.body, &mut |select| {
            self.values.insert(begin(select));
        });
        ControlFlow::Continue(())
    }
}

impl Naming<'_> {
    /// The first token that begins there. Tokens of queries that begin with FROM stand in another order than in the text.
    fn token_at(&self, begin: Location) -> Option<usize> {
        let starts = self.starts.get_or_init(|| {
            let all = self.tokens.clone().rev();
            all.map(|at| (self.parser.token_at(at).span.start, at)).collect()
        });
        starts.get(&begin).copied()
    }

    /// The RETURNING at the end of the statement.
    fn returning(&self) -> Option<usize> {
        let mut depth = 0;
        self.tokens.clone().rev().find(|&at| {
            let token = &self.parser.token_at(at).token;
            depth += i32::from(*token == Token::RParen) - i32::from(*token == Token::LParen);
            depth == 0 && is(token, Keyword::RETURNING)
        })
    }

    /// The list behind a SELECT or RETURNING, with the text of each item.
    fn read_again(&self, at: usize) -> Option<Vec<(SelectItem, String)>> {
        let tokens = self.list(at + 1);
        let mut parser = super::parser(tokens.clone());
        parser.parse_all_or_distinct().ok()?;
        let mut items = Vec::new();
        loop {
            let begin = parser.index();
            let mut item = parser.parse_select_item().ok()?;
            flatten(&mut item).ok()?;
            items.push((item, text(&tokens[begin..parser.index().min(tokens.len())])));
            if !parser.consume_token(&Token::Comma) {
                return Some(items);
            }
        }
    }

    /// The tokens up to the FROM of a list, or to the end of its query.
    fn list(&self, begin: usize) -> Vec<TokenWithSpan> {
        let (mut list, mut depth, mut is_behind_distinct) = (Vec::new(), 0, false);
        for at in begin..self.tokens.end {
            let token = self.parser.token_at(at);
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                // As in `a IS DISTINCT FROM b`.
                of if depth == 0 && is(of, Keyword::FROM) && !is_behind_distinct => break,
                _ => {}
            }
            if !matches!(token.token, Token::Whitespace(_)) {
                is_behind_distinct = is(&token.token, Keyword::DISTINCT);
            }
            list.push(token.clone());
        }
        list
    }
}

fn is(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword)
}

fn begin(select: &Select) -> Location {
    let AttachedToken(token) = &select.select_token;
    token.span.start
}

/// Does something with all SELECTs of a query. Queries in parentheses are visited by themselves.
pub(crate) fn each_select(body: &mut SetExpr, act: &mut impl FnMut(&mut Select)) {
    match body {
        SetExpr::Select(select) => act(select),
        SetExpr::SetOperation { left, right, .. } => {
            each_select(left, act);
            each_select(right, act);
        }
        _ => {}
    }
}

fn needs_name(item: &SelectItem) -> bool {
    matches!(item, SelectItem::UnnamedExpr(expr) if !is_column(expr) && !has_columns(expr))
}

/// Whether COLUMNS stands in it: then the columns give the names.
fn has_columns(expr: &Expr) -> bool {
    struct Finding;
    impl Visitor for Finding {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if function.name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| {
                        name.quote_style.is_none() && name.value.eq_ignore_ascii_case("columns")
                    }) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.walk(&mut Finding).is_break()
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(inner) => is_column(inner),
        _ => false,
    }
}

/// Names items by their texts; an item that was not found in the text is printed.
fn name_items(items: &mut [SelectItem], written: Option<Vec<(SelectItem, String)>>) {
    let written = written.unwrap_or_default();
    for (nth, item) in items.iter_mut().enumerate() {
        if !needs_name(item) {
            continue;
        }
        let text = match written.get(nth) {
            Some((same, text)) if same == item => text.clone(),
            _ => item.to_string(),
        };
        if let SelectItem::UnnamedExpr(expr) = item {
            let alias = Ident::with_quote('"', text);
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

/// Tokens as they were written, in one line and without comments.
fn text(tokens: &[TokenWithSpan]) -> String {
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            // A sign of ours, which is not written.
            Token::Plus if tokens.get(at + 1).is_some_and(|next| next.span == token.span) => {}
            Token::Whitespace(_) if text.is_empty() || text.ends_with(' ') => {}
            Token::Whitespace(_) => text.push(' '),
            Token::SingleQuotedString(of) => text.push_str(&format!("'{}'", of.replace('\'', "''"))),
            Token::Placeholder(name) if let Some(name) = written(name) => text.push_str(&name),
            // Functions of ours.
            Token::Word(word) if word.value.starts_with('\u{1}') => text.push_str(&word.value[1..]),
            other => text.push_str(&other.to_string()),
        }
    }
    text.truncate(text.trim_end().len());
    text
}
