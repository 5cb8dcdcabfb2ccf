//! Finds GPUs that a text names: by UUID, by PCI id, or by number.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::Gpus;

/// Most bytes of a text that are looked at.
const MAX_TEXT: usize = 16 * 1024;

/// A constant; a test sees that it compiles.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = Regex::new(
        r"(?x)
        (?P<uuid> GPU-[0-9A-Za-z-]+ )
        | \b unknown-gpu- (?P<stranger> [0-9]{1,3} ) \b
        | (?P<pci> \b[0-9a-fA-F]{4,8} : [0-9a-fA-F]{2} : [0-9a-fA-F]{2} (?: \.[0-7] )? \b )
        | \b GPU\ (?P<index> [0-9]{1,3} ) \b",
    );
    names.ok()
});

/// The places of the known GPUs that a text names. What nobody knows is left out: a PCI id may be any device's.
pub(super) fn gpus(text: &str, known: &Gpus) -> BTreeSet<usize> {
    let end = (0..=text.len().min(MAX_TEXT))
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    let text = text.get(..end).unwrap_or_default();
    let mut found = BTreeSet::new();
    for names in NAMES.iter().flat_map(|names| names.captures_iter(text)) {
        let place = if let Some(uuid) = names.name("uuid") {
            known.by_uuid(uuid.as_str())
        } else if let Some(id) = names.name("pci") {
            known.by_pci(id.as_str())
        } else if let Some(index) = names.name("stranger") {
            index
                .as_str()
                .parse()
                .ok()
                .and_then(|index| known.by_index(index))
        } else if let Some(index) = names.name("index") {
            // `GPU 3:00` and `GPU 3.5` are something else.
            let mut after = text.get(index.end()..).unwrap_or_default().chars();
            let goes_on = matches!(after.next(), Some(':' | '.'))
                && after.next().is_some_and(|next| next.is_ascii_hexdigit());
            let index = index.as_str().parse().ok().filter(|_| !goes_on);
            index.and_then(|index| known.by_index(index))
        } else {
            None
        };
        found.extend(place);
    }
    found
}

/// What a text says of one of the GPUs that it names: the parts between semicolons and commas that name it, each with what
/// follows until the next that names one.
pub(super) fn about(text: &str, place: usize, known: &Gpus) -> String {
    let mut own = Vec::new();
    let mut is_own = false;
    for part in text.split("; ").flat_map(|part| part.split(", ")) {
        let named = gpus(part, known);
        if !named.is_empty() {
            is_own = named.contains(&place);
        }
        if is_own {
            own.push(part);
        }
    }
    own.join(", ")
}

#[cfg(test)]
mod tests;
