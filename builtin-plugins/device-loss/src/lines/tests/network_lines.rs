//! Lines of network cards: mlx5, and cards of any driver that do not send.

use super::*;

/// Lines of mlx5.
const MLX5_LINES: &[Case] = &[
    (
        "mlx5_core 0000:17:00.0: poll_health:819:(pid 0): device's health compromised - reached miss count",
        Kind::MlxCompromised,
        "0000:17:00.0",
        &[],
    ),
    (
        "mlx5_core 0000:17:00.0: device's health compromised",
        Kind::MlxCompromised,
        "0000:17:00.0",
        &[],
    ),
    (
        "mlx5_core 0000:17:00.1: poll_health:801:(pid 0): Fatal error 1 detected",
        Kind::MlxFatal,
        "0000:17:00.1",
        &[("sensor", "1")],
    ),
    (
        "mlx5_core 0001:00:00.0: mlx5_error_sw_reset:209:(pid 3174): start",
        Kind::MlxFatal,
        "0001:00:00.0",
        &[("cause", "internal error state")],
    ),
    (
        "mlx5_core 0001:00:00.0: mlx5_enter_error_state:121:(pid 3174): start",
        Kind::MlxFatal,
        "0001:00:00.0",
        &[("cause", "internal error state")],
    ),
    (
        "mlx5_core 0000:61:00.1: print_health_info:431:(pid 0): PCI slot is unavailable",
        Kind::MlxFatal,
        "0000:61:00.1",
        &[("cause", "PCI slot is unavailable")],
    ),
    (
        "mlx5_core 0000:61:00.1: print_health_info:496:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
        Kind::MlxIssue,
        "0000:61:00.1",
        &[("cause", "firmware internal error"), ("severity", "3")],
    ),
    (
        "mlx5_core 0000:61:00.1: print_health_info:496:(pid 0): Health issue observed, High temperature, severity(4) WARNING:",
        Kind::MlxHot,
        "0000:61:00.1",
        &[("cause", "High temperature"), ("severity", "4")],
    ),
    (
        "mlx5_core 0000:61:00.1: print_health_info:520:(pid 0): synd 0x10: High temperature",
        Kind::MlxHot,
        "0000:61:00.1",
        &[("cause", "High temperature"), ("syndrome", "10")],
    ),
    (
        "mlx5_core 0000:61:00.1: temp_warn:171:(pid 0): High temperature on sensors with bit set 0 1",
        Kind::MlxHot,
        "0000:61:00.1",
        &[("sensors", "0 1")],
    ),
    (
        "mlx5_core 0000:61:00.1: print_health_info:424:(pid 0): synd 0x8: unrecoverable hardware error",
        Kind::MlxIssue,
        "0000:61:00.1",
        &[("cause", "unrecoverable hardware error"), ("syndrome", "8")],
    ),
    (
        "mlx5_core 0000:61:00.1: mlx5_health_try_recover:381:(pid 1): health recovery flow aborted, PCI reads still not working",
        Kind::MlxRecoveryFailed,
        "0000:61:00.1",
        &[(
            "cause",
            "health recovery flow aborted, PCI reads still not working",
        )],
    ),
    (
        "mlx5_core 0000:61:00.1: mlx5_fw_fatal_reporter_err_work:663:(pid 7): Driver is in error state. Unloading",
        Kind::MlxRecoveryFailed,
        "0000:61:00.1",
        &[("cause", "Driver is in error state. Unloading")],
    ),
    (
        "mlx5_core 0000:61:00.1: mlx5_health_try_recover:348:(pid 1): health recovery succeeded",
        Kind::MlxRecovered,
        "0000:61:00.1",
        &[],
    ),
    (
        "mlx5_core 0000:61:00.1: health recovery succeeded",
        Kind::MlxRecovered,
        "0000:61:00.1",
        &[],
    ),
    (
        "mlx5_core 0000:01:00.0: wait_func_handle_exec_timeout:1104:(pid 9): cmd[7]: DESTROY_EQ(0x302) timeout. Will cause a leak of a command resource",
        Kind::MlxCommandTimeout,
        "0000:01:00.0",
        &[("command", "DESTROY_EQ")],
    ),
    (
        "mlx5_core 0000:01:00.0: cb_timeout_handler:855:(pid 9): cmd[3]: CREATE_MKEY(0x200) Async, timeout. Will cause a leak of a command resource",
        Kind::MlxCommandTimeout,
        "0000:01:00.0",
        &[("command", "CREATE_MKEY")],
    ),
    (
        "mlx5_core 0000:01:00.0: wait_func:1004:(pid 9): ACCESS_REG(0x805) timeout. Will cause a leak of a command resource",
        Kind::MlxCommandTimeout,
        "0000:01:00.0",
        &[("command", "ACCESS_REG")],
    ),
];

#[test]
fn mlx5_lines() {
    hold(MLX5_LINES);
}

#[test]
fn network_cards_that_do_not_send() {
    use Kind::TxTimeout;
    hold(&[
        (
            "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "3")],
        ),
        (
            "NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out 5000 ms",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "0")],
        ),
        (
            "eth0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5000 ms",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "0")],
        ),
        (
            "mlx5_core 0000:17:00.0 ens1np0: NETDEV WATCHDOG: CPU: 113: transmit queue 12 timed out 15500 ms",
            TxTimeout,
            "0000:17:00.0",
            &[("interface", "ens1np0"), ("queue", "12")],
        ),
        (
            "virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 0: transmit queue 0 timed out 5000 ms",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "0")],
        ),
        (
            "mlx5_core 0000:17:00.0 eth0: TX timeout detected",
            TxTimeout,
            "0000:17:00.0",
            &[("interface", "eth0"), ("queue", "")],
        ),
    ]);
    for line in [
        "NETDEV WATCHDOG: ../x (y): transmit queue 3 timed out",
        "NETDEV WATCHDOG: sixteen-letters0 (y): transmit queue 3 timed out",
        "NETDEV WATCHDOG: eth0 (y): transmit queue 3",
        "NETDEV WATCHDOG: eth0: transmit queue 3 timed out",
        "eth0: NETDEV WATCHDOG: CPU: x: transmit queue 0 timed out 5000 ms",
        "eth0: TX timeout detected",
        "a b c eth0: TX timeout detected",
        "mlx5_core 0000:17:00.0 eth0: TX timeout on queue: 3, SQ: 0x12",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}
