//! Reads the list of exports, each with the keys of its kind.

use std::{cell::RefCell, fmt};

use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error as _, IgnoredAny, IntoDeserializer as _, MapAccess, SeqAccess,
        Visitor,
    },
};
use serde_yaml::Spanned;

use super::values::{ByteSize, ConfigDuration};
use crate::{kinds::Settings, select::Select};

/// The keys that every export has.
pub const COMMON_KEYS: [&str; 9] = [
    "name",
    "kind",
    "select",
    "timeout",
    "queue_records",
    "batch_records",
    "spool",
    "longest_pause",
    "peer_user",
];

/// Keys of kinds that were read, for messages about unknown ones.
pub type Fields = RefCell<Vec<&'static [&'static str]>>;

/// One export as the file describes it.
pub struct Entry {
    pub name: Spanned<String>,
    pub common: Common,
    pub settings: Settings,
}

/// Values of the keys that every export has.
#[derive(Default)]
pub struct Common {
    name: Option<Spanned<String>>,
    pub select: Option<Select>,
    pub timeout: Option<ConfigDuration>,
    pub queue_records: Option<usize>,
    pub batch_records: Option<usize>,
    pub spool: Option<ByteSize>,
    pub longest_pause: Option<ConfigDuration>,
    pub peer_user: Option<String>,
}

/// Reads the file, whose exports are of these kinds.
#[derive(Clone, Copy)]
pub struct ListSeed<'a> {
    pub kinds: &'a [Option<String>],
    pub fields: &'a Fields,
}

impl ListSeed<'_> {
    pub fn read<'de, D: Deserializer<'de>>(self, from: D) -> Result<Vec<Entry>, D::Error> {
        from.deserialize_map(TopVisitor(self))
    }
}

/// The mapping that is the file.
struct TopVisitor<'a>(ListSeed<'a>);

impl<'de> Visitor<'de> for TopVisitor<'_> {
    type Value = Vec<Entry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping with the key `exports`")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key != "exports" {
                return Err(A::Error::unknown_field(&key, &["exports"]));
            }
            entries = map.next_value_seed(self.0)?;
        }
        Ok(entries)
    }
}

impl<'de> DeserializeSeed<'de> for ListSeed<'_> {
    type Value = Vec<Entry>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ListSeed<'_> {
    type Value = Vec<Entry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of exports")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        for kind in self.kinds {
            let seed = EntrySeed {
                kind: kind.as_deref(),
                fields: self.fields,
            };
            entries.extend(list.next_element_seed(seed)?);
        }
        // The reader wants to see the end of the list, too.
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(entries)
    }
}

struct EntrySeed<'a> {
    kind: Option<&'a str>,
    fields: &'a Fields,
}

impl<'de> DeserializeSeed<'de> for EntrySeed<'_> {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Entry, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EntrySeed<'_> {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an export with name and kind")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
        let kind = self.kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        let mut common = Common::default();
        let keys = KindKeys {
            map,
            common: &mut common,
            fields: self.fields,
        };
        let settings = Settings::read(kind, keys)?;
        let name = common.name.take();
        Ok(Entry {
            name: name.ok_or_else(|| A::Error::missing_field("name"))?,
            common,
            settings,
        })
    }
}

/// The keys of an export without those that every export has, which are put aside on the way.
struct KindKeys<'a, A> {
    map: A,
    common: &'a mut Common,
    fields: &'a Fields,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for KindKeys<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.fields.borrow_mut().push(fields);
        visitor.visit_map(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KindKeys<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            let (map, common) = (&mut self.map, &mut *self.common);
            match key.as_str() {
                "name" => common.name = Some(map.next_value()?),
                // It was read in the first pass.
                "kind" => drop(map.next_value::<String>()?),
                "select" => common.select = Some(map.next_value()?),
                "timeout" => common.timeout = Some(map.next_value()?),
                "queue_records" => common.queue_records = Some(map.next_value()?),
                "batch_records" => common.batch_records = Some(map.next_value()?),
                "spool" => common.spool = Some(map.next_value()?),
                "longest_pause" => common.longest_pause = Some(map.next_value()?),
                "peer_user" => common.peer_user = Some(map.next_value()?),
                _ => return seed.deserialize(key.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
