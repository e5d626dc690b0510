//! What is asked of a value: whether it is one, its type, its names, its length, what it has in it; and the same value written otherwise.

use std::borrow::Cow;

use datafusion::common::{Result, exec_err};

use super::{
    super::plain::{
        Form, Given,
        Kind::{Bool, Json as AsJson, Text, Texts, Whole},
        Made, Named, plain,
    },
    path::{Step, is_wild, one, path},
    value::{Json, given, read},
};

pub(super) static ALL: [Named; 13] = [
    plain!(["json_valid"], [Text] => Bool, |of| Ok(read(of[0].text()).is_ok().into())),
    plain!(["json"], [Text] => AsJson, |of| Ok(given("json", of[0].text())?.text().into())),
    at_place(
        &["json_type", "json_typeof", "jsonb_typeof"],
        &[
            Form { takes: &[Text], gives: Text, make: |of| at(of, |value| Ok(value.kind().into())) },
            Form { takes: &[Text, Text], gives: Text, make: |of| at(of, |value| Ok(value.kind().into())) },
        ],
    ),
    at_place(
        &["json_array_length", "jsonb_array_length"],
        &[
            Form { takes: &[Text], gives: Whole, make: |of| at(of, |value| Ok(length(value).into())) },
            Form { takes: &[Text, Text], gives: Whole, make: |of| at(of, |value| Ok(length(value).into())) },
        ],
    ),
    at_place(
        &["json_keys"],
        &[
            Form { takes: &[Text], gives: Texts, make: |of| at(of, |value| Ok(keys(value))) },
            Form { takes: &[Text, Text], gives: Texts, make: |of| at(of, |value| Ok(keys(value))) },
        ],
    ),
    at_place(
        &["json_value"],
        &[
            Form { takes: &[Text, Text], gives: Text, make: |of| at(of, scalar) },
            Form { takes: &[Text, Whole], gives: Text, make: element },
        ],
    ),
    plain!(["json_exists", "json_path_exists"], [Text, Text] => Bool, exists),
    plain!(["json_contains"], [Text, Text] => Bool, contains),
    plain!(["json_structure"], [Text] => AsJson, |of| {
        Ok(Shape::of(&given("json_structure", of[0].text())?).json().text().into())
    }),
    plain!(["json_pretty", "jsonb_pretty"], [Text] => Text, pretty),
    plain!(["json_normalize"], [Text] => AsJson, |of| {
        Ok(normalized(given("json_normalize", of[0].text())?).text().into())
    }),
    plain!(["json_strip_nulls", "jsonb_strip_nulls"], [Text] => AsJson, |of| {
        Ok(without_nulls(given("json_strip_nulls", of[0].text())?).text().into())
    }),
    plain!(["json_error_position"], [Text] => Whole, |of| {
        Ok(read(of[0].text()).map_or_else(|(at, _)| at as i64 + 1, |_| 0).into())
    }),
];

const fn at_place(names: &'static [&'static str], forms: &'static [Form]) -> Named {
    Named { names, is_volatile: false, forms }
}

/// Something of the value, or of what stands at a place in it; nothing where there is none.
fn at(of: &[Given<'_>], make: impl Fn(&Json<'_>) -> Result<Made>) -> Result<Made> {
    let value = given("JSON", of[0].text())?;
    match of.get(1) {
        None => make(&value),
        Some(place) => one(&value, &steps(place.text())?).map_or(Ok(Made::Nothing), make),
    }
}

/// A path that leads to one place.
fn steps(text: &str) -> Result<Vec<Step>> {
    let steps = path(text)?;
    match is_wild(&steps) {
        true => exec_err!("'{text}' leads to several places; json_extract gives a list of what stands there"),
        false => Ok(steps),
    }
}

fn length(value: &Json<'_>) -> i64 {
    match value {
        Json::Array(elements) => elements.len() as i64,
        _ => 0,
    }
}

fn keys(value: &Json<'_>) -> Made {
    match value {
        Json::Object(fields) => Made::Texts(fields.iter().map(|(name, _)| Some(name.to_string())).collect()),
        _ => Made::Texts(Vec::new()),
    }
}

/// A text, number or boolean as text.
fn scalar(value: &Json<'_>) -> Result<Made> {
    Ok(match value {
        Json::Array(_) | Json::Object(_) => Made::Nothing,
        value => value.bare().into(),
    })
}

/// The scalar that is an element of an array.
fn element(of: &[Given<'_>]) -> Result<Made> {
    let value = given("json_value", of[0].text())?;
    one(&value, &[Step::Place(of[1].whole())]).map_or(Ok(Made::Nothing), scalar)
}

fn exists(of: &[Given<'_>]) -> Result<Made> {
    let (value, steps, mut found) = (given("json_exists", of[0].text())?, path(of[1].text())?, Vec::new());
    super::path::all(&value, &steps, &mut found);
    Ok((!found.is_empty()).into())
}

/// Whether a value is in another one, on any level: an object with more names is one with fewer, too.
fn contains(of: &[Given<'_>]) -> Result<Made> {
    let [value, wanted] = [0, 1].map(|nth| given("json_contains", of[nth].text()));
    Ok(has(&value?, &wanted?).into())
}

fn has(value: &Json<'_>, wanted: &Json<'_>) -> bool {
    covers(value, wanted)
        || match value {
            Json::Array(elements) => elements.iter().any(|element| has(element, wanted)),
            Json::Object(fields) => fields.iter().any(|(_, field)| has(field, wanted)),
            _ => false,
        }
}

/// Whether a value has the names, elements and scalars of another at the same places.
pub(super) fn covers(value: &Json<'_>, wanted: &Json<'_>) -> bool {
    match (value, wanted) {
        (Json::Object(_), Json::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| value.field(name).is_some_and(|value| covers(value, wanted)))
        }
        (Json::Array(elements), Json::Array(wanted)) => {
            wanted.iter().all(|wanted| elements.iter().any(|element| covers(element, wanted)))
        }
        (Json::Number(value), Json::Number(wanted)) => {
            value.parse::<f64>().ok() == wanted.parse::<f64>().ok()
        }
        (value, wanted) => value == wanted,
    }
}

fn pretty(of: &[Given<'_>]) -> Result<Made> {
    let mut out = String::new();
    given("json_pretty", of[0].text())?.write_lines(0, &mut out);
    Ok(out.into())
}

/// With the names of objects in their order.
fn normalized(value: Json<'_>) -> Json<'_> {
    match value {
        Json::Array(elements) => Json::Array(elements.into_iter().map(normalized).collect()),
        Json::Object(fields) => {
            let mut fields: Vec<_> =
                fields.into_iter().map(|(name, value)| (name, normalized(value))).collect();
            fields.sort_by(|(left, _), (right, _)| left.cmp(right));
            Json::Object(fields)
        }
        value => value,
    }
}

/// Without names that mean null.
fn without_nulls(value: Json<'_>) -> Json<'_> {
    match value {
        Json::Array(elements) => Json::Array(elements.into_iter().map(without_nulls).collect()),
        Json::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(fields.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        value => value,
    }
}

/// The types of values, one for all elements of an array.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Plain(&'static str),
    Array(Box<Self>),
    Object(Vec<(String, Self)>),
}

impl Shape {
    fn of(value: &Json<'_>) -> Self {
        match value {
            Json::Array(elements) => {
                let all = elements.iter().map(Self::of).reduce(Self::and);
                Self::Array(Box::new(all.unwrap_or(Self::Plain("NULL"))))
            }
            Json::Object(fields) if fields.is_empty() => Self::Plain("JSON"),
            Json::Object(fields) => {
                let mut of: Vec<(String, Self)> = Vec::new();
                for (name, value) in fields {
                    if !of.iter().any(|(known, _)| known == name) {
                        of.push((name.to_string(), Self::of(value)));
                    }
                }
                Self::Object(of)
            }
            value => Self::Plain(value.kind()),
        }
    }

    /// What both are; JSON if they have nothing in common.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Plain("NULL"), other) | (other, Self::Plain("NULL")) => other,
            (Self::Array(one), Self::Array(other)) => Self::Array(Box::new(one.and(*other))),
            (Self::Object(mut fields), Self::Object(others)) => {
                for (name, shape) in others {
                    match fields.iter_mut().find(|(of, _)| *of == name) {
                        Some((_, of)) => *of = of.clone().and(shape),
                        None => fields.push((name, shape)),
                    }
                }
                Self::Object(fields)
            }
            (Self::Plain(one), Self::Plain(other)) => Self::Plain(match [one, other] {
                ["UBIGINT" | "BIGINT" | "HUGEINT", "UBIGINT" | "BIGINT" | "HUGEINT"] => "HUGEINT",
                [
                    "DOUBLE" | "UBIGINT" | "BIGINT" | "HUGEINT",
                    "DOUBLE" | "UBIGINT" | "BIGINT" | "HUGEINT",
                ] => "DOUBLE",
                _ => "JSON",
            }),
            _ => Self::Plain("JSON"),
        }
    }

    fn json(&self) -> Json<'_> {
        match self {
            Self::Plain(name) => Json::Text(Cow::Borrowed(name)),
            Self::Array(element) => Json::Array(vec![element.json()]),
            Self::Object(fields) => Json::Object(
                fields.iter().map(|(name, shape)| (Cow::Borrowed(name.as_str()), shape.json())).collect(),
            ),
        }
    }
}
