//! Functions of texts that are given enums: labels are texts there.
//!
//! The planner refuses such a call as soon as it meets it, when types are not known to us. So the arguments of functions that its error
//! names are written as texts where they are enums ([`TEXT`]), and the statement is planned again.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use datafusion::{
    common::Result,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
    sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, VisitorMut},
};

use super::patterns::call;
use crate::{Error, logical::is_enum, names::written, nested::nested_texts, walk::WalkMut};

/// The function that makes a text of an enum, and leaves everything else as it is.
const TEXT: &str = "enum_text";

/// Writes the arguments of functions that an error about enums names as texts. Returns whether there are some that were not.
pub(super) fn say_texts(tree: &mut impl WalkMut, error: &Error) -> bool {
    let mut texts = Texts { message: error.message(), has_changed: false };
    let ControlFlow::Continue(()) = tree.walk_mut(&mut texts);
    texts.has_changed
}

/// Whether an error may be one of a function that was given an enum.
pub(super) fn is_about_enums(error: &Error) -> bool {
    error.message().contains("enum")
}

struct Texts<'e> {
    message: &'e str,
    has_changed: bool,
}

/// Functions that the planner's error does not name.
const NOT_NAMED: [&str; 2] = ["string_agg", "listagg"];

impl Texts<'_> {
    /// Whether the error names a function.
    fn is_named(&self, name: &str) -> bool {
        let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
        NOT_NAMED.contains(&name) || self.message.split(|sign| !is_word(sign)).any(|word| word == name)
    }
}

/// Writes an argument as a text. Returns whether it was none.
fn say_text(arg: &mut Expr) -> bool {
    let is_done = matches!(arg, Expr::Function(of) if written(&of.name).is_ok_and(|name| name == TEXT));
    // Some functions ask for literals.
    let is_changed = !is_done && !matches!(arg, Expr::Value(_));
    if is_changed {
        *arg = call(TEXT, vec![arg.clone()]);
    }
    is_changed
}

impl VisitorMut for Texts<'_> {
    type Break = std::convert::Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let function = match expr {
            Expr::Function(function) => function,
            Expr::Substring { expr: of, .. } if self.is_named("substr") => {
                self.has_changed |= say_text(of);
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        let Ok(name) = written(&function.name) else { return ControlFlow::Continue(()) };
        let FunctionArguments::List(list) = &mut function.args else { return ControlFlow::Continue(()) };
        if name == TEXT || !self.is_named(&name) {
            return ControlFlow::Continue(());
        }
        for arg in &mut list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else { continue };
            self.has_changed |= say_text(arg);
        }
        ControlFlow::Continue(())
    }
}

/// See [`TEXT`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct EnumText(Signature);

impl EnumText {
    pub(crate) fn new() -> Self {
        Self(Signature::any(1, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for EnumText {
    fn name(&self) -> &str {
        TEXT
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(if is_enum(&types[0]) { DataType::Utf8 } else { types[0].clone() })
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = args.args.swap_remove(0);
        if !is_enum(&value.data_type()) {
            return Ok(value);
        }
        let is_one = matches!(value, ColumnarValue::Scalar(_));
        let texts = nested_texts(&value.to_array(if is_one { 1 } else { args.number_rows })?)?;
        crate::value::returned(std::sync::Arc::new(texts), is_one)
    }
}
