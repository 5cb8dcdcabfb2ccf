//! FUSE connections, one folder each (kernel: `fs/fuse/control.c`, `Documentation/filesystems/fuse/fuse.rst`).
//!
//! The folder belongs to the user who mounted, with mode 0500, so that an ordinary user sees the numbers of others'
//! connections and cannot look into them.

use gpud_sdk::AccessError;

/// Where the control filesystem is mounted. Not there without the `fuse` module, and empty where it is not mounted.
pub const ROOT: &str = "/sys/fs/fuse/connections";

/// One folder and what was found in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// Its name: the device number as one decimal number.
    pub name: String,
    /// Its numbers, or why there are none.
    pub values: Result<Values, NumbersError>,
}

/// The numbers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values {
    /// Device number, as the kernel keeps it: major × 2^20 + minor.
    pub device: u32,
    /// Background requests from which the kernel calls the filesystem congested; 0 is none.
    pub congestion_threshold: i64,
    /// Background requests that the kernel lets through at once; 0 is none.
    pub max_background: i64,
    /// Requests waiting for the program or being worked on by it.
    pub waiting: i64,
}

/// Why a connection has no numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum NumbersError {
    /// Unmounted in the meantime.
    Gone,
    /// Another user's.
    Denied,
    /// The text says what and where.
    Failed(String),
}

impl Connection {
    /// Reads one connection by its folder's name.
    pub fn read(name: &str, read: impl Fn(&str) -> Result<String, AccessError>) -> Self {
        let number = |file: &str| {
            let path = format!("{ROOT}/{name}/{file}");
            let text = read(&path)?;
            // What the kernel gives once the filesystem is unmounted (`fuse_conn_waiting_read`).
            if text.is_empty() {
                return Err(NumbersError::Gone);
            }
            let number = text.trim().parse::<i64>();
            number
                .map_err(|_| NumbersError::Failed(format!("{path}: {} is no number", shown(&text))))
        };
        let values = || {
            let device = name
                .parse::<u32>()
                .ok()
                .filter(|_| name.bytes().all(|b| b.is_ascii_digit()));
            Ok(Values {
                device: device.ok_or_else(|| {
                    NumbersError::Failed(format!("{ROOT}: {} is no device number", shown(name)))
                })?,
                congestion_threshold: number("congestion_threshold")?,
                max_background: number("max_background")?,
                waiting: number("waiting")?,
            })
        };
        Self {
            name: name.to_owned(),
            values: values(),
        }
    }
}

impl From<AccessError> for NumbersError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound(_) => Self::Gone,
            AccessError::Denied(_) => Self::Denied,
            other => Self::Failed(other.text()),
        }
    }
}

impl Values {
    /// Waiting requests in percent of the congestion threshold.
    pub fn congested_percent(&self) -> f64 {
        percent(self.waiting, self.congestion_threshold)
    }

    /// Waiting requests in percent of the background limit.
    pub fn max_background_percent(&self) -> f64 {
        percent(self.waiting, self.max_background)
    }
}

/// 0 where there is no limit.
fn percent(part: i64, whole: i64) -> f64 {
    if whole <= 0 {
        return 0.0;
    }
    part as f64 / whole as f64 * 100.0
}

/// The beginning of a text that was not understood, quoted.
fn shown(text: &str) -> String {
    let beginning: String = text.trim().chars().take(40).collect();
    format!("{beginning:?}")
}

#[cfg(test)]
mod tests;
