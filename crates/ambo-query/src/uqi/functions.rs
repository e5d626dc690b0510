//! The functions that are built in.

use std::{any::Any, sync::Arc};

use ambo_codec::{Type, Value};
use ambo_types::{Error, Result};

use super::{
    Aggregate, AggregatePlugin, Batch, Input, Stream, UqiResult,
    numbers::{Total, is_number},
    tops::Tops,
};

/// The functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Count,
    Sum,
    Average,
    Min,
    Max,
    Top,
    Bottom,
    Value,
}

/// The function of a name in lower case.
pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "count" => Function::Count,
        "sum" => Function::Sum,
        "average" => Function::Average,
        "min" => Function::Min,
        "max" => Function::Max,
        "top" => Function::Top,
        "bottom" => Function::Bottom,
        "value" => Function::Value,
        _ => return None,
    })
}

/// The same as a plug-in.
pub(super) fn of(name: &str) -> Option<Arc<dyn AggregatePlugin>> {
    named(name).map(|function| Arc::new(BuiltIn { function, limit: 1, is_distinct: false }) as _)
}

/// A function with what the query says of it.
#[derive(Clone, Copy)]
pub(super) struct BuiltIn {
    pub(super) function: Function,
    pub(super) limit: usize,
    pub(super) is_distinct: bool,
}

impl AggregatePlugin for BuiltIn {
    fn start(&self, input: &Input) -> Result<Box<dyn Aggregate>> {
        let function = self.function;
        let ty = match (function, input.first) {
            (Function::Count, ty) => ty.unwrap_or(Type::Binary),
            (Function::Sum | Function::Average, Some(ty)) if !is_number(ty) => {
                return Err(Error::Invalid(format!(
                    "{} takes integers and floats, not values of type {ty}",
                    function.name()
                )));
            }
            (_, Some(ty)) => ty,
            (_, None) => return Err(Error::Invalid(format!("{} takes an input", function.name()))),
        };
        if !matches!(function, Function::Count | Function::Value)
            && input.second.is_some()
            && !self.needs_both()
        {
            return Err(Error::Invalid(format!("{} takes one input", function.name())));
        }
        Ok(match function {
            Function::Count => Box::new(Count(0)),
            Function::Sum | Function::Average => Box::new(Sum { function, ty, total: Total::default() }),
            Function::Min | Function::Max | Function::Top | Function::Bottom => {
                let is_top = matches!(function, Function::Max | Function::Top);
                Box::new(Tops::new(*input, ty, is_top, self.limit, self.is_distinct))
            }
            Function::Value => Box::new(Values::new(input, ty)),
        })
    }

    fn can_be_merged(&self) -> bool {
        true
    }

    fn needs_both(&self) -> bool {
        matches!(self.function, Function::Min | Function::Max | Function::Top | Function::Bottom)
    }
}

impl Function {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Count => "COUNT",
            Self::Sum => "SUM",
            Self::Average => "AVERAGE",
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::Top => "TOP",
            Self::Bottom => "BOTTOM",
            Self::Value => "VALUE",
        }
    }
}

/// The other of the same kind, whose plug-in was the same.
pub(super) fn same<A: Aggregate + 'static>(other: Box<dyn Aggregate>) -> Result<A> {
    match other.into_any().downcast() {
        Ok(other) => Ok(*other),
        Err(_) => Err(Error::Invalid("aggregates of different kinds were merged".into())),
    }
}

/// The number of rows.
///
/// # Errors
/// None.
pub(super) fn counted(rows: u64) -> Result<UqiResult> {
    UqiResult::of_all("COUNT", Type::U64, &Value::U64(rows))
}

/// SUM or AVERAGE of a total.
pub(super) fn totalled(function: Function, ty: Type, total: &Total) -> Result<UqiResult> {
    if function == Function::Sum {
        let (ty, sum) = total.sum(ty)?;
        return UqiResult::of_all("SUM", ty, &sum);
    }
    match total.average(ty) {
        Some(average) => UqiResult::of_all("AVERAGE", Type::F64, &Value::F64(average)),
        None => Ok(UqiResult::new(Type::Binary, Type::F64)),
    }
}

#[derive(Clone)]
struct Count(u64);

impl Aggregate for Count {
    fn many(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.0 += batch.count() as u64;
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregate>) -> Result<()> {
        self.0 += same::<Self>(other)?.0;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<UqiResult> {
        counted(self.0)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn copy(&self) -> Option<(Box<dyn Aggregate>, usize)> {
        Some((Box::new(self.clone()), size_of::<Self>()))
    }
}

#[derive(Clone)]
struct Sum {
    function: Function,
    ty: Type,
    total: Total,
}

impl Aggregate for Sum {
    fn many(&mut self, batch: &Batch<'_>) -> Result<()> {
        if let Some(column) = &batch.first {
            self.total.add(batch, column);
        }
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregate>) -> Result<()> {
        self.total.merge(&same::<Self>(other)?.total);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<UqiResult> {
        totalled(self.function, self.ty, &self.total)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn copy(&self) -> Option<(Box<dyn Aggregate>, usize)> {
        Some((Box::new(self.clone()), size_of::<Self>() + self.total.float.bytes()))
    }
}

/// Each selected row, by parts of the whole.
struct Values {
    is_record: bool,
    /// What has been found at each position.
    parts: Vec<(u64, Stream, Option<Stream>)>,
    types: (Type, Option<Type>),
}

impl Values {
    fn new(input: &Input, ty: Type) -> Self {
        Self { is_record: input.is_record, parts: Vec::new(), types: (ty, input.second) }
    }
}

impl Aggregate for Values {
    fn many(&mut self, batch: &Batch<'_>) -> Result<()> {
        let Some(first) = &batch.first else { return Ok(()) };
        let mut found = (batch.position, Stream::new(self.types.0), self.types.1.map(Stream::new));
        let mut done = Ok(());
        batch.for_rows(|row| {
            if done.is_ok() {
                done = found.1.push(first.value(row));
            }
            if let (Ok(()), Some(second), Some(stream)) = (&done, &batch.second, &mut found.2) {
                done = stream.push(second.value(row));
            }
        });
        done?;
        self.parts.push(found);
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregate>) -> Result<()> {
        self.parts.extend(same::<Self>(other)?.parts);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<UqiResult> {
        self.parts.sort_by_key(|(position, ..)| *position);
        let (mut first, mut second) = (Stream::new(self.types.0), self.types.1.map(Stream::new));
        for (_, one, other) in &self.parts {
            first.append_all(one)?;
            if let (Some(second), Some(other)) = (&mut second, other) {
                second.append_all(other)?;
            }
        }
        let second = second.unwrap_or_else(|| Stream::new(Type::Binary));
        Ok(match self.is_record {
            true => UqiResult { keys: second, records: first },
            false => UqiResult { keys: first, records: second },
        })
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
