//! Headers of packages of RPM: an index of tags, and a store with their values.

use std::collections::BTreeMap;

/// A value of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Numbers of 16 bits.
    Short(Vec<u16>),
    /// Numbers of 32 bits.
    Number(Vec<u32>),
    /// One text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A text that could be translated.
    Translated(String),
}

impl Value {
    /// The type's number, the alignment of its values and how many there are.
    fn shape(&self) -> (u32, usize, usize) {
        match self {
            Self::Short(values) => (3, 2, values.len()),
            Self::Number(values) => (4, 4, values.len()),
            Self::Text(_) => (6, 1, 1),
            Self::Texts(texts) => (8, 1, texts.len()),
            Self::Translated(_) => (9, 1, 1),
        }
    }

    fn write(&self, store: &mut Vec<u8>) {
        let mut text = |text: &str| {
            store.extend_from_slice(text.as_bytes());
            store.push(0);
        };
        match self {
            Self::Text(one) | Self::Translated(one) => text(one),
            Self::Texts(texts) => texts.iter().for_each(|one| text(one)),
            Self::Short(values) => {
                store.extend(values.iter().flat_map(|value| value.to_be_bytes()))
            }
            Self::Number(values) => {
                store.extend(values.iter().flat_map(|value| value.to_be_bytes()))
            }
        }
    }
}

/// A header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header(BTreeMap<u32, Value>);

impl Header {
    /// Sets a tag.
    pub fn set(&mut self, tag: u32, value: Value) {
        self.0.insert(tag, value);
    }

    /// Sets a tag to one number.
    pub fn number(&mut self, tag: u32, value: u32) {
        self.set(tag, Value::Number(vec![value]));
    }

    /// Sets a tag to a text.
    pub fn text(&mut self, tag: u32, value: &str) {
        self.set(tag, Value::Text(value.to_owned()));
    }

    /// Encodes it. All its tags are in one region, which signatures and digests cover.
    pub fn encode(&self, region: u32) -> Vec<u8> {
        let count = u32::try_from(self.0.len() + 1).unwrap_or(u32::MAX);
        let mut index = Vec::new();
        let mut store = Vec::new();
        for (tag, value) in &self.0 {
            let (kind, alignment, length) = value.shape();
            store.resize(store.len().next_multiple_of(alignment), 0);
            entry(&mut index, *tag, kind, offset(&store), length);
            value.write(&mut store);
        }
        // The region's first entry points to its last bytes, which point back over the index.
        let mut bytes = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
        let mut first = Vec::new();
        entry(&mut first, region, 7, offset(&store), 16);
        entry(&mut store, region, 7, (count * 16).wrapping_neg(), 16);
        bytes.extend(count.to_be_bytes());
        bytes.extend(offset(&store).to_be_bytes());
        bytes.extend(first);
        bytes.extend(index);
        bytes.extend(store);
        bytes
    }
}

fn offset(store: &[u8]) -> u32 {
    u32::try_from(store.len()).unwrap_or(u32::MAX)
}

fn entry(to: &mut Vec<u8>, tag: u32, kind: u32, offset: u32, count: usize) {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    for number in [tag, kind, offset, count] {
        to.extend(number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_aligned_and_the_region_closes_the_header() {
        let mut header = Header::default();
        header.text(1000, "ab");
        header.number(1006, 5);
        header.set(1030, Value::Short(vec![1, 2]));
        let bytes = header.encode(63);
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(word(0), 0x8ead_e801);
        let (count, size) = (word(8), word(12));
        assert_eq!(count, 4);
        assert_eq!(bytes.len(), 16 + 16 * 4 + size as usize);
        // Region, name, time, modes.
        let entries: Vec<[u32; 4]> = (0..4)
            .map(|number| [0, 4, 8, 12].map(|part| word(16 + 16 * number + part)))
            .collect();
        assert_eq!(entries[0], [63, 7, 12, 16]);
        assert_eq!(entries[1], [1000, 6, 0, 1]);
        assert_eq!(entries[2], [1006, 4, 4, 1]);
        assert_eq!(entries[3], [1030, 3, 8, 2]);
        let store = &bytes[16 + 64..];
        assert_eq!(&store[..12], b"ab\0\0\0\0\0\x05\0\x01\0\x02");
        assert_eq!(word(16 + 64 + 12 + 8), 64_u32.wrapping_neg());
    }
}
