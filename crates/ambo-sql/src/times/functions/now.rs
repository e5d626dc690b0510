//! `now()` and others: one moment for all of a statement. It is a moment of the world; `localtimestamp`, `current_date` and `current_time`
//! are what clocks of the session's zone show then.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::{
    common::{Result, ScalarValue, exec_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

use crate::times::{DAY, MOMENT, cast::zone_of, instant};

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
    signature: Signature,
}

pub(super) fn all() -> Vec<ScalarUDF> {
    let of = |name, aliases: &[&str], what| {
        let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        let signature = Signature::nullary(Volatility::Stable);
        ScalarUDF::new_from_impl(Now { name, aliases, what, signature })
    };
    vec![
        of(
            "now",
            &["current_timestamp", "transaction_timestamp", "statement_timestamp", "get_current_timestamp"],
            What::Instant,
        ),
        of("localtimestamp", &["current_localtimestamp"], What::Moment),
        of("current_date", &["today", "curdate"], What::Date),
        of("current_time", &["localtime", "curtime"], What::Time),
    ]
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
        let Some(now) = context.query_execution_start_time() else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let now = now.timestamp_micros();
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
