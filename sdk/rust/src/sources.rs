//! Small conveniences over the raw capabilities.

/// Files of sysfs and procfs; see [`crate::bindings::gpud::plugin::sysfs`] for all of it.
pub mod sysfs {
    pub use crate::bindings::gpud::plugin::sysfs::*;

    /// A file as text; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read_to_string(path: &str, max_bytes: u32) -> Result<String, AccessError> {
        read(path, max_bytes).map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}

/// Values that survive from call to call.
pub mod state {
    pub use crate::bindings::gpud::plugin::state::*;

    /// A value as text, if it is there and is UTF-8.
    ///
    /// # Errors
    /// As [`get`].
    pub fn get_string(key: &str) -> Result<Option<String>, AccessError> {
        Ok(get(key)?.and_then(|bytes| String::from_utf8(bytes).ok()))
    }
}
