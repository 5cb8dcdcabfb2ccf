//! Readings that are tables by number: GPM metrics, field values.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::patch::{Patch, given};
use crate::code::Code;

/// GPM.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gpm {
    /// Whether the GPU can do it; `None`: the question gives 3.
    pub supported: Option<bool>,
    /// Values by metric id; a metric that is missing gives 3.
    pub metrics: BTreeMap<u32, f64>,
}

/// Changes to [`Gpm`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpmPatch {
    /// Whether the GPU can do it.
    #[serde(default, deserialize_with = "given")]
    pub supported: Option<Option<bool>>,
    /// Values by metric id; `null` takes one away.
    #[serde(default)]
    pub metrics: BTreeMap<u32, Option<f64>>,
}

impl Patch for GpmPatch {
    type Target = Gpm;

    fn apply(&self, to: &mut Gpm) {
        if let Some(supported) = self.supported {
            to.supported = supported;
        }
        for (id, value) in &self.metrics {
            match value {
                Some(value) => to.metrics.insert(*id, *value),
                None => to.metrics.remove(id),
            };
        }
    }
}

/// A value given by number of a field.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum FieldSpec {
    /// A whole number, `unsigned long long` on the wire.
    Whole(u64),
    /// A negative number, `signed long long` on the wire.
    Signed(i64),
    /// A number with a fraction, `double` on the wire.
    Fraction(f64),
    /// `{error: not_supported}`.
    Fails {
        /// The return code.
        error: Code,
    },
}

/// Field values by `id` or `id:scope`.
pub type Fields = BTreeMap<String, FieldSpec>;

/// Changes to [`Fields`]; `null` takes one away.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct FieldsPatch(pub BTreeMap<String, Option<FieldSpec>>);

impl Patch for FieldsPatch {
    type Target = Fields;

    fn apply(&self, to: &mut Fields) {
        for (key, value) in &self.0 {
            match value {
                Some(value) => to.insert(key.clone(), *value),
                None => to.remove(key),
            };
        }
    }
}
