//! The nodes of plans that give rows numbers, and groups their values back.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use arrow::datatypes::{DataType, Field};
use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    common::{Column, DFSchema, DFSchemaRef, FunctionalDependencies, Result, plan_err},
    logical_expr::{
        Expr, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
        physical_planning_context::PhysicalPlanningContext,
    },
    physical_plan::ExecutionPlan,
    physical_planner::{ExtensionPlanner, PhysicalPlanner},
};

use super::{
    exec::{CodedExec, DecodedExec},
    numbers::Numbers,
};

/// Rows of a relation with the number of some of their values as a further column.
#[derive(Debug)]
pub(super) struct Coded {
    input: LogicalPlan,
    exprs: Vec<Expr>,
    number: Column,
    numbers: Arc<Numbers>,
    schema: DFSchemaRef,
}

impl Coded {
    pub(super) fn new(
        input: LogicalPlan,
        exprs: Vec<Expr>,
        number: Column,
        numbers: Arc<Numbers>,
    ) -> Result<Self> {
        let of_input = input.schema();
        let own = Arc::new(Field::new(&number.name, DataType::Int64, true));
        let columns = of_input.iter().map(|(of, field)| (of.cloned(), field.clone()));
        let fields = columns.chain([(number.relation.clone(), own)]).collect();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, of_input.metadata().clone())?);
        Ok(Self { input, exprs, number, numbers, schema })
    }

    fn key(&self) -> (*const Numbers, &Column, &[Expr], &LogicalPlan) {
        (Arc::as_ptr(&self.numbers), &self.number, &self.exprs, &self.input)
    }
}

impl UserDefinedLogicalNodeCore for Coded {
    fn name(&self) -> &str {
        "Coded"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.exprs.clone()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exprs: Vec<_> = self.exprs.iter().map(ToString::to_string).collect();
        write!(f, "Coded: {}", exprs.join(", "))
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        Self::new(inputs.swap_remove(0), exprs, self.number.clone(), self.numbers.clone())
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let columns = self.input.schema().fields().len();
        Some(vec![output.iter().copied().filter(|column| *column < columns).collect()])
    }
}

/// What a column of groups shows.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    /// A column of the aggregation, at this place.
    Same(usize),
    /// The values of a column by the number that stands at this place.
    Numbered { numbers: Arc<Numbers>, number: usize, column: usize },
}

/// What is equal where the same is shown.
type ShownKey = (usize, Option<(usize, *const Numbers)>);

impl Shown {
    fn key(&self) -> ShownKey {
        match self {
            Self::Same(place) => (*place, None),
            Self::Numbered { numbers, number, column } => (*number, Some((*column, Arc::as_ptr(numbers)))),
        }
    }
}

/// Groups with values in the place of numbers.
#[derive(Debug)]
pub(super) struct Decoded {
    input: LogicalPlan,
    shown: Vec<Shown>,
    schema: DFSchemaRef,
}

impl Decoded {
    /// `schema` is that of the groups. What it says of keys is left out, as the planner is shown none (`optimizer/dependencies`).
    pub(super) fn new(input: LogicalPlan, shown: Vec<Shown>, schema: &DFSchema) -> Result<Self> {
        let schema = schema.clone().with_functional_dependencies(FunctionalDependencies::empty())?;
        Ok(Self { input, shown, schema: Arc::new(schema) })
    }

    fn key(&self) -> (Vec<ShownKey>, &DFSchemaRef, &LogicalPlan) {
        (self.shown.iter().map(Shown::key).collect(), &self.schema, &self.input)
    }
}

impl UserDefinedLogicalNodeCore for Decoded {
    fn name(&self) -> &str {
        "Decoded"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoded")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        Self::new(inputs.swap_remove(0), self.shown.clone(), &self.schema)
    }
}

/// Nodes are equal that have the same numbers, and everything else alike.
macro_rules! compared_by_key {
    ($($node:ty),*) => {$(
        impl PartialEq for $node {
            fn eq(&self, other: &Self) -> bool {
                self.key() == other.key()
            }
        }

        impl Eq for $node {}

        impl PartialOrd for $node {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                (self == other).then_some(Ordering::Equal)
            }
        }

        impl Hash for $node {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.key().hash(state);
            }
        }
    )*};
}

compared_by_key!(Coded, Decoded);

/// Makes the operators of both.
pub(crate) struct CodesPlanner;

#[async_trait]
impl ExtensionPlanner for CodesPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        below: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let node = node.as_any();
        if let Some(coded) = node.downcast_ref::<Coded>() {
            let ([below], [input]) = (below, inputs) else {
                return plan_err!("a relation of several inputs");
            };
            let expr = |expr| planner.create_physical_expr(expr, below.schema(), session, context);
            let exprs = coded.exprs.iter().map(expr).collect::<Result<Vec<_>>>()?;
            let name = &coded.number.name;
            return Ok(Some(Arc::new(CodedExec::new(input.clone(), exprs, name, coded.numbers.clone()))));
        }
        let Some(decoded) = node.downcast_ref::<Decoded>() else { return Ok(None) };
        let [input] = inputs else { return plan_err!("groups of several inputs") };
        let schema = Arc::new(decoded.schema.as_arrow().clone());
        Ok(Some(Arc::new(DecodedExec::new(input.clone(), decoded.shown.clone(), schema))))
    }
}
