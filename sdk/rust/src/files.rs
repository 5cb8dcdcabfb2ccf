//! Small files of sysfs and procfs, read many at once.

use crate::{AccessError, sysfs};

/// One number or word and a newline.
pub const SHORT: u32 = 256;
/// Files that one pattern may match.
const MAX_FILES: u32 = 16_384;

/// Reads all files of a pattern: path and trimmed text. Those that the kernel does not let read are left out: many a driver
/// answers `EINVAL` or `EIO` where it has nothing to say. No match is an empty list.
///
/// # Errors
/// As [`sysfs::read_glob`].
pub fn read_all(pattern: &str) -> Result<Vec<(String, String)>, AccessError> {
    let files = match sysfs::read_glob(pattern, SHORT, MAX_FILES) {
        Err(AccessError::NotFound(_)) => return Ok(Vec::new()),
        files => files?,
    };
    let read = files.into_iter().filter_map(|file| {
        let text = sysfs::text(file.content.ok()?);
        Some((file.path, text.trim().to_owned()))
    });
    Ok(read.collect())
}

/// Reads one file as trimmed text; `None` where there is none, or where the kernel does not answer with a value.
///
/// # Errors
/// When this cannot be determined: not granted, no answer in time, too large.
pub fn read_optional(path: &str, max_bytes: u32) -> Result<Option<String>, AccessError> {
    match sysfs::read_to_string(path, max_bytes) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(AccessError::NotFound(_) | AccessError::NotSupported(_) | AccessError::Other(_)) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the segment of a path at this place, counted from the end: 0 is the file's name.
pub fn segment(path: &str, from_end: usize) -> Option<&str> {
    path.rsplit('/')
        .nth(from_end)
        .filter(|part| !part.is_empty())
}

/// Returns the share of the whole in percent; 0 where the whole is 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "a share needs no more than 52 bits"
)]
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 * 100.0 / whole as f64
}

/// Returns a count as the value of a gauge.
#[expect(
    clippy::cast_precision_loss,
    reason = "what is counted here stays below 2^53"
)]
pub fn gauge(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments() {
        for (path, from_end, expected) in [
            ("/sys/class/net/eth0/mtu", 0, Some("mtu")),
            ("/sys/class/net/eth0/mtu", 1, Some("eth0")),
            ("/a", 1, None),
            ("", 0, None),
        ] {
            assert_eq!(segment(path, from_end), expected, "{path}");
        }
        assert!(percent(1, 4) > 24.9 && percent(1, 4) < 25.1);
        assert!(percent(1, 0) < 0.1);
    }
}
