//! The page of the book that says which functions there are.

use std::collections::BTreeSet;

use datafusion::execution::SessionState;

use super::known::{is_name, known};
use crate::{SqlOptions, engine::SqlEngine};

/// All names by which a function can be called.
fn there(state: &SessionState) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = known(state).into_keys().collect();
    // Of each aggregate there is one of lists.
    let of_lists = |name: &str| {
        name.strip_prefix("list_").is_some_and(|of| state.aggregate_functions().contains_key(of))
    };
    all.retain(|name| !of_lists(name));
    all
}

/// The names on the page: those that stand before a parenthesis, in `…`.
fn told(page: &str) -> BTreeSet<String> {
    let code = page.split('`').skip(1).step_by(2);
    let names = code.filter_map(|code| code.split_once('(')).map(|(name, _)| name.to_owned());
    names.filter(|name| is_name(name)).collect()
}

// Keeps away: functions that nobody hears of, and a page that promises what is not there.
#[test]
fn the_page_has_all_functions_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let engine = SqlEngine::new(ambo::Options::new().open(dir.path()).unwrap(), SqlOptions::new());
    let state = engine.state().unwrap();
    let (there, told) = (there(&state), told(include_str!("../../../../docs/book/src/sql/functions.md")));
    let of_lists = |name: &&String| {
        name.strip_prefix("list_").is_some_and(|of| state.aggregate_functions().contains_key(of))
    };
    let missing: Vec<_> = there.difference(&told).collect();
    let wrong: Vec<_> = told.difference(&there).filter(|name| !of_lists(name)).collect();
    assert!(missing.is_empty() && wrong.is_empty(), "not on the page: {missing:?}\nnot there: {wrong:?}");
}
