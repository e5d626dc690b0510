//! Enums: texts of a list, stored as their places in it.

use std::{collections::HashSet, fmt};

use ambo_codec::varint;

use crate::encoding::{Input, put_optional, put_text};

/// The most labels: as many as a `u16` tells apart.
const LABELS_MAX: usize = 1 << 16;

/// What begins a part of a text that stands for a type elsewhere, so that no label has it.
const MARK: char = '\u{1}';

/// The labels of an enum, in the order of its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enum {
    /// `schema.name` of the type that it is of; none for one that is written out.
    pub name: Option<String>,
    /// A value is the place of one of these.
    pub labels: Vec<String>,
}

impl Enum {
    /// An enum without a name.
    pub fn of(labels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name: None, labels: labels.into_iter().map(Into::into).collect() }
    }

    /// The label of a stored value.
    ///
    /// # Errors
    /// There is none at that place.
    pub fn label(&self, code: u16) -> Result<&str, String> {
        let label = self.labels.get(usize::from(code)).map(String::as_str);
        label.ok_or_else(|| format!("{code} is not the place of one of its {} labels", self.labels.len()))
    }

    /// The place of a label.
    ///
    /// # Errors
    /// It is none, with those that there are.
    pub fn code(&self, label: &str) -> Result<u16, String> {
        let place = self.labels.iter().position(|known| known == label);
        place.and_then(|place| u16::try_from(place).ok()).ok_or_else(|| self.no_label(label))
    }

    /// What is said of a text that is no label.
    pub fn no_label(&self, text: &str) -> String {
        const SHOWN: usize = 20;
        let known: Vec<_> = self.labels.iter().take(SHOWN).map(|label| format!("'{label}'")).collect();
        let more = if self.labels.len() > SHOWN { ", …" } else { "" };
        format!("'{text}' is none of the labels of the enum: {}{more}", known.join(", "))
    }

    /// # Errors
    /// What is wrong with it.
    pub fn validate(&self) -> Result<(), String> {
        if self.labels.is_empty() || self.labels.len() > LABELS_MAX {
            return Err(format!("an enum has 1 to {LABELS_MAX} labels, not {}", self.labels.len()));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = self.labels.iter().find(|label| !seen.insert(label.as_str())) {
            return Err(format!("label '{twice}' is twice in the enum"));
        }
        match self.labels.iter().find(|label| label.contains(MARK)) {
            Some(label) => Err(format!("label '{}' has the control sign U+0001", label.escape_debug())),
            None => Ok(()),
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_optional(out, self.name.as_deref());
        varint::encode(self.labels.len() as u64, out);
        self.labels.iter().for_each(|label| put_text(out, label));
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Result<Self, String> {
        let name = input.optional()?;
        let labels = (0..input.count(LABELS_MAX)?).map(|_| input.text()).collect::<Result<_, _>>()?;
        Ok(Self { name, labels })
    }
}

impl fmt::Display for Enum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("enum(")?;
        for (nth, label) in self.labels.iter().enumerate() {
            let comma = if nth > 0 { ", " } else { "" };
            write!(f, "{comma}'{}'", label.replace('\'', "''"))?;
        }
        f.write_str(")")
    }
}
