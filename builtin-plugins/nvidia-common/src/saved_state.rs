//! Stores a checker's values from check to check, as JSON under one key of its state.

use gpud_sdk::{AccessError, log, state};
use serde::{Serialize, de::DeserializeOwned};

/// Key of the document.
const KEY: &str = "remembered";

/// The stored value; nothing when there is none, or it cannot be understood.
///
/// # Errors
/// When the state cannot be read.
pub fn read<T: DeserializeOwned + Default>() -> Result<T, AccessError> {
    Ok(state::get_string(KEY)?
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default())
}

/// Keeps it for the next check, if it changed. Whether that works or not, this check's verdict stands.
pub fn write<T: Serialize + PartialEq>(before: &T, now: &T) {
    if before == now {
        return;
    }
    let kept = serde_json::to_vec(now)
        .map_err(|error| error.to_string())
        .and_then(|text| state::set(KEY, &text).map_err(|error| error.text()));
    if let Err(error) = kept {
        log!(warn, "nothing is remembered of this check: {error}");
    }
}
