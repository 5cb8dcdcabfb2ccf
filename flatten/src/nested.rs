//! Components within a component: each is flattened by itself, as far as it can stand by itself.

use wasm_encoder::Component;

use crate::sections::{self, Section, id};
use crate::{Error, Flattened, Outcome, flatten_at};

/// Components that lie deeper stay as they are.
const MAX_DEPTH: u32 = 8;

/// Flattens what lies within a component; `None` when nothing of it changes.
pub(crate) fn flatten_within(bytes: &[u8], depth: u32) -> Result<Option<Flattened>, Error> {
    if depth >= MAX_DEPTH {
        return Ok(None);
    }
    let mut output = Component::new();
    let mut found: Option<Flattened> = None;
    for mut section in sections::of(bytes)? {
        if let Some(inner) = flattened(&section, depth)? {
            section.data = inner.component.clone().into();
            found = Some(match found {
                Some(before) => before.and(inner),
                None => inner,
            });
        }
        output.section(&section.raw());
    }
    Ok(found.map(|found| Flattened {
        component: output.finish(),
        ..found
    }))
}

/// A nested component that changes. One that takes things from around it is none by itself; that, and one that cannot be
/// flattened, stays as it is.
fn flattened(section: &Section<'_>, depth: u32) -> Result<Option<Flattened>, Error> {
    if section.id != id::COMPONENT {
        return Ok(None);
    }
    match flatten_at(&section.data, depth + 1) {
        Ok(Outcome::Flattened(inner)) => Ok(Some(inner)),
        Ok(Outcome::Unchanged(_)) => Ok(None),
        Err(fault @ (Error::Output(_) | Error::Encode(_) | Error::Missing { .. })) => Err(fault),
        Err(_) => Ok(None),
    }
}
