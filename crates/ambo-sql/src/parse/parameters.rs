//! The numbers of parameters: `?` are counted in the order of the text.
//!
//! The tree of a statement has its parts in another order (OFFSET stands before LIMIT in a text, FROM may stand before SELECT), so they are
//! counted before there is one. Until its columns have names, a counted `?` is kept apart from `$1`: a column is called as it was written.
//! So are `$name`, whose numbers are those of the order in which the names come first: `?2:name` is the second.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::{
    ast::{DataType, Ident, ObjectName, Value, ValueWithSpan, VisitorMut},
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use crate::{Error, Result, walk::WalkMut};

/// Says `$name` for `:name` where a value may stand: behind an operator, a comma, an opening bracket, or one of the words that values
/// follow. Elsewhere a colon has other meanings: `a[1:n]`, `{'a':b}`, `name:value`.
pub(super) fn say_colons(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut said: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for TokenWithSpan { mut token, span } in tokens {
        if let Token::Word(word) = &token
            && word.quote_style.is_none()
            && matches!(said.last(), Some(TokenWithSpan { token: Token::Colon, .. }))
            && said
                .iter()
                .rev()
                .skip(1)
                .find(|said| !matches!(said.token, Token::Whitespace(_)))
                .is_some_and(comes_before_value)
        {
            token = Token::Placeholder(format!("${}", word.value));
            said.pop();
        }
        said.push(TokenWithSpan { token, span });
    }
    said
}

/// Words that a value follows, and that are no names themselves.
const BEFORE_VALUES: [Keyword; 20] = [
    Keyword::SELECT,
    Keyword::DISTINCT,
    Keyword::WHERE,
    Keyword::HAVING,
    Keyword::QUALIFY,
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::ON,
    Keyword::IN,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::BETWEEN,
    Keyword::CASE,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::RETURNING,
];

fn comes_before_value(before: &TokenWithSpan) -> bool {
    match &before.token {
        Token::Word(word) => word.quote_style.is_none() && BEFORE_VALUES.contains(&word.keyword),
        Token::Comma
        | Token::LParen
        | Token::Eq
        | Token::DoubleEq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Spaceship
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::DuckIntDiv
        | Token::Mod
        | Token::StringConcat
        | Token::Ampersand
        | Token::Pipe
        | Token::Caret
        | Token::Tilde
        | Token::ShiftLeft
        | Token::ShiftRight
        | Token::Arrow
        | Token::LongArrow => true,
        _ => false,
    }
}

/// Gives each `?` and each `$name` of a statement its number, and makes `$3` of `?3`.
///
/// # Errors
/// `?`, `$1` and `$name` in one statement, at the first that does not fit.
pub(super) fn number(tokens: &mut [TokenWithSpan]) -> Result<()> {
    let (mut marks, mut numbered, mut names) = (0, false, Vec::new());
    for TokenWithSpan { token, span } in tokens {
        let name = match token {
            Token::SemiColon => {
                (marks, numbered) = (0, false);
                names.clear();
                continue;
            }
            Token::Placeholder(name) => name,
            _ => continue,
        };
        if name == "?" {
            marks += 1;
            *name = format!("?{marks}");
        } else if let Some(number) = name.strip_prefix('?') {
            numbered = true;
            *name = format!("${number}");
        } else if let Some(named) = name.strip_prefix('$')
            && named.starts_with(|letter: char| !letter.is_ascii_digit())
        {
            let named = named.to_lowercase();
            let number = names.iter().position(|known| *known == named).unwrap_or_else(|| {
                names.push(named.clone());
                names.len() - 1
            });
            *name = format!("?{}:{named}", number + 1);
        } else if name.starts_with('$') {
            numbered = true;
        }
        if usize::from(marks > 0) + usize::from(numbered) + usize::from(!names.is_empty()) > 1 {
            let error =
                Error::invalid("a statement has its parameters as ?, as $1, $2 … or as $name, not both ways");
            return Err(error.at_start(span.start.line, span.start.column));
        }
    }
    Ok(())
}

/// What a counted parameter was written as.
pub(super) fn written(name: &str) -> Option<String> {
    let counted = name.strip_prefix('?')?;
    Some(counted.split_once(':').map_or("?".to_owned(), |(_, name)| format!("${name}")))
}

/// Says `$1` for the first `?`, and so on. Returns the names of those that have names.
pub(super) fn say_numbers(tree: &mut impl WalkMut) -> Vec<String> {
    struct Numbers(Vec<String>);
    impl VisitorMut for Numbers {
        type Break = ();
        fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
            if let Value::Placeholder(name) = &mut value.value
                && let Some(counted) = name.strip_prefix('?')
            {
                let (number, named) =
                    counted.split_once(':').map_or((counted, None), |(n, name)| (n, Some(name)));
                if let (Some(named), Ok(place)) = (named, number.parse::<usize>()) {
                    if self.0.len() < place {
                        self.0.resize(place, String::new());
                    }
                    named.clone_into(&mut self.0[place - 1]);
                }
                *name = format!("${number}");
            }
            ControlFlow::Continue(())
        }
    }
    let mut numbers = Numbers(Vec::new());
    let _ = tree.walk_mut(&mut numbers);
    numbers.0
}

/// What names of parameters stand in among the types of a PREPARE.
const NAMES: &str = "\u{1}names";

/// Keeps the names of parameters with the types of a PREPARE.
pub(super) fn keep_names(data_types: &mut Vec<DataType>, names: Vec<String>) {
    if !names.is_empty() {
        data_types.push(DataType::Custom(ObjectName::from(vec![Ident::with_quote('"', NAMES)]), names));
    }
}

/// The types of a PREPARE, and the names of its parameters.
pub(crate) fn split_names(mut data_types: Vec<DataType>) -> (Vec<DataType>, Vec<String>) {
    let is_names = |of: &ObjectName| matches!(of.0.first().and_then(|part| part.as_ident()), Some(name) if name.value == NAMES);
    match data_types.pop() {
        Some(DataType::Custom(of, names)) if is_names(&of) => (data_types, names),
        last => {
            data_types.extend(last);
            (data_types, Vec::new())
        }
    }
}
