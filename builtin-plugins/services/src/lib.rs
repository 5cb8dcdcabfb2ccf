//! Checkers of services that run on the machine, in one component.
//!
//! Each is called by itself, in an instance of its own, with the grants of its own `manifest.json`: of an interface that
//! only others need, every call is refused.

use gpud_builtin_containerd as containerd;
use gpud_builtin_docker as docker;
use gpud_builtin_kubelet as kubelet;
use gpud_builtin_systemd as systemd;
use gpud_builtin_tailscale as tailscale;

gpud_sdk::export!([
    containerd::Containerd,
    docker::Docker,
    kubelet::Kubelet,
    systemd::SystemdUnits,
    tailscale::Tailscale,
]);
