//! What is guarded is not evaluated: an error that belongs to a row which a statement does not ask about is not raised.
//!
//! The planner (DataFusion 55) moves conditions to where fewest rows are read, orders them by what they cost, and evaluates both sides of
//! AND and OR for all rows of a batch. So `y = 0 OR x / y = 3` fails, as a condition does that goes below a join which would leave out the
//! row it fails for (apache/datafusion#8927, #8910, #17322). Here stands what keeps it from that:
//!
//! - [`failing`](failing::failing) tells the expressions that can fail for a row from those that cannot: columns that are compared with
//!   constants, arithmetic whose result has a place in its type whatever the operands are. Nothing changes for the others.
//! - [`held`]: terms that can fail do not go below joins that leave rows out.
//! - [`order`]: terms that cannot fail come before those that can, so that nothing is computed beforehand (common subexpressions) that was
//!   behind one of them.
//! - [`lazy`]: when all rules are done, AND, OR, `coalesce` and the arguments of aggregates with FILTER become CASE where they guard
//!   something.
//! - [`inlined`]: a query without FROM is the value that it selects.
//! - [`keys`]: values that joins compare are computed where the other conditions of the join hold.
//! - [`filters`]: of the terms of a filter, those that can fail are evaluated for the rows that the others leave.
//! - [`projected`]: what is computed for rows that a filter leaves is not computed before it.
//! - [`late`]: what is computed of rows is computed behind LIMIT.
//! - [`literals`]: constants that have no place in a type are errors where a row needs them, not when the statement is planned.
//! - [`values`]: a query for one value is an error where a row needs the value.

mod failing;
mod filters;
mod held;
mod inlined;
mod keys;
mod late;
mod lazy;
mod literals;
mod order;
mod projected;
mod range;
mod values;

pub(crate) use failing::may_fail;
pub(super) use filters::FilterSteps;
pub(crate) use filters::{is_last, without_mark};
pub(super) use held::WithHeldFilters;
pub(super) use inlined::INLINED_VALUES;
pub(crate) use lazy::{lazily, lazy_value};
pub(super) use literals::WithWrongLiterals;
pub(super) use order::SafeTermsFirst;
pub(super) use projected::WithFixedProjections;
pub(crate) use range::type_of;
pub(super) use values::LazyValues;
