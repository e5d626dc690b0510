//! The keys by which a window divides its rows and puts them in order.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::{PhysicalExpr, window::WindowExpr};

#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub(super) partition: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order: Vec<Arc<dyn PhysicalExpr>>,
}

impl Keys {
    /// Those of an expression over rows of this schema; `None` if the kernel does not compare their values.
    pub(super) fn new(expr: &Arc<dyn WindowExpr>, schema: &SchemaRef) -> Option<Self> {
        let partition = expr.partition_by().to_vec();
        let order: Vec<_> = expr.order_by().iter().map(|sort| sort.expr.clone()).collect();
        let is_flat = |key: &Arc<dyn PhysicalExpr>| key.data_type(schema).is_ok_and(|ty| !ty.is_nested());
        partition.iter().chain(&order).all(is_flat).then_some(Self { partition, order })
    }
}
