//! `pg_sleep(seconds)`: waits so long for each row. Nothing is blocked meanwhile: the statement can be interrupted, and ends when its time
//! is over.

use std::{sync::Arc, time::Duration};

use arrow::{
    array::{Array, AsArray, StringArray},
    compute::cast,
    datatypes::{DataType, Float64Type},
};
use async_trait::async_trait;
use datafusion::{
    common::{Result, exec_err, plan_err},
    error::DataFusionError,
    logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl},
    },
};
use tokio::{
    runtime::Handle,
    task::{AbortHandle, JoinError},
};

/// `pg_sleep`, whose clock runs in these threads.
pub(crate) fn pg_sleep(threads: &Handle) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Volatile);
    AsyncScalarUDF::new(Arc::new(Sleep { threads: Threads(threads.clone()), signature })).into_scalar_udf()
}

#[derive(Clone, Debug)]
struct Threads(Handle);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sleep {
    threads: Threads,
    signature: Signature,
}

impl PartialEq for Threads {
    fn eq(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }
}

impl Eq for Threads {}

impl std::hash::Hash for Threads {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.id().hash(state);
    }
}

impl ScalarUDFImpl for Sleep {
    fn name(&self) -> &str {
        "pg_sleep"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// NULL, as in DuckDB.
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of] if of.is_numeric() || of.is_null() => Ok(DataType::Utf8),
            _ => plan_err!("pg_sleep takes a number of seconds"),
        }
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("pg_sleep stands in the list of a SELECT or in WHERE")
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for Sleep {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let seconds = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Float64)?;
        let seconds = seconds.as_primitive::<Float64Type>();
        for row in 0..seconds.len() {
            if seconds.is_valid(row) {
                self.sleep(seconds.value(row)).await?;
            }
        }
        Ok(ColumnarValue::Array(Arc::new(StringArray::new_null(seconds.len()))))
    }
}

/// Ends with who waits for it.
struct Clock(AbortHandle);

impl Drop for Clock {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Sleep {
    async fn sleep(&self, seconds: f64) -> Result<()> {
        let Ok(time) = Duration::try_from_secs_f64(if seconds < 0.0 { 0.0 } else { seconds }) else {
            return exec_err!("pg_sleep: {seconds} is not how many seconds to wait");
        };
        // The clock is one of the threads that look at it.
        let clock = self.threads.0.spawn(async move {
            let until = tokio::time::sleep(time);
            until.await;
        });
        let _ends = Clock(clock.abort_handle());
        clock.await.map_err(|ended: JoinError| DataFusionError::Execution(format!("pg_sleep: {ended}")))
    }
}
