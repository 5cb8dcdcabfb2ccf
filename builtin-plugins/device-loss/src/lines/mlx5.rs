//! `mlx5_core`: NVIDIA (Mellanox) network cards, `drivers/net/ethernet/mellanox/mlx5/core`.
//!
//! `mlx5_core ‹id›: [‹function›:‹line›:(pid ‹n›): ]‹text›` (`mlx5_core.h`, `mlx5_core_err` and its like), with the texts
//!
//! | text | where in `health.c` (or other file) |
//! |---|---|
//! | `device's health compromised[ - reached miss count]` | `poll_health` |
//! | `Fatal error ‹n› detected` | `poll_health`; the number is the sensor (`mlx5_health_check_fatal_sensors`) |
//! | `Health issue observed, ‹what›, severity(‹n›) ‹WORD›:` | `print_health_info`; the number is a log level |
//! | `synd 0x‹n›: ‹what›` | `print_health_info`, also of kernels without the line above |
//! | `High temperature on sensors with bit set ‹n› ‹n›`, later `0x‹n› 0x‹n›` | `events.c`, `temp_warn` |
//! | `PCI slot is unavailable` | `print_health_info` |
//! | `start`, from the functions `mlx5_enter_error_state` and `mlx5_error_sw_reset` | these: the device is in its internal error state |
//! | `health recovery flow aborted, …`, `health recovery failed` | `mlx5_health_try_recover` (earlier `health_recover`) |
//! | `Driver is in error state. Unloading` | `mlx5_fw_fatal_reporter_err_work` |
//! | `health recovery succeeded` | `mlx5_health_try_recover` |
//! | `‹COMMAND›(0x‹n›) timeout. Will cause a leak of a command resource` | `cmd.c`, `wait_func` and `cb_timeout_handler` |

use super::{Kind, MatchedLine, of_driver, split_digits};

/// Log levels up to this one (error) are issues.
const ERROR: u64 = 3;
/// The log level of a warning.
const WARNING: u64 = 4;
/// The syndrome of a card that is too hot (`MLX5_INITIAL_SEG_HEALTH_SYNDROME_HIGH_TEMP`).
const HOT: &str = "10";

pub(super) fn find(line: &str) -> Option<MatchedLine<'_>> {
    let (device, rest) = of_driver(line, "mlx5_core")?;
    let (function, text) = place(rest).unwrap_or(("", rest));
    let found = |kind| MatchedLine::new(kind, device.clone());
    if text.starts_with("device's health compromised") {
        return Some(found(Kind::MlxCompromised));
    }
    if let Some(rest) = text.strip_prefix("Fatal error ") {
        let (sensor, rest) = split_digits(rest);
        let is_it = !sensor.is_empty() && rest.starts_with(" detected");
        return is_it.then(|| found(Kind::MlxFatal).fact("sensor", sensor));
    }
    if text == "start" {
        let stops = matches!(function, "mlx5_enter_error_state" | "mlx5_error_sw_reset");
        return stops.then(|| found(Kind::MlxFatal).fact("cause", "internal error state"));
    }
    if let Some(sensors) = text.strip_prefix("High temperature on sensors") {
        let sensors = sensors.trim_start_matches(" with bit set ");
        return Some(found(Kind::MlxHot).fact("sensors", sensors.trim_end_matches('.')));
    }
    if text.starts_with("PCI slot is unavailable") {
        return Some(found(Kind::MlxFatal).fact("cause", "PCI slot is unavailable"));
    }
    if let Some(rest) = text.strip_prefix("Health issue observed, ") {
        let (cause, rest) = rest.split_once(", severity(")?;
        let (level, _) = split_digits(rest);
        let kind = match level.parse::<u64>().ok()? {
            ..=ERROR => Kind::MlxIssue,
            _ if cause == "High temperature" => Kind::MlxHot,
            WARNING => Kind::MlxWarning,
            _ => Kind::MlxNotice,
        };
        return Some(found(kind).fact("cause", cause).fact("severity", level));
    }
    if let Some(rest) = text.strip_prefix("synd 0x") {
        let (number, cause) = rest.split_once(": ")?;
        // Nothing to report, printed all the same by older kernels.
        if number.is_empty()
            || number.bytes().any(|byte| !byte.is_ascii_hexdigit())
            || number == "0"
        {
            return None;
        }
        // Kernels that print a severity print it before this line: see `evaluate::of_severity`. The others do not.
        let kind = match number {
            HOT => Kind::MlxHot,
            _ => Kind::MlxIssue,
        };
        return Some(found(kind).fact("cause", cause).fact("syndrome", number));
    }
    if [
        "health recovery flow aborted",
        "health recovery failed",
        "Driver is in error state",
    ]
    .iter()
    .any(|form| text.starts_with(form))
    {
        return Some(found(Kind::MlxRecoveryFailed).fact("cause", text));
    }
    if text.starts_with("health recovery succeeded") {
        return Some(found(Kind::MlxRecovered));
    }
    // `cmd[‹n›]: ‹COMMAND›(0x‹n›) Async, timeout. …`
    let (command, _) = text.split_once("timeout. Will cause a leak of a command resource")?;
    let command = command.rsplit("]: ").next().unwrap_or(command);
    let command = command.split(['(', ' ']).next().unwrap_or("");
    Some(found(Kind::MlxCommandTimeout).fact("command", command))
}

/// Takes `‹function›:‹line›:(pid ‹n›): ` from the beginning.
fn place(text: &str) -> Option<(&str, &str)> {
    let (function, rest) = text.split_once(':')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if function.is_empty() || !function.bytes().all(is_name) {
        return None;
    }
    let (line, rest) = split_digits(rest);
    let (pid, rest) = split_digits(rest.strip_prefix(":(pid ")?);
    if line.is_empty() || pid.is_empty() {
        return None;
    }
    Some((function, rest.strip_prefix("): ")?))
}
