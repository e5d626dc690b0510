//! The page of the book that says which functions there are.

use std::collections::BTreeSet;

use datafusion::execution::{FunctionRegistry, SessionState};

use crate::{
    SqlOptions, catalog,
    engine::SqlEngine,
    planner::{file_function_names, function_names},
};

/// What other functions and operators are made of, and what only the planner's own tools need.
const INTERNAL: [&str; 42] = [
    "arg_max_n",
    "arg_min_n",
    "arrow_cast",
    "arrow_field",
    "arrow_metadata",
    "arrow_try_cast",
    "arrow_typeof",
    "bytes_of",
    "cast_to_json",
    "cast_to_type",
    "enum_text",
    "file_row_index",
    "flatten_lists",
    "input_file_name",
    "json_array_of",
    "json_element",
    "json_extract_list",
    "json_extract_string_list",
    "json_object_of",
    "json_pair",
    "json_parts",
    "list_comprehension",
    "max_n",
    "min_n",
    "name_in_moment",
    "not_negative",
    "quantile_cont_desc",
    "quantile_disc_desc",
    "regexp_extract_all_with_names",
    "regexp_extract_with_names",
    "round_moment",
    "strftime_format",
    "strptime_with_zone",
    "try_cast_to_json",
    "try_cast_to_type",
    "try_json_parts",
    "try_not_negative",
    "try_strptime_with_zone",
    "try_value",
    "uuid_milliseconds",
    "with_collation",
    "with_metadata",
];

/// What is another function in each statement.
const OF_STATEMENTS: [&str; 5] =
    ["current_setting", "interpolate", "locf", "statement_timestamp", "time_bucket_gapfill"];

/// All names by which a function can be called.
fn there(state: &SessionState) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = function_names().map(str::to_owned).collect();
    all.extend(state.scalar_functions().keys().cloned());
    all.extend(state.aggregate_functions().keys().cloned());
    all.extend(state.window_functions().keys().cloned());
    all.extend(FunctionRegistry::higher_order_function_names(state));
    all.extend(state.table_functions().keys().cloned());
    all.extend(OF_STATEMENTS.map(str::to_owned));
    all.extend(catalog::familiar::names().map(str::to_owned));
    all.extend(file_function_names().map(str::to_owned));
    // Operators are functions, too.
    all.retain(|name| is_name(name) && !INTERNAL.contains(&name.as_str()));
    // Of each aggregate there is one of lists.
    let of_lists = |name: &str| {
        name.strip_prefix("list_").is_some_and(|of| state.aggregate_functions().contains_key(of))
    };
    all.retain(|name| !of_lists(name));
    all
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.chars().all(is_part)
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
