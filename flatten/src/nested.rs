//! Components within a component: each is flattened by itself, as far as it can stand by itself.

use wasm_encoder::{Component, RawSection};
use wasmparser::{Parser, Payload};

use crate::component::slice;
use crate::{Error, Flattened, Outcome, flatten_at};

/// The section of a nested component, by the binary format of the component model.
const COMPONENT_SECTION: u8 = 4;
/// Components that lie deeper stay as they are.
const MAX_DEPTH: u32 = 8;

/// Flattens what lies within a component; `None` when nothing of it changes.
pub(crate) fn flatten_within(bytes: &[u8], depth: u32) -> Result<Option<Flattened>, Error> {
    if depth >= MAX_DEPTH {
        return Ok(None);
    }
    let mut output = Component::new();
    let mut found: Option<Flattened> = None;
    let mut level = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match &payload {
            Payload::Version { .. } => level += 1,
            Payload::End(_) => level = level.saturating_sub(1),
            _ => {}
        }
        // A nested component is a section of the level above, and begins a level itself.
        if level != 1 {
            continue;
        }
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        let data = slice(bytes, range)?;
        match flattened(id, data, depth)? {
            Some(inner) => {
                output.section(&RawSection {
                    id,
                    data: &inner.component,
                });
                found = Some(match found {
                    Some(before) => before.and(inner),
                    None => inner,
                });
            }
            None => {
                output.section(&RawSection { id, data });
            }
        }
    }
    Ok(found.map(|found| Flattened {
        component: output.finish(),
        ..found
    }))
}

/// A nested component that changes. One that takes things from around it is none by itself; that, and one that cannot be
/// flattened, stays as it is.
fn flattened(id: u8, data: &[u8], depth: u32) -> Result<Option<Flattened>, Error> {
    if id != COMPONENT_SECTION {
        return Ok(None);
    }
    match flatten_at(data, depth + 1) {
        Ok(Outcome::Flattened(inner)) => Ok(Some(inner)),
        Ok(Outcome::Unchanged(_)) => Ok(None),
        Err(fault @ (Error::Output(_) | Error::Encode(_) | Error::Missing { .. })) => Err(fault),
        Err(_) => Ok(None),
    }
}
