//! Which functions there are, and of what kind: for the catalog, and for the page of the book.

use std::collections::BTreeMap;

use datafusion::execution::{FunctionRegistry, SessionState};

use crate::{
    catalog,
    planner::{file_function_names, function_names},
};

/// What other functions and operators are made of, and what only the planner's own tools need.
const INTERNAL: [&str; 43] = [
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
    "histogram_of_bins",
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
const OF_STATEMENTS: [&str; 8] = [
    "current_query",
    "current_setting",
    "interpolate",
    "locf",
    "pg_postmaster_start_time",
    "pg_sleep",
    "statement_timestamp",
    "time_bucket_gapfill",
];

/// All names by which a function can be called, each with its kind as DuckDB says it. A function that is of several kinds, as `max` and
/// `first_value`, is an aggregate.
pub(crate) fn known(state: &SessionState) -> BTreeMap<String, &'static str> {
    let mut all: BTreeMap<String, &'static str> = BTreeMap::new();
    all.extend(OF_STATEMENTS.map(|name| (name.to_owned(), "scalar")));
    all.extend(state.scalar_functions().keys().map(|name| (name.clone(), "scalar")));
    all.extend(FunctionRegistry::higher_order_function_names(state).into_iter().map(|name| (name, "scalar")));
    all.extend(state.window_functions().keys().map(|name| (name.clone(), "window")));
    all.extend(state.table_functions().keys().map(|name| (name.clone(), "table")));
    all.extend(catalog::familiar::names().map(|name| (name.to_owned(), "table")));
    all.extend(file_function_names().map(|name| (name.to_owned(), "table")));
    all.extend(function_names().map(|(name, kind)| (name.to_owned(), kind)));
    all.extend(state.aggregate_functions().keys().map(|name| (name.clone(), "aggregate")));
    // Operators are functions, too.
    let is_internal = |name: &str| INTERNAL.contains(&name) || name.ends_with("_in_order");
    let of_elements = |name: &str| name.strip_prefix("list_").is_some_and(is_internal);
    all.retain(|name, _| is_name(name) && !is_internal(name) && !of_elements(name));
    all
}

pub(super) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.chars().all(is_part)
}
