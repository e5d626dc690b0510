//! `nextval`, `currval`, `lastval`, `setval`.

use std::{
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use ambo::{DEFAULT_SCHEMA, Object, qualify};
use arrow::{
    array::{Array, AsArray, Int64Array},
    datatypes::{DataType, Int64Type},
};
use datafusion::{
    common::{Result as PlanResult, ScalarValue, plan_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

use super::{Definition, Sequences, Taken};
use crate::{
    Error, Result,
    error::outer,
    names::shown,
    pg_catalog::parts,
    rights::{Right, denied},
};

/// The whole name of what a text names as statements do: its parts in quotes where they have to be, and `public` for the schema that is
/// always there.
fn written_name(text: &str) -> Option<String> {
    match &parts(text)?[..] {
        [name] => Some(format!("{DEFAULT_SCHEMA}.{name}")),
        [schema, name] if schema == "public" => Some(format!("{DEFAULT_SCHEMA}.{name}")),
        [schema, name] => Some(format!("{schema}.{name}")),
        _ => None,
    }
}

/// What is asked of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    Next,
    Current,
    Last,
    Set,
}

impl Number {
    /// The function of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "nextval" => Self::Next,
            "currval" => Self::Current,
            "lastval" => Self::Last,
            "setval" => Self::Set,
            _ => return None,
        })
    }

    /// Any of these is enough.
    pub(crate) fn rights(self) -> &'static [Right] {
        match self {
            Self::Next => &[Right::Usage, Right::Update],
            Self::Current => &[Right::Usage, Right::Select],
            // It is of what the session has taken.
            Self::Last => &[],
            Self::Set => &[Right::Update],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Next => "nextval",
            Self::Current => "currval",
            Self::Last => "lastval",
            Self::Set => "setval",
        }
    }
}

/// A sequence that a statement sees.
#[derive(Clone)]
pub(crate) struct Seen {
    pub object: Arc<Object>,
    /// Who gives its numbers.
    pub sequences: Arc<Sequences>,
    /// Whether the role may do with it what the function does.
    pub is_allowed: bool,
}

/// Sequences by the names that they are found under.
pub(crate) type There = HashMap<String, Seen>;

/// The function, with the sequences that a statement sees.
pub(crate) struct SequenceFunction {
    what: Number,
    taken: Arc<Taken>,
    there: There,
    /// The arguments, if they are in no expression.
    own: Vec<ScalarValue>,
    signature: Signature,
}

impl SequenceFunction {
    pub(crate) fn function(what: Number, taken: &Arc<Taken>, there: There) -> ScalarUDF {
        ScalarUDF::new_from_impl(Self {
            what,
            taken: taken.clone(),
            there,
            own: Vec::new(),
            signature: Signature::user_defined(Volatility::Volatile),
        })
    }

    /// The same of these arguments.
    fn with(&self, own: Vec<ScalarValue>) -> Self {
        Self {
            what: self.what,
            taken: self.taken.clone(),
            there: self.there.clone(),
            own,
            signature: Signature::nullary(Volatility::Volatile),
        }
    }

    fn sequence(&self, name: &str) -> Result<(&str, Definition, &Sequences)> {
        let bare = name.trim_matches('"');
        let object = self.there.get(&qualify(bare)?);
        let object = object.or_else(|| self.there.get(&qualify(&bare.to_lowercase()).ok()?));
        let object = object.or_else(|| self.there.get(&written_name(name)?));
        let known = self.there.keys().map(|name| shown(name));
        let Seen { object, sequences, is_allowed } =
            object.ok_or_else(|| Error::not_found("sequence", bare, known))?;
        match is_allowed {
            true => Ok((&object.name, Definition::read(&object.text)?, sequences)),
            false => Err(denied("sequence", &object.name)),
        }
    }

    fn number(&self, row: usize, args: &[Arc<dyn Array>]) -> Result<Option<i64>> {
        if args.iter().any(|arg| arg.is_null(row)) {
            return Ok(None);
        }
        let Some(name) = args.first() else {
            let none =
                || Error::invalid("nextval() was not called in this session, so there is no lastval()");
            return self.taken.last().ok_or_else(none).map(Some);
        };
        let (name, of, sequences) = self.sequence(name.as_string::<i32>().value(row))?;
        let number = match self.what {
            Number::Next => {
                let number = sequences.take(name, &of)?;
                self.taken.note(of.id, number);
                number
            }
            Number::Current | Number::Last => self.taken.last_of(of.id).ok_or_else(|| {
                let name = shown(name);
                Error::invalid(format!(
                    "nextval('{name}') was not called in this session, so there is no currval"
                ))
            })?,
            Number::Set => {
                let number = args[1].as_primitive::<Int64Type>().value(row);
                let is_called = args.get(2).is_none_or(|called| called.as_boolean().value(row));
                self.set(sequences, name, &of, number, is_called)?
            }
        };
        Ok(Some(number))
    }

    fn set(
        &self,
        sequences: &Sequences,
        name: &str,
        of: &Definition,
        number: i64,
        is_called: bool,
    ) -> Result<i64> {
        if !of.has(number.into()) {
            let bounds = format!("{} to {}", of.min, of.max);
            return Err(Error::invalid(format!(
                "sequence \"{}\" gives numbers from {bounds}, not {number}",
                shown(name)
            )));
        }
        let next = i128::from(number) + if is_called { i128::from(of.increment) } else { 0 };
        sequences.set(name, of, next)?;
        if is_called {
            self.taken.note(of.id, number);
        }
        Ok(number)
    }
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        self.what.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        let wanted = [DataType::Utf8, DataType::Int64, DataType::Boolean];
        let counts = match self.what {
            Number::Next | Number::Current => 1..=1,
            Number::Last => 0..=0,
            Number::Set => 2..=3,
        };
        let is_text = |kind: &DataType| {
            matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
        };
        match counts.contains(&types.len()) && types.first().is_none_or(is_text) {
            true => Ok(wanted[..types.len()].to_vec()),
            false => plan_err!(
                "{}",
                match self.what {
                    Number::Last => "lastval() takes nothing",
                    Number::Set =>
                        "setval() takes the name of a sequence as a text, a number, and perhaps whether it was given out",
                    Number::Next | Number::Current =>
                        "nextval() and currval() take the name of a sequence as a text",
                }
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Int64)
    }

    /// The planner takes a function whose arguments are constants for a constant, whatever it gives: so it has none.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> PlanResult<ExprSimplifyResult> {
        let constant = |expr: &Expr| match expr {
            Expr::Literal(value, _) => Some(value.clone()),
            _ => None,
        };
        match args.iter().map(constant).collect::<Option<Vec<_>>>() {
            Some(own) if !own.is_empty() => {
                let function = ScalarUDF::new_from_impl(self.with(own));
                Ok(ExprSimplifyResult::Simplified(function.call(Vec::new())))
            }
            _ => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let own = self.own.iter().map(|value| value.to_array_of_size(args.number_rows));
        let given = args.args.iter().map(|value| value.to_array(args.number_rows));
        let columns: Vec<_> = own.chain(given).collect::<PlanResult<_>>()?;
        let numbers = (0..args.number_rows).map(|row| self.number(row, &columns));
        let numbers: Int64Array = numbers.collect::<Result<_>>().map_err(outer)?;
        Ok(ColumnarValue::Array(Arc::new(numbers)))
    }
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
            && Arc::ptr_eq(&self.taken, &other.taken)
            && self.there.len() == other.there.len()
            && self.there.iter().all(|(name, seen)| {
                other.there.get(name).is_some_and(|of| {
                    of.object == seen.object
                        && Arc::ptr_eq(&of.sequences, &seen.sequences)
                        && of.is_allowed == seen.is_allowed
                })
            })
            && self.own == other.own
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.what, &self.own).hash(state);
    }
}

impl fmt::Debug for SequenceFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.what.name())
    }
}
