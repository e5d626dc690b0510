//! An operator that hands on the rows of its input, and knows less of them. From time to time it lets others run, and whoever waits for the
//! rows look whether the statement is to end ([`yielding`]).

use std::{fmt, sync::Arc};

use datafusion::{
    common::{Constraints, Result},
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{AcrossPartitions, ConstExpr, EquivalenceProperties},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        execution_plan::CardinalityEffect, projection::ProjectionExec,
    },
};

use crate::{
    one_input::{filters_go_down, no_expressions, one_input},
    yielding::yielding,
};

/// Whether it is another value in other parts.
pub(super) fn differs(constant: &ConstExpr) -> bool {
    constant.across_partitions == AcrossPartitions::Heterogeneous
}

/// What is known of rows that are handed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    Nothing,
    All,
    /// Their order, and what is constant in all of them.
    OfAllParts,
    /// All but which columns are keys.
    AllButKeys,
    /// All but their order.
    AllButOrder,
}

/// Hands on the rows of its input. It only says that it keeps their order where it knows as many constants: else sorts would be moved below
/// it, to where there are more.
#[derive(Debug)]
pub(super) struct PassOn {
    input: Arc<dyn ExecutionPlan>,
    known: Known,
    properties: Arc<PlanProperties>,
}

impl PassOn {
    pub(super) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    pub(super) fn knows_all(&self) -> bool {
        self.known == Known::All
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Self::new(input, self.known)
    }

    pub(super) fn new(input: Arc<dyn ExecutionPlan>, known: Known) -> Result<Self> {
        let of_input = input.equivalence_properties();
        let of_rows = match known {
            Known::Nothing => EquivalenceProperties::new(input.schema()),
            Known::OfAllParts => {
                let mut of_rows = EquivalenceProperties::new(input.schema());
                of_rows.add_orderings(of_input.oeq_class().iter().cloned());
                of_rows.add_constants(of_input.constants().into_iter().filter(|one| !differs(one)))?;
                of_rows
            }
            Known::AllButOrder => {
                let mut of_rows = of_input.clone();
                of_rows.clear_orderings();
                of_rows
            }
            Known::All => of_input.clone(),
            Known::AllButKeys => of_input.clone().with_constraints(Constraints::default()),
        };
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(of_rows);
        Ok(Self { input, known, properties: Arc::new(properties) })
    }
}

impl DisplayAs for PassOn {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PassOn")
    }
}

impl ExecutionPlan for PassOn {
    fn name(&self) -> &str {
        "PassOn"
    }

    no_expressions!();
    one_input!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![matches!(self.known, Known::All | Known::AllButKeys)]
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let is_narrower = projection.expr().len() < self.input.schema().fields().len();
        if self.known != Known::AllButOrder || !is_narrower {
            return Ok(None);
        }
        let below = ProjectionExec::try_new(projection.expr().iter().cloned(), self.input.clone())?;
        Ok(Some(Arc::new(Self::new(Arc::new(below), self.known)?)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(yielding(self.input.execute(partition, context)?))
    }

    filters_go_down!();
}
