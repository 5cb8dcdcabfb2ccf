//! Readings and their patches: one macro makes both from one list of fields.
//!
//! A *reading* is `None` where the GPU does not support it. A *patch* says for each reading: leave it (key absent), set
//! it (value), or take it away (`null`).

use serde::{Deserialize, Deserializer};

/// For keys where `null` means something else than a missing key.
///
/// # Errors
/// What the value's type does not read.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Something that can be laid over readings.
pub trait Patch {
    /// What it is laid over.
    type Target;
    /// Lays it over.
    fn apply(&self, to: &mut Self::Target);
}

/// Declares a struct of readings and its patch.
macro_rules! readings {
    ($(#[$about:meta])* $name:ident, $patch:ident {
        $($(#[$field_about:meta])* $field:ident: $type:ty,)*
    } $(groups { $($(#[$group_about:meta])* $group:ident: $group_patch:ty,)* })?) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: Option<$type>,)*
            $($($(#[$group_about])* pub $group: <$group_patch as $crate::scenario::patch::Patch>::Target,)*)?
        }

        #[doc = concat!("Changes to [`", stringify!($name), "`].")]
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $patch {
            $($(#[$field_about])*
            #[serde(default, deserialize_with = "crate::scenario::patch::given")]
            pub $field: Option<Option<$type>>,)*
            $($($(#[$group_about])* #[serde(default)] pub $group: $group_patch,)*)?
        }

        impl $crate::scenario::patch::Patch for $patch {
            type Target = $name;
            fn apply(&self, to: &mut $name) {
                $(if let Some(value) = &self.$field { to.$field.clone_from(value); })*
                $($($crate::scenario::patch::Patch::apply(&self.$group, &mut to.$group);)*)?
            }
        }
    };
}
pub(crate) use readings;
