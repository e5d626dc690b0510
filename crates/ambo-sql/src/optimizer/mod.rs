//! The rules by which plans are made better: the planner's (DataFusion 55), ours, and what keeps the planner's from wrong answers.
//!
//! What is wrong without each of the files here, where that stands upstream, and what tests tell: docs/upstream/README.md.
//! The rules of times are in `../times/rules`.
//!
//! Each was found by random queries (`crates/ambo-differential`, `tests/it/joins.rs`, the test files of SQLite) and has a test of its own,
//! so that what a later planner does right can go.

mod asof;
mod barrier;
mod byte_casts;
mod cast_bounds;
mod constants;
mod cooperative;
mod dependencies;
mod depth;
mod distinct_orders;
mod expressions;
mod filter_projection;
mod float_extremes;
mod frames;
mod from_below;
mod group_expressions;
mod guards;
mod in_lists;
mod interval_groups;
mod join_orders;
mod kept_orders;
mod lambda_parts;
mod lists_of_null;
mod lossy_casts;
mod lost_keys;
mod moments;
mod moved_keys;
mod nans;
mod nested_comparisons;
mod nested_counts;
mod nested_extremes;
mod nested_orders;
mod nested_texts;
mod nested_tops;
mod null_equality;
mod null_keys;
mod offsets;
mod once;
mod pass_on;
mod peers;
mod read_again;
mod regexes;
mod repeated_orders;
mod repeated_windows;
mod rounding;
mod set_operations;
mod sliding;
mod source_names;
mod struct_fields;
mod subquery;
mod text_functions;
mod top_order;
mod truth_lists;
mod type_casts;
mod unasked;
mod unique_names;
mod window_limits;
mod window_order;
mod zero_keys;
mod zeros;
mod zoned_literals;

use std::sync::Arc;

use datafusion::{
    common::Result,
    logical_expr::LogicalPlan,
    optimizer::{
        Analyzer, AnalyzerRule, Optimizer, OptimizerContext, OptimizerRule,
        optimize_projections::OptimizeProjections,
    },
    physical_optimizer::{PhysicalOptimizerRule, optimizer::PhysicalOptimizer},
};

use crate::{
    collations::Collations,
    joins::{GroupsFirst, JoinKeys, JoinOrder, SetsOfGroups},
    numbers::{CASTS, CHECKED, Doubles},
    planner::Enums,
    table::{AggregateInStorage, TopsOfLeaves},
    times::rules::Times,
    window::RunningWindows,
};

pub(crate) use asof::ASOF_CONDITION;
use asof::AsOfJoins;
use barrier::Barriers;
use byte_casts::BYTE_CASTS;
pub(crate) use byte_casts::{bytes_of_texts, writes_bytes};
use cast_bounds::CastBounds;
use constants::PartialConstants;
use cooperative::CooperativeJoins;
use dependencies::{LOOK_AT_KEYS, WithoutKeys};
use depth::DepthLimit;
use distinct_orders::DISTINCT_ORDERS;
pub(crate) use expressions::{ExpressionRule, map_named, schema_of_rows, with_types};
use filter_projection::WithWholeFilters;
use float_extremes::FLOAT_EXTREMES;
pub(crate) use frames::over_frames;
pub(crate) use from_below::change_from_below;
use group_expressions::GroupExpressions;
use guards::{
    FilterSteps, INLINED_VALUES, LazyValues, SafeTermsFirst, WithFixedProjections, WithHeldFilters,
    WithWrongLiterals,
};
pub(crate) use guards::{is_last, lazily, lazy_value, may_fail, type_of, without_mark};
use in_lists::IN_LISTS;
use interval_groups::IntervalGroups;
use join_orders::JoinOrders;
use kept_orders::KeptOrders;
use lambda_parts::WithWholeLambdas;
use lists_of_null::LISTS_OF_NULL;
use lossy_casts::LOSSY_CASTS;
use lost_keys::WithAllKeys;
use moved_keys::MovedKeys;
use nans::{NANS, NansOfRows};
use nested_comparisons::NESTED_COMPARISONS;
use nested_counts::WithOwnSteps;
use nested_extremes::NESTED_EXTREMES;
use nested_orders::NestedOrders;
use nested_texts::NESTED_TEXTS;
use nested_tops::NestedTops;
use null_equality::WithoutNullKeys;
use null_keys::NullKeys;
use offsets::OrderOfOffsets;
use once::ComputedOnce;
pub(crate) use once::{ONCE, QueryPlanner, has_once};
use peers::PEERS;
use read_again::ReadAgain;
use regexes::REGEXES;
use repeated_orders::{OrdersOfDistinct, OrdersSimplified, REPEATED_ORDERS};
use repeated_windows::RepeatedWindows;
use rounding::ROUNDED_PLACES;
use set_operations::SetOperations;
pub(crate) use set_operations::{common_type, united};
use sliding::SLIDING;
use source_names::SourceNames;
use struct_fields::STRUCT_FIELDS;
use subquery::Subqueries;
use text_functions::TEXT_FUNCTIONS;
pub(crate) use text_functions::is_of_texts;
use top_order::TopOrder;
use truth_lists::TRUTH_LISTS;
use type_casts::TYPE_CASTS;
use unasked::UnaskedPartitions;
use unique_names::WithUniqueNames;
use window_limits::WindowLimits;
use window_order::WindowOrder;
use zero_keys::ZeroKeys;
use zeros::{ZEROS, ZerosOfDistinct};
use zoned_literals::WithZonedLiterals;

type Analysis = Arc<dyn AnalyzerRule + Send + Sync>;
type Rule = Arc<dyn OptimizerRule + Send + Sync>;
type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// What is done to plans before they are made better: the planner's rules, by which all types are known, and ours.
pub(crate) fn analyzer_rules() -> Vec<Analysis> {
    let mut rules: Vec<Analysis> = vec![
        Arc::new(DepthLimit),
        Arc::new(GroupExpressions),
        Arc::new(KeptOrders),
        Arc::new(SourceNames),
        Arc::new(Enums),
        Arc::new(SetOperations),
        Arc::new(Times::Before),
        Arc::new(ROUNDED_PLACES),
        Arc::new(LISTS_OF_NULL),
        Arc::new(TEXT_FUNCTIONS),
        Arc::new(STRUCT_FIELDS),
        Arc::new(PEERS),
        Arc::new(TRUTH_LISTS),
        Arc::new(Doubles),
    ];
    rules.extend(Analyzer::new().rules);
    rules.push(Arc::new(Times::Behind));
    rules.push(Arc::new(Collations));
    for ours in [
        TYPE_CASTS,
        CASTS,
        CHECKED,
        LOSSY_CASTS,
        NESTED_EXTREMES,
        NESTED_COMPARISONS,
        NANS,
        ZEROS,
        IN_LISTS,
        REGEXES,
        NESTED_TEXTS,
        BYTE_CASTS,
        SLIDING,
        INLINED_VALUES,
    ] {
        rules.push(Arc::new(ours));
    }
    rules.push(Arc::new(NansOfRows));
    rules.push(Arc::new(IntervalGroups));
    rules.push(Arc::new(AsOfJoins));
    rules.push(Arc::new(NestedOrders));
    rules.push(Arc::new(Subqueries));
    // Behind those that make aggregates of subqueries, and put columns from outside into orders.
    rules.push(Arc::new(ZerosOfDistinct));
    rules.push(Arc::new(OrdersOfDistinct));
    rules.push(Arc::new(REPEATED_ORDERS));
    rules.push(Arc::new(FLOAT_EXTREMES));
    rules.push(Arc::new(DISTINCT_ORDERS));
    rules.push(Arc::new(ComputedOnce));
    rules
}

/// The planner's rules and ours. Joins are put in order when filters stand at their tables, and before unneeded columns are left out;
/// aggregates are looked for behind all others.
pub(crate) fn logical_rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for rule in Optimizer::new().rules {
        let looks_at_keys = LOOK_AT_KEYS.contains(&rule.name());
        let rule = if looks_at_keys { Arc::new(WithoutKeys(rule)) } else { rule };
        match rule.name() {
            "push_down_filter" => {
                let held = Arc::new(WithHeldFilters(rule));
                rules.extend([Arc::new(Barriers) as Rule, held, Arc::new(JoinOrder)]);
            }
            "simplify_expressions" => {
                rules.extend([Arc::new(WithWrongLiterals(rule)) as Rule, Arc::new(OrdersSimplified)]);
            }
            "common_sub_expression_eliminate" => {
                let rule = Arc::new(WithZonedLiterals(rule));
                rules.extend([Arc::new(SafeTermsFirst) as Rule, Arc::new(RepeatedWindows), rule])
            }
            "eliminate_cross_join" => {
                rules.push(Arc::new(WithoutNullKeys { rule: Arc::new(WithAllKeys(rule)), is_deep: true }));
            }
            "extract_equijoin_predicate" => rules.push(Arc::new(WithoutNullKeys { rule, is_deep: false })),
            _ => rules.push(rule),
        }
    }
    rules.push(Arc::new(SetsOfGroups));
    rules.push(Arc::new(AggregateInStorage));
    rules.push(Arc::new(GroupsFirst));
    rules.push(Arc::new(CastBounds));
    rules.push(Arc::new(NullKeys));
    rules.push(Arc::new(ZeroKeys));
    rules.push(Arc::new(TopsOfLeaves));
    rules
}

/// The plan without columns that nobody reads.
fn without_unread(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rule = WithoutKeys(Arc::new(OptimizeProjections::new()));
    Ok(rule.rewrite(plan, &OptimizerContext::new())?.data)
}

/// The planner's physical rules, those that push filters down among them only where that is safe, and rules of ours around them.
pub(crate) fn physical_rules() -> Vec<PhysicalRule> {
    let mut rules: Vec<PhysicalRule> =
        vec![Arc::new(PartialConstants), Arc::new(MovedKeys), Arc::new(OrderOfOffsets)];
    for rule in PhysicalOptimizer::new().rules {
        match rule.name() {
            "FilterPushdown" => {
                rules.extend([Arc::new(WithUniqueNames(rule)) as PhysicalRule, Arc::new(FilterSteps)])
            }
            "FilterPushdown(Post)" => rules.push(Arc::new(WithUniqueNames(rule))),
            "join_selection" => rules.extend([rule, Arc::new(JoinOrders)]),
            "EnsureRequirements" => rules.extend([rule, Arc::new(TopOrder)]),
            "aggregate_statistics" => rules.push(Arc::new(WithOwnSteps(rule))),
            "LimitPushPastWindows" => rules.push(Arc::new(WindowLimits(rule))),
            "ProjectionPushdown" => {
                let whole = Arc::new(WithWholeFilters(Arc::new(WithWholeLambdas(rule))));
                rules.push(Arc::new(WithFixedProjections(whole)))
            }
            // It refuses plans that are right: of ORDER BY with a constant column of one side of a join or UNION ALL, whose order
            // it does not see any more.
            "SanityCheckPlan" => {}
            _ => rules.push(rule),
        }
    }
    rules.push(Arc::new(NestedTops));
    rules.push(Arc::new(ReadAgain));
    rules.push(Arc::new(UnaskedPartitions));
    rules.push(Arc::new(CooperativeJoins));
    rules.push(Arc::new(LazyValues));
    // Behind those that put operators between others, which know less of the rows.
    rules.push(Arc::new(WindowOrder));
    rules.push(Arc::new(RunningWindows));
    rules.push(Arc::new(JoinKeys));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a rule of the planner that has another name, so that ours is nowhere.
    #[test]
    fn the_rules_that_are_guarded_are_known() {
        let names: Vec<_> = logical_rules().iter().map(|rule| rule.name().to_owned()).collect();
        for ours in ["barriers", "join_order", "safe_terms_first"] {
            assert_eq!(names.iter().filter(|name| *name == ours).count(), 1, "{names:?}");
        }
        for wrapper in ["WithHeldFilters", "WithWrongLiterals"] {
            let is_guarded = |rule: &&Rule| format!("{rule:?}").starts_with(wrapper);
            assert_eq!(logical_rules().iter().filter(is_guarded).count(), 1, "{wrapper}");
        }
        let guarded =
            logical_rules().iter().filter(|rule| format!("{rule:?}").starts_with("WithoutNullKeys")).count();
        assert_eq!(guarded, 2);
        for looks in LOOK_AT_KEYS {
            let guarded =
                |rule: &&Rule| rule.name() == looks && format!("{rule:?}").starts_with("WithoutKeys");
            assert!(logical_rules().iter().any(|rule| guarded(&rule)), "{looks}");
        }
        let pushing = |rule: &&PhysicalRule| rule.name().starts_with("FilterPushdown");
        let guarded = |rule: &&PhysicalRule| format!("{rule:?}").starts_with("WithUniqueNames");
        let rules = physical_rules();
        let planners = PhysicalOptimizer::new().rules;
        assert!(planners.iter().any(|rule| rule.name() == "SanityCheckPlan"));
        let projecting = |rule: &&PhysicalRule| rule.name() == "ProjectionPushdown";
        let is_guarded =
            |rule: &PhysicalRule| format!("{rule:?}").starts_with("WithFixedProjections(WithWholeFilters");
        assert_eq!(rules.iter().filter(projecting).count(), planners.iter().filter(projecting).count());
        assert!(rules.iter().filter(projecting).all(is_guarded) && rules.iter().any(is_guarded));
        let knows = |rule: &&PhysicalRule| format!("{rule:?}").starts_with("WithOwnSteps");
        assert_eq!(rules.iter().filter(knows).count(), 1);
        let position = |name| rules.iter().position(|rule| rule.name() == name);
        assert_eq!(position("TopOrder"), position("EnsureRequirements").map(|place| place + 1));
        assert_eq!((rules.iter().filter(pushing).count(), rules.iter().filter(guarded).count()), (2, 2));
    }
}
