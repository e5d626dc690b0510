//! The operators that give rows numbers, and groups their values back.

use std::{fmt, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions},
    compute::take,
    datatypes::{DataType, Field, Schema, SchemaRef},
};
use datafusion::{
    common::{ColumnStatistics, Result, Statistics, tree_node::TreeNodeRecursion},
    error::DataFusionError,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
        StatisticsArgs, execution_plan::CardinalityEffect, stream::RecordBatchStreamAdapter,
    },
};
use futures::StreamExt;

use super::{node::Shown, numbers::Numbers};
use crate::one_input::{filters_go_down, input_alone, no_expressions, visit_all};

/// Rows of the input with their numbers behind them.
#[derive(Debug)]
pub(super) struct CodedExec {
    input: Arc<dyn ExecutionPlan>,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    name: String,
    numbers: Arc<Numbers>,
    properties: Arc<PlanProperties>,
}

/// What is known of rows that have other columns than those of the input, and are in as many parts.
fn properties(input: &Arc<dyn ExecutionPlan>, schema: SchemaRef) -> Arc<PlanProperties> {
    let parts = input.output_partitioning().partition_count();
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(parts),
        input.pipeline_behavior(),
        input.boundedness(),
    ))
}

impl CodedExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        exprs: Vec<Arc<dyn PhysicalExpr>>,
        name: &str,
        numbers: Arc<Numbers>,
    ) -> Self {
        let of_input = input.schema();
        let number = Arc::new(Field::new(name, DataType::Int64, true));
        let fields: Vec<_> = of_input.fields().iter().cloned().chain([number]).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, of_input.metadata().clone()));
        let properties = properties(&input, schema);
        Self { input, exprs, name: name.to_owned(), numbers, properties }
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(input, self.exprs.clone(), &self.name, self.numbers.clone()))
    }
}

impl DisplayAs for CodedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exprs: Vec<_> = self.exprs.iter().map(ToString::to_string).collect();
        write!(f, "Coded: [{}]", exprs.join(", "))
    }
}

impl ExecutionPlan for CodedExec {
    fn name(&self) -> &str {
        "CodedExec"
    }

    input_alone!();
    filters_go_down!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        visit_all(&self.exprs, visit)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut all = inputs[0].as_ref().clone();
        all.column_statistics.push(ColumnStatistics::new_unknown());
        Ok(Arc::new(all.to_inexact()))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (exprs, numbers, schema) = (self.exprs.clone(), self.numbers.clone(), self.schema());
        let memory = context.memory_pool().clone();
        let rows = self.input.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            let values = exprs.iter().map(|expr| expr.evaluate(&batch)?.into_array(batch.num_rows()));
            let values = values.collect::<Result<Vec<_>>>()?;
            let mut columns = batch.columns().to_vec();
            columns.push(Arc::new(numbers.of(&values, &memory)?));
            Ok(RecordBatch::try_new(schema.clone(), columns)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// Groups with values in the place of their numbers.
#[derive(Debug)]
pub(super) struct DecodedExec {
    input: Arc<dyn ExecutionPlan>,
    shown: Vec<Shown>,
    properties: Arc<PlanProperties>,
}

impl DecodedExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, shown: Vec<Shown>, schema: SchemaRef) -> Self {
        let properties = properties(&input, schema);
        Self { input, shown, properties }
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(input, self.shown.clone(), self.schema()))
    }
}

impl DisplayAs for DecodedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoded")
    }
}

impl ExecutionPlan for DecodedExec {
    fn name(&self) -> &str {
        "DecodedExec"
    }

    no_expressions!();
    input_alone!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let rows = inputs[0].num_rows;
        Ok(Arc::new(Statistics { num_rows: rows, ..Statistics::new_unknown(&self.schema()) }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (shown, schema) = (self.shown.clone(), self.schema());
        let rows =
            self.input.execute(partition, context)?.map(move |batch| decoded(&batch?, &shown, &schema));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

fn decoded(batch: &RecordBatch, shown: &[Shown], schema: &SchemaRef) -> Result<RecordBatch> {
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(shown.len());
    // Columns of one relation stand side by side.
    let mut values: Option<(&Arc<Numbers>, Vec<ArrayRef>)> = None;
    for one in shown {
        let (numbers, number, column) = match one {
            Shown::Same(place) => {
                columns.push(batch.column(*place).clone());
                continue;
            }
            Shown::Numbered { numbers, number, column } => (numbers, batch.column(*number), *column),
        };
        if values.as_ref().is_none_or(|(of, _)| !Arc::ptr_eq(of, numbers)) {
            values = Some((numbers, numbers.values()?));
        }
        let Some((_, values)) = &values else { continue };
        let Some(number) = number.as_any().downcast_ref::<Int64Array>() else {
            return Err(DataFusionError::Internal(format!("numbers of type {}", number.data_type())));
        };
        columns.push(take(&values[column], number, None)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}
