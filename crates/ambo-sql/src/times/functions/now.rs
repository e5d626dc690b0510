//! `now()` and others: one moment for all of a transaction, when it began. It is a moment of the world; `localtimestamp`, `current_date`
//! and `current_time` are what clocks of the session's zone show then. `statement_timestamp()` is when the statement began, and
//! `clock_timestamp()` what the machine's clock shows when it is computed.

use std::{sync::Arc, time::SystemTime};

use arrow::{
    array::PrimitiveArray,
    datatypes::{DataType, TimeUnit, TimestampMicrosecondType},
};
use chrono::{DateTime, Utc};
use datafusion::{
    common::{Result, ScalarValue, exec_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

use crate::{
    session::machine_time,
    times::{DAY, MOMENT, cast::zone_of, instant},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Instant,
    Moment,
    Date,
    Time,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Now {
    name: &'static str,
    aliases: Vec<String>,
    what: What,
    /// In microseconds since 1970; `None` for the one of the transaction.
    moment: Option<i64>,
    signature: Signature,
}

pub(super) fn all() -> Vec<ScalarUDF> {
    let of = |name, aliases: &[&str], what| {
        let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        let signature = Signature::nullary(Volatility::Stable);
        ScalarUDF::new_from_impl(Now { name, aliases, what, moment: None, signature })
    };
    vec![
        of("now", &["current_timestamp", "transaction_timestamp", "get_current_timestamp"], What::Instant),
        of("localtimestamp", &["current_localtimestamp"], What::Moment),
        of("current_date", &["today", "curdate"], What::Date),
        of("current_time", &["localtime", "current_localtime", "curtime"], What::Time),
        ScalarUDF::new_from_impl(Clock(Signature::nullary(Volatility::Volatile))),
    ]
}

/// `statement_timestamp()` of a statement that began then.
pub(crate) fn statement_timestamp(began: SystemTime) -> ScalarUDF {
    moment_called("statement_timestamp", began)
}

/// A function of this name that is one moment.
pub(crate) fn moment_called(name: &'static str, began: SystemTime) -> ScalarUDF {
    let (aliases, what) = (Vec::new(), What::Instant);
    let signature = Signature::nullary(Volatility::Stable);
    ScalarUDF::new_from_impl(Now { name, aliases, what, moment: Some(micros(began)), signature })
}

fn micros(of: SystemTime) -> i64 {
    DateTime::<Utc>::from(of).timestamp_micros()
}

impl ScalarUDFImpl for Now {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.what {
            What::Instant => instant(),
            What::Moment => MOMENT,
            What::Date => DataType::Date32,
            What::Time => DataType::Time64(TimeUnit::Nanosecond),
        })
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let of_transaction = || context.query_execution_start_time().map(|began| began.timestamp_micros());
        let Some(now) = self.moment.or_else(of_transaction) else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let local = zone_of(context.config_options()).local(now).unwrap_or(now);
        let value = match self.what {
            What::Instant => ScalarValue::TimestampMicrosecond(Some(now), Some("UTC".into())),
            What::Moment => ScalarValue::TimestampMicrosecond(Some(local), None),
            What::Date => ScalarValue::Date32(i32::try_from(local.div_euclid(DAY)).ok()),
            What::Time => ScalarValue::Time64Nanosecond(Some(local.rem_euclid(DAY) * 1000)),
        };
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(value, None)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("{} is known before a statement runs only", self.name)
    }
}

/// `clock_timestamp()`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Clock(Signature);

impl ScalarUDFImpl for Clock {
    fn name(&self) -> &str {
        "clock_timestamp"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(instant())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let moments = (0..args.number_rows).map(|_| Some(micros(machine_time())));
        let moments: PrimitiveArray<TimestampMicrosecondType> = moments.collect();
        Ok(ColumnarValue::Array(Arc::new(moments.with_timezone("UTC"))))
    }
}
