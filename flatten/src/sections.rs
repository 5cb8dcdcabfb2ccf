//! A module or a component as a list of sections that stay as they are, but for those that are changed.

use std::borrow::Cow;
use std::ops::Range;

use wasm_encoder::{Encode, RawSection};
use wasmparser::{BinaryReader, Parser, Payload};

use crate::component::slice;
use crate::error::Error;

/// Ids of sections, by the binary formats of core WebAssembly and of the component model.
pub(crate) mod id {
    pub(crate) const TYPE: u8 = 1;
    pub(crate) const FUNCTION: u8 = 3;
    pub(crate) const START: u8 = 8;
    pub(crate) const CODE: u8 = 10;
    /// Of a component.
    pub(crate) const COMPONENT: u8 = 4;
}

/// One section.
pub(crate) struct Section<'a> {
    pub(crate) id: u8,
    pub(crate) data: Cow<'a, [u8]>,
    /// Where it lies, within what it is a section of.
    pub(crate) at: Range<u64>,
}

impl Section<'_> {
    /// As wasm-encoder takes it.
    pub(crate) fn raw(&self) -> RawSection<'_> {
        RawSection {
            id: self.id,
            data: &self.data,
        }
    }
}

/// The sections of the top level. `bytes` were accepted by the validator.
pub(crate) fn of(bytes: &[u8]) -> Result<Vec<Section<'_>>, Error> {
    let (mut found, mut level) = (Vec::new(), 0_u32);
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match &payload {
            Payload::Version { .. } => level += 1,
            Payload::End(_) => level = level.saturating_sub(1),
            _ => {}
        }
        // What is nested is a section of the level above, and begins a level itself.
        if level != 1 {
            continue;
        }
        if let Some((id, at)) = payload.as_section() {
            let data = Cow::Borrowed(slice(bytes, at.clone())?);
            found.push(Section { id, data, at });
        }
    }
    Ok(found)
}

/// Adds an item to a module's section of this kind, at its end; the section, where there is none yet.
pub(crate) fn add(sections: &mut Vec<Section<'_>>, id: u8, item: &[u8]) -> Result<(), Error> {
    match sections.iter_mut().find(|section| section.id == id) {
        Some(section) => section.data = Cow::Owned(longer(&section.data, item)?),
        None => insert(sections, id, [&[1], item].concat()),
    }
    Ok(())
}

/// Puts a section of a kind that is not there yet where the format wants it.
pub(crate) fn insert(sections: &mut Vec<Section<'_>>, id: u8, data: Vec<u8>) {
    let later = |section: &Section<'_>| rank(section.id) > rank(id);
    let place = sections.iter().position(later).unwrap_or(sections.len());
    let data = Cow::Owned(data);
    sections.insert(place, Section { id, data, at: 0..0 });
}

/// The place of a section in a module. Custom sections may stand anywhere.
fn rank(id: u8) -> Option<usize> {
    // Those of tags and of the number of data segments came later than their neighbours.
    const ORDER: [u8; 13] = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];
    ORDER.iter().position(|other| *other == id)
}

/// A list of items and one more.
fn longer(list: &[u8], item: &[u8]) -> Result<Vec<u8>, Error> {
    let mut reader = BinaryReader::new(list, 0);
    let count = reader.read_var_u32()?;
    let rest = reader.read_bytes(reader.bytes_remaining())?;
    let mut all = Vec::with_capacity(list.len() + item.len() + 1);
    count.saturating_add(1).encode(&mut all);
    all.extend_from_slice(rest);
    all.extend_from_slice(item);
    Ok(all)
}
