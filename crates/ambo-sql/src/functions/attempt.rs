//! `TRY(x)`: x, or NULL in the rows where it is an error of the values there.
//!
//! It is written as a function of a lambda without use for its parameter (`planner/rewrite.rs`), so that it decides itself when x is
//! computed: of all rows at once, and where that fails of half of them each, down to the rows that are to blame.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, Int64Array, UInt32Array, new_empty_array, new_null_array},
    compute::{concat, take_arrays},
    datatypes::{DataType, Field, FieldRef},
    error::ArrowError,
};
use datafusion::{
    common::{DataFusionError, Result, plan_err},
    logical_expr::{
        ColumnarValue, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature,
        HigherOrderUDFImpl, LambdaArgument, LambdaParametersProgress, ValueOrLambda, Volatility,
    },
};

/// What it is called in plans.
pub(crate) const ATTEMPT: &str = "try_value";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Attempt(HigherOrderSignature);

impl Attempt {
    pub(super) fn new() -> Self {
        Self(HigherOrderSignature::user_defined(Volatility::Immutable))
    }
}

impl HigherOrderUDFImpl for Attempt {
    fn name(&self) -> &str {
        ATTEMPT
    }

    fn signature(&self) -> &HigherOrderSignature {
        &self.0
    }

    fn coerce_value_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_] => Ok(vec![DataType::Int64]),
            _ => plan_err!("TRY has one value"),
        }
    }

    fn lambda_parameters(
        &self,
        _: usize,
        _: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let parameter = Arc::new(Field::new("i", DataType::Int64, false));
        Ok(LambdaParametersProgress::Complete(vec![vec![parameter]]))
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [_, ValueOrLambda::Lambda(of)] => Ok(Arc::new(Field::clone(of).with_nullable(true))),
            _ => plan_err!("TRY has one value"),
        }
    }

    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        let [_, ValueOrLambda::Lambda(of)] = &args.args[..] else { return plan_err!("TRY has one value") };
        let ty = args.return_field.data_type();
        if args.number_rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(ty)));
        }
        let rows: Vec<u32> = (0..args.number_rows as u32).collect();
        let mut parts = Vec::new();
        attempt(of, &rows, ty, &mut parts)?;
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }
}

/// Adds the values of some rows, in their order.
fn attempt(of: &LambdaArgument, rows: &[u32], ty: &DataType, parts: &mut Vec<ArrayRef>) -> Result<()> {
    match computed(of, rows) {
        Ok(values) => parts.push(values),
        Err(error) if !is_of_values(&error) => return Err(error),
        Err(_) if rows.len() == 1 => parts.push(new_null_array(ty, 1)),
        Err(_) => {
            let (first, second) = rows.split_at(rows.len() / 2);
            attempt(of, first, ty, parts)?;
            attempt(of, second, ty, parts)?;
        }
    }
    Ok(())
}

fn computed(of: &LambdaArgument, rows: &[u32]) -> Result<ArrayRef> {
    let rows = UInt32Array::from(rows.to_vec());
    let nothing: ArrayRef = Arc::new(Int64Array::from(vec![0; rows.len()]));
    let outer = |columns: &[ArrayRef]| Ok(take_arrays(columns, &rows, None)?);
    of.evaluate(&[&|| Ok(nothing.clone())], outer)?.into_array(rows.len())
}

/// Whether values are to blame, and not want of memory, an interruption or a file.
fn is_of_values(error: &DataFusionError) -> bool {
    match error {
        DataFusionError::Context(_, error) | DataFusionError::Diagnostic(_, error) => is_of_values(error),
        DataFusionError::Shared(error) => is_of_values(error),
        DataFusionError::ArrowError(error, _) => !matches!(
            error.as_ref(),
            ArrowError::MemoryError(_) | ArrowError::IoError(..) | ArrowError::ExternalError(_)
        ),
        DataFusionError::Execution(_) => true,
        DataFusionError::External(error) => {
            let own = error.downcast_ref::<crate::Error>();
            own.is_some_and(|error| {
                matches!(error.kind(), crate::ErrorKind::Invalid | crate::ErrorKind::Constraint)
            })
        }
        _ => false,
    }
}
