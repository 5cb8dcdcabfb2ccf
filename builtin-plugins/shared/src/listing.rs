//! Lists that somebody else made: containers, pods. Bounded on the way in, since a guest's memory is small, and on the
//! way out, since a document under `data` is.

use std::{fmt, marker::PhantomData};

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::ser::Serialize;

/// Bytes that the items of a document may take; the host takes 64 KiB of all of it.
const MAX_ITEMS_BYTES: usize = 56 * 1024;

/// A JSON list of which the first `MAX` items are kept and the others counted. `null` is an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T, const MAX: usize> {
    /// The first ones.
    pub items: Vec<T>,
    /// How many more there were.
    pub more: usize,
}

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            more: 0,
        }
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

struct Reader<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Reader<T, MAX> {
    type Value = List<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(List::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut list = List::default();
        while list.items.len() < MAX {
            match sequence.next_element()? {
                Some(item) => list.items.push(item),
                None => return Ok(list),
            }
        }
        while sequence.next_element::<IgnoredAny>()?.is_some() {
            list.more += 1;
        }
        Ok(list)
    }
}

/// The items that a document has room for, from the first on, and how many were left out.
pub fn fitting<T: Serialize>(items: Vec<T>) -> (Vec<T>, usize) {
    let all = items.len();
    let mut room = MAX_ITEMS_BYTES;
    let mut kept = Vec::new();
    for item in items {
        // And a comma.
        let size = serde_json::to_string(&item).map_or(usize::MAX, |text| text.len() + 1);
        let Some(left) = room.checked_sub(size) else {
            break;
        };
        room = left;
        kept.push(item);
    }
    let left_out = all - kept.len();
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Three = List<u8, 3>;

    #[test]
    fn lists_are_bounded() {
        for (text, items, more) in [
            ("null", vec![], 0),
            ("[]", vec![], 0),
            ("[1,2,3]", vec![1, 2, 3], 0),
            ("[1,2,3,\"x\",{}]", vec![1, 2, 3], 2),
        ] {
            let list: Three = serde_json::from_str(text).unwrap();
            assert_eq!((list.items, list.more), (items, more), "{text}");
        }
        for text in ["{}", "5", "\"x\"", "[1,\"x\"]", "[1,2", "[1,2,3,4", ""] {
            assert!(serde_json::from_str::<Three>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn documents_are_bounded() {
        let (kept, left_out) = fitting(vec!["a".repeat(1_000); 100]);
        assert_eq!((kept.len(), left_out), (57, 43));
        assert!(serde_json::to_string(&kept).unwrap().len() <= MAX_ITEMS_BYTES);
        assert_eq!(fitting(vec![1, 2]), (vec![1, 2], 0));
        assert_eq!(fitting(vec!["é".repeat(MAX_ITEMS_BYTES)]), (Vec::new(), 1));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[\\[\\]{}0-9,\"nul a]{0,60}") {
            if let Ok(list) = serde_json::from_str::<Three>(&text) {
                prop_assert!(list.items.len() <= 3);
            }
        }
    }
}
