//! `typeof(x)`, also called `pg_typeof`: the name of the type of a value, as CREATE TABLE has it. That of NULL without a type is `null`.

use arrow::datatypes::DataType;
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::json::is_json;
use crate::{
    logical::{BIT, GEOMETRY, UUID},
    names::quoted,
    statement::type_text,
    value::column_type,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeOf {
    signature: Signature,
    aliases: Vec<String>,
}

impl TypeOf {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable), aliases: vec!["pg_typeof".to_owned()] }
    }
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "typeof"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = match is_json(&args.arg_fields[0]) {
            true => "json".to_owned(),
            false => name(&args.args[0].data_type()),
        };
        Ok(ColumnarValue::Scalar(ScalarValue::from(name)))
    }
}

/// The name of a type; of one that no column has, the one of Arrow.
fn name(ty: &DataType) -> String {
    match ty {
        DataType::Null => "null".to_owned(),
        DataType::Interval(_) | DataType::Duration(_) => "interval".to_owned(),
        ty if let Some(labels) = ambo::arrow::enum_of(ty) => ambo::Enum::of(labels).to_string(),
        &UUID => "uuid".to_owned(),
        &BIT => "bit".to_owned(),
        &GEOMETRY => "geometry".to_owned(),
        DataType::List(item) | DataType::LargeList(item) => format!("{}[]", name(item.data_type())),
        DataType::FixedSizeList(item, length) => format!("{}[{length}]", name(item.data_type())),
        DataType::Struct(fields) => {
            let fields =
                fields.iter().map(|field| format!("{} {}", quoted(field.name()), name(field.data_type())));
            format!("struct({})", fields.collect::<Vec<_>>().join(", "))
        }
        DataType::Map(entries, _) if let DataType::Struct(fields) = entries.data_type() => {
            let types: Vec<_> = fields.iter().map(|field| name(field.data_type())).collect();
            format!("map({})", types.join(", "))
        }
        DataType::Decimal256(precision, scale) => format!("decimal({precision}, {scale})"),
        ty => column_type(ty).map_or_else(|| ty.to_string().to_lowercase(), type_text),
    }
}
