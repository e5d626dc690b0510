//! Functions of ours beside the planner's. Others that it lacks are expressions of those that it has (`planner/functions.rs`).

mod age;
mod arg_extreme;
mod attempt;
mod binned;
mod bins;
mod bit_aggregates;
mod bits;
mod chance;
mod constants;
mod counts;
mod current_setting;
mod date_diff;
mod distances;
mod distinct;
mod encodings;
mod enums;
mod failure;
mod finite;
mod flatten_lists;
mod geometries;
mod graphemes;
mod has;
mod hash;
mod hashes;
mod joined;
mod json;
mod known;
mod lambdas;
mod length;
mod list_aggregate;
mod list_mode;
mod list_reduce;
mod list_select;
mod list_zip;
mod lttb;
mod map_element;
mod map_parts;
mod median;
mod nested_greatest;
mod nested_order;
mod nested_text;
mod next_after;
mod not_negative;
mod one_nan;
mod one_zero;
mod overlaps;
#[cfg(test)]
mod page;
mod paths;
mod patterns;
mod plain;
mod printf;
mod quantified;
mod quantiles;
mod real_numbers;
mod regexes;
mod regexp_extract;
mod shape;
mod sign;
mod sizes;
mod sleep;
mod struct_parts;
mod text_or_list;
mod text_parts;
mod top_values;
mod type_name;
mod uuids;
mod weighted;
mod whole_numbers;

use std::sync::{Arc, LazyLock};

use datafusion::{
    execution::{FunctionRegistry, SessionState},
    logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF},
};

use crate::{
    Result,
    collations::Collate,
    numbers::{Abs, Average, Power, Root, Round, Sum, WholePart},
    optimizer::over_frames,
    planner::EnumText,
    times,
};
pub(crate) use arg_extreme::{arg_extreme, interval_extreme, nested_extreme};
pub(crate) use attempt::ATTEMPT;
pub(crate) use bits::BitOperators;
pub(crate) use chance::CHANCE;
pub(crate) use current_setting::{CurrentQuery, CurrentSetting};
pub(crate) use distinct::{Distinct, state_fields as distinct_fields};
pub(crate) use joined::Joined;
pub(crate) use json::{
    Extract as JsonExtract, JsonOperators, is_json, is_wild_path, json_field, json_values, of_structure,
};
pub(crate) use known::known;
pub(crate) use map_element::MapElement;
pub(crate) use nested_greatest::NestedGreatest;
pub(crate) use nested_order::NestedOrder;
pub(crate) use nested_text::NestedText;
pub(crate) use one_nan::OneNan;
pub(crate) use one_zero::{OneZero, has_zeros};
pub(crate) use quantified::is_quantified;
pub(crate) use sleep::pg_sleep;
pub(crate) use text_or_list::TextOrList;
pub(crate) use text_parts::chrono_format;

/// What `[x + 1 FOR x IN list IF x > 0]` is called.
pub(crate) const LIST_COMPREHENSION: &str = "list_comprehension";

/// The functions that take a lambda.
pub(crate) const WITH_LAMBDAS: [&str; 15] = [
    "list_transform",
    "array_transform",
    "list_apply",
    "array_apply",
    "apply",
    "list_filter",
    "array_filter",
    "filter",
    "list_reduce",
    "array_reduce",
    "reduce",
    "list_any_match",
    "array_any_match",
    "any_match",
    "array_first",
];

/// Adds them to what the planner knows.
pub(crate) fn add_functions(state: &mut SessionState) -> Result<()> {
    let scalars = [
        ScalarUDF::new_from_impl(Abs::new()),
        ScalarUDF::new_from_impl(age::Age::new()),
        ScalarUDF::new_from_impl(binned::IsOther::new()),
        ScalarUDF::new_from_impl(bins::Bins::new()),
        ScalarUDF::new_from_impl(next_after::NextAfter::new()),
        ScalarUDF::new_from_impl(overlaps::Overlaps::new()),
        ScalarUDF::new_from_impl(Collate::new()),
        ScalarUDF::new_from_impl(finite::Finite::is_finite()),
        ScalarUDF::new_from_impl(finite::Finite::is_infinite()),
        ScalarUDF::new_from_impl(flatten_lists::FlattenLists::new()),
        ScalarUDF::new_from_impl(chance::Chance::new()),
        ScalarUDF::new_from_impl(EnumText::new()),
        ScalarUDF::new_from_impl(failure::Failure::new()),
        ScalarUDF::new_from_impl(has::HasValue::new()),
        ScalarUDF::new_from_impl(hash::HashOf::new()),
        ScalarUDF::new_from_impl(has::Has::any()),
        ScalarUDF::new_from_impl(has::Has::all()),
        ScalarUDF::new_from_impl(length::Length::new()),
        ScalarUDF::new_from_impl(list_mode::ListMode::new()),
        ScalarUDF::new_from_impl(list_zip::ListZip::new()),
        ScalarUDF::new_from_impl(MapElement::in_list()),
        ScalarUDF::new_from_impl(printf::Printf::new()),
        ScalarUDF::new_from_impl(Power::new()),
        ScalarUDF::new_from_impl(Root::new()),
        ScalarUDF::new_from_impl(Round::new()),
        ScalarUDF::new_from_impl(sign::Sign::new()),
        ScalarUDF::new_from_impl(type_name::TypeOf::new()),
    ];
    let between = date_diff::DateDiff::all().map(ScalarUDF::new_from_impl);
    let whole_parts = WholePart::all().map(ScalarUDF::new_from_impl);
    let bits = whole_numbers::Bits::all().map(ScalarUDF::new_from_impl);
    let quantified = quantified::Quantified::every().map(ScalarUDF::new_from_impl);
    let selecting = list_select::ListSelect::all().map(ScalarUDF::new_from_impl);
    let structs = struct_parts::StructParts::all().map(ScalarUDF::new_from_impl);
    let enums = enums::OfEnums::all().map(ScalarUDF::new_from_impl);
    let not_negative = not_negative::NotNegative::all().map(ScalarUDF::new_from_impl);
    let lengths = length::OctetLength::all().map(ScalarUDF::new_from_impl);
    let maps = map_parts::MapParts::all().map(ScalarUDF::new_from_impl);
    let regexes = regexp_extract::RegexpExtract::all().map(ScalarUDF::new_from_impl);
    let parts =
        TextOrList::all().map(ScalarUDF::new_from_impl).into_iter().chain(structs).chain(maps).chain(regexes);
    let patterns = patterns::Pattern::every().map(ScalarUDF::new_from_impl);
    let scalars = scalars
        .into_iter()
        .chain(bits)
        .chain(whole_parts)
        .chain(between)
        .chain(patterns)
        .chain(not_negative)
        .chain(lengths)
        .chain(quantified)
        .chain(selecting)
        .chain(enums)
        .chain(parts)
        .chain(times::functions::all());
    for scalar in scalars.chain(plain_functions()) {
        state.register_udf(Arc::new(scalar))?;
    }
    for function in json::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for (name, function) in json::table_functions() {
        state.register_udtf(name, function);
    }
    for of_elements in lambdas::OfElements::all() {
        state.register_higher_order_function(Arc::new(HigherOrderUDF::new_from_impl(of_elements)))?;
    }
    let attempt = HigherOrderUDF::new_from_impl(attempt::Attempt::new());
    state.register_higher_order_function(Arc::new(attempt))?;
    let reduce = HigherOrderUDF::new_from_impl(list_reduce::ListReduce::new());
    state.register_higher_order_function(Arc::new(reduce))?;
    add_aggregates(state)
}

/// Functions of single values.
fn plain_functions() -> impl Iterator<Item = ScalarUDF> {
    let all: [&'static [plain::Named]; 13] = [
        &bits::ALL,
        &distances::ALL,
        &encodings::ALL,
        &geometries::ALL,
        &graphemes::ALL,
        &hashes::ALL,
        &paths::ALL,
        &real_numbers::ALL,
        &regexes::ALL,
        &sizes::ALL,
        &text_parts::ALL,
        &uuids::ALL,
        &whole_numbers::ALL,
    ];
    all.into_iter().flat_map(plain::functions)
}

/// `strip_accents`.
pub(crate) fn strip_accents() -> Arc<ScalarUDF> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| one(&graphemes::ALL, "strip_accents"));
    FUNCTION.clone()
}

fn one(of: &'static [plain::Named], name: &str) -> Arc<ScalarUDF> {
    let found = plain::functions(of).find(|function| function.name() == name);
    Arc::new(found.unwrap_or_else(|| unreachable!("{name} is one of them")))
}

fn add_aggregates(state: &mut SessionState) -> Result<()> {
    let mut aggregates = vec![
        AggregateUDF::new_from_impl(arg_extreme::ArgExtreme::new(true)),
        AggregateUDF::new_from_impl(arg_extreme::ArgExtreme::new(false)),
        AggregateUDF::new_from_impl(bit_aggregates::BitstringAgg::new()),
        AggregateUDF::new_from_impl(lttb::LargestTriangles::new()),
        AggregateUDF::new_from_impl(Sum::new()),
        AggregateUDF::new_from_impl(Average::new()),
        AggregateUDF::new_from_impl(median::Median::new()),
        AggregateUDF::new_from_impl(weighted::WeightedAverage::new()),
    ];
    aggregates.extend(bit_aggregates::BitsOf::all().map(AggregateUDF::new_from_impl));
    aggregates.extend(binned::Binned::all().map(AggregateUDF::new_from_impl));
    aggregates.extend(counts::OfCounts::all().map(AggregateUDF::new_from_impl));
    aggregates.extend(quantiles::Quantile::all().map(AggregateUDF::new_from_impl));
    aggregates.extend(shape::Shape::all().map(AggregateUDF::new_from_impl));
    aggregates.extend(top_values::TopValues::all().map(AggregateUDF::new_from_impl));
    for aggregate in aggregates {
        state.register_udaf(Arc::new(aggregate))?;
    }
    // The planner's are NULL where all y are equal, which in SQL is 1 for `regr_r2`, and where there is a NaN.
    for own in ["regr_r2", "corr"].into_iter().filter_map(|name| over_frames(name, 2)) {
        state.register_udaf(own)?;
    }
    // Aggregates over the elements of lists; `mode` has one of its own.
    let named = state.aggregate_functions().iter().map(|(name, of)| (name.clone(), of.clone()));
    for (name, of) in named.collect::<Vec<_>>() {
        let of_lists = ScalarUDF::new_from_impl(list_aggregate::ListAggregate::new(&name, of));
        if name != "mode" {
            state.register_udf(Arc::new(of_lists))?;
        }
    }
    Ok(())
}
