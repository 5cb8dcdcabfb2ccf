//! Checkers of networks and their devices, in one component.
//!
//! Each is called by itself, in an instance of its own, with the grants of its own `manifest.json`: of an interface that
//! only others need, every call is refused.

use gpud_builtin_ethernet as ethernet;
use gpud_builtin_infiniband as infiniband;
use gpud_builtin_network_interface as network_interface;
use gpud_builtin_network_latency as network_latency;
use gpud_builtin_network_limits as network_limits;

gpud_sdk::export!(
    [
        ethernet::Ethernet,
        infiniband::Infiniband,
        network_interface::NetworkInterface,
        network_latency::NetworkLatency,
        network_limits::NetworkLimits,
    ] + kmsg_watcher
        + scanner
);
