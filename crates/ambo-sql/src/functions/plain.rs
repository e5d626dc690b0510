//! Functions of single values, computed row by row: NULL where an argument is NULL.
//!
//! A function is a name with its forms; a form says what it takes, what it gives, and how that is made. Of the forms with as many
//! arguments as a call has, the one is taken that needs the fewest casts.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BinaryBuilder, BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder,
        Float64Builder, Int64Builder, LargeBinaryBuilder, ListBuilder, StringBuilder,
    },
    datatypes::{
        DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef, Float64Type, Int64Type,
    },
};
use datafusion::{
    common::{Result, exec_datafusion_err, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::json::text_or_json;
use crate::{
    logical::{BIT, GEOMETRY, UUID, UUID_LEN, is_bytes, is_enum, value_of},
    times::is_text,
    value::returned,
};

/// What an argument or a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    /// A whole number that a bigint may have no room for.
    Huge,
    Double,
    Bool,
    Blob,
    /// A list of texts.
    Texts,
    /// A text that is JSON.
    Json,
    Uuid,
    /// As bytes that are stored.
    Bit,
    /// As bytes that are stored.
    Geometry,
}

/// An argument that is there.
pub(super) enum Given<'a> {
    Text(&'a str),
    Whole(i64),
    Huge(i128),
    Double(f64),
    Bool(bool),
    /// A blob, a UUID, bits or a geometry.
    Blob(&'a [u8]),
}

/// What is made of the arguments.
pub(super) enum Made {
    Nothing,
    Text(String),
    Whole(i64),
    Double(f64),
    Bool(bool),
    Blob(Vec<u8>),
    Texts(Vec<Option<String>>),
    Uuid([u8; 16]),
}

impl<T: Into<Made>> From<Option<T>> for Made {
    fn from(made: Option<T>) -> Self {
        made.map_or(Self::Nothing, Into::into)
    }
}

macro_rules! made {
    ($($of:ty => $kind:ident),* $(,)?) => {$(
        impl From<$of> for Made {
            fn from(made: $of) -> Self {
                Self::$kind(made.into())
            }
        }
    )*};
}

made! { String => Text, &str => Text, i64 => Whole, f64 => Double, bool => Bool, Vec<u8> => Blob }

/// An argument is asked for as what its form says that it is.
const WRONG_FORM: &str = "an argument of another kind than its form takes";

impl<'a> Given<'a> {
    /// A text.
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Text(text) => text,
            _ => unreachable!("{WRONG_FORM}"),
        }
    }

    pub(super) fn whole(&self) -> i64 {
        match self {
            Self::Whole(number) => *number,
            _ => unreachable!("{WRONG_FORM}"),
        }
    }

    pub(super) fn huge(&self) -> i128 {
        match self {
            Self::Huge(number) => *number,
            _ => unreachable!("{WRONG_FORM}"),
        }
    }

    pub(super) fn double(&self) -> f64 {
        match self {
            Self::Double(number) => *number,
            _ => unreachable!("{WRONG_FORM}"),
        }
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Bool(truth) => *truth,
            _ => unreachable!("{WRONG_FORM}"),
        }
    }

    /// A blob, or a text as its bytes.
    pub(super) fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Blob(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            _ => unreachable!("{WRONG_FORM}"),
        }
    }
}

/// See the module.
pub(super) struct Form {
    pub takes: &'static [Kind],
    pub gives: Kind,
    pub make: fn(&[Given<'_>]) -> Result<Made>,
}

/// A function with its other names.
pub(super) struct Named {
    pub names: &'static [&'static str],
    /// Whether each call gives another value.
    pub is_volatile: bool,
    pub forms: &'static [Form],
}

/// A function of one form.
macro_rules! plain {
    ($names:expr, $takes:expr => $gives:expr, $make:expr) => {
        Named {
            names: &$names,
            is_volatile: false,
            forms: &[Form { takes: &$takes, gives: $gives, make: $make }],
        }
    };
}
pub(super) use plain;

pub(super) fn functions(of: &'static [Named]) -> impl Iterator<Item = ScalarUDF> {
    of.iter().map(|of| ScalarUDF::new_from_impl(Plain::new(of)))
}

struct Plain {
    of: &'static Named,
    aliases: Vec<String>,
    signature: Signature,
}

impl Plain {
    fn new(of: &'static Named) -> Self {
        let volatility = if of.is_volatile { Volatility::Volatile } else { Volatility::Immutable };
        let signature = match of.forms {
            [Form { takes: [], .. }] => Signature::nullary(volatility),
            _ => Signature::user_defined(volatility),
        };
        Self { of, aliases: of.names[1..].iter().map(|name| (*name).to_owned()).collect(), signature }
    }

    /// The form that types of arguments fit best.
    fn form(&self, types: &[DataType]) -> Option<&'static Form> {
        let fits = |form: &&Form| form.takes.len() == types.len();
        let cost =
            |form: &Form| form.takes.iter().zip(types).map(|(kind, ty)| cost(*kind, ty)).sum::<Option<u32>>();
        let forms = self.of.forms.iter().filter(fits);
        forms.filter_map(|form| Some((cost(form)?, form))).min_by_key(|(cost, _)| *cost).map(|(_, form)| form)
    }
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// How far a type is from what an argument is to be.
fn cost(kind: Kind, ty: &DataType) -> Option<u32> {
    match kind {
        _ if ty.is_null() => Some(0),
        Kind::Text if is_text(ty) => Some(0),
        // Bytes are no text.
        Kind::Text if is_enum(ty) => Some(1),
        Kind::Text if ty.is_nested() || is_blob(ty) || is_bytes(ty) || *ty == UUID => None,
        Kind::Text => Some(9),
        Kind::Whole => ty.is_integer().then_some(0),
        Kind::Huge => matches!(ty, DataType::Decimal128(_, 0) | DataType::UInt64).then_some(0),
        Kind::Double if ty.is_floating() => Some(0),
        Kind::Double => ty.is_numeric().then_some(1),
        Kind::Bool => (*ty == DataType::Boolean).then_some(0),
        Kind::Blob => is_blob(ty).then_some(0),
        Kind::Uuid => (*ty == UUID).then_some(0),
        // A text says which bits or which geometry.
        Kind::Bit | Kind::Geometry if is_text(ty) => Some(2),
        Kind::Bit => (*ty == BIT).then_some(0),
        Kind::Geometry => (*ty == GEOMETRY).then_some(0),
        // Only given.
        Kind::Texts | Kind::Json => None,
    }
}

fn is_blob(ty: &DataType) -> bool {
    *ty != UUID && matches!(ty, DataType::Binary | DataType::FixedSizeBinary(_))
}

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Self::Text | Self::Json => DataType::Utf8,
            Self::Whole => DataType::Int64,
            Self::Huge => DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0),
            Self::Double => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Blob => DataType::Binary,
            Self::Texts => DataType::new_list(DataType::Utf8, true),
            Self::Uuid => UUID,
            Self::Bit => BIT,
            Self::Geometry => GEOMETRY,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Whole | Self::Huge => "a whole number",
            Self::Double => "a number",
            Self::Bool => "true or false",
            Self::Blob => "a blob",
            Self::Texts => "a list of texts",
            Self::Json => "JSON",
            Self::Uuid => "a uuid",
            Self::Bit => "bits",
            Self::Geometry => "a geometry",
        }
    }
}

/// `name(a text, a number)`.
fn described(name: &str, form: &Form) -> String {
    let words: Vec<_> = form.takes.iter().map(|kind| kind.word()).collect();
    format!("{name}({})", words.join(", "))
}

impl ScalarUDFImpl for Plain {
    fn name(&self) -> &str {
        self.of.names[0]
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.form(types) {
            Some(form) => Ok(form.takes.iter().map(|kind| kind.data_type()).collect()),
            None => {
                let forms: Vec<_> = self.of.forms.iter().map(|form| described(self.name(), form)).collect();
                plan_err!(
                    "{} does not take these arguments: it is called as {}",
                    self.name(),
                    forms.join(", ")
                )
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.form(types) {
            Some(form) => Ok(form.gives.data_type()),
            None => plan_err!("{} does not take these arguments", self.name()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(match self.form(&types) {
            Some(Form { gives: Kind::Json, .. }) => text_or_json(self.name(), true),
            _ => Arc::new(Field::new(self.name(), self.return_type(&types)?, true)),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<_> = args.args.iter().map(ColumnarValue::data_type).collect();
        let form =
            self.form(&types).ok_or_else(|| exec_datafusion_err!("{}: other arguments", self.name()))?;
        let is_one = !types.is_empty() && args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let mut out = Out::new(form.gives);
        for row in 0..rows {
            let values = columns.iter().zip(form.takes).map(|(column, kind)| given(column, *kind, row));
            match values.collect::<Option<Vec<_>>>() {
                Some(values) => out.add((form.make)(&values)?)?,
                None => out.add(Made::Nothing)?,
            }
        }
        returned(out.finish(), is_one)
    }
}

fn given(column: &ArrayRef, kind: Kind, row: usize) -> Option<Given<'_>> {
    if column.is_null(row) || column.data_type().is_null() {
        return None;
    }
    Some(match kind {
        Kind::Text => Given::Text(column.as_string::<i32>().value(row)),
        Kind::Whole => Given::Whole(column.as_primitive::<Int64Type>().value(row)),
        Kind::Huge => Given::Huge(column.as_primitive::<Decimal128Type>().value(row)),
        Kind::Double => Given::Double(column.as_primitive::<Float64Type>().value(row)),
        Kind::Bool => Given::Bool(column.as_boolean().value(row)),
        Kind::Blob => Given::Blob(column.as_binary::<i32>().value(row)),
        Kind::Uuid => Given::Blob(column.as_fixed_size_binary().value(row)),
        Kind::Bit | Kind::Geometry => Given::Blob(value_of(column, row)),
        Kind::Texts | Kind::Json => return None,
    })
}

/// A column that is being made.
enum Out {
    Text(StringBuilder),
    Whole(Int64Builder),
    Double(Float64Builder),
    Bool(BooleanBuilder),
    Blob(BinaryBuilder),
    Texts(ListBuilder<StringBuilder>),
    Uuid(FixedSizeBinaryBuilder),
    Bit(LargeBinaryBuilder),
    Geometry(BinaryViewBuilder),
}

impl Out {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::Json => Self::Text(StringBuilder::new()),
            // A huge one is only taken.
            Kind::Whole | Kind::Huge => Self::Whole(Int64Builder::new()),
            Kind::Double => Self::Double(Float64Builder::new()),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
            Kind::Blob => Self::Blob(BinaryBuilder::new()),
            Kind::Texts => Self::Texts(ListBuilder::new(StringBuilder::new())),
            Kind::Uuid => Self::Uuid(FixedSizeBinaryBuilder::new(UUID_LEN)),
            Kind::Bit => Self::Bit(LargeBinaryBuilder::new()),
            Kind::Geometry => Self::Geometry(BinaryViewBuilder::new()),
        }
    }

    fn add(&mut self, made: Made) -> Result<()> {
        match (self, made) {
            (Self::Uuid(to), Made::Uuid(uuid)) => to.append_value(uuid)?,
            (Self::Uuid(to), _) => to.append_null(),
            (Self::Text(to), Made::Text(text)) => to.append_value(text),
            (Self::Text(to), _) => to.append_null(),
            (Self::Whole(to), Made::Whole(number)) => to.append_value(number),
            (Self::Whole(to), _) => to.append_null(),
            (Self::Double(to), Made::Double(number)) => to.append_value(number),
            (Self::Double(to), _) => to.append_null(),
            (Self::Bool(to), Made::Bool(value)) => to.append_value(value),
            (Self::Bool(to), _) => to.append_null(),
            (Self::Blob(to), Made::Blob(bytes)) => to.append_value(bytes),
            (Self::Blob(to), _) => to.append_null(),
            (Self::Texts(to), Made::Texts(texts)) => to.append_value(texts),
            (Self::Texts(to), _) => to.append_null(),
            (Self::Bit(to), Made::Blob(bytes)) => to.append_value(bytes),
            (Self::Bit(to), _) => to.append_null(),
            (Self::Geometry(to), Made::Blob(bytes)) => to.append_value(bytes),
            (Self::Geometry(to), _) => to.append_null(),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(of) => Arc::new(of.finish()),
            Self::Whole(of) => Arc::new(of.finish()),
            Self::Double(of) => Arc::new(of.finish()),
            Self::Bool(of) => Arc::new(of.finish()),
            Self::Blob(of) => Arc::new(of.finish()),
            Self::Texts(of) => Arc::new(of.finish()),
            Self::Uuid(of) => Arc::new(of.finish()),
            Self::Bit(of) => Arc::new(of.finish()),
            Self::Geometry(of) => Arc::new(of.finish()),
        }
    }
}
