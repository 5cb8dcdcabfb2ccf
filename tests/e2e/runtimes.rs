//! Checks of container runtimes against the real ones, in namespaces of the test's own.

use std::{path::Path, process::Command, time::Duration};

use crate::{
    daemon::{Start, eventually},
    hostile_machine::{AWAIT, can, check},
    tools::tool,
};

/// Generously: two more daemons have just started.
const WITHIN: Duration = Duration::from_secs(30);

#[test]
fn real_containerd_and_docker_are_healthy_while_they_run() {
    let programs = ["containerd", "dockerd", "runc"].map(tool);
    let [Some(containerd), Some(dockerd), Some(runc)] = programs else {
        return;
    };
    if !can(&[]) {
        return;
    }
    let folder = |program: &Path| program.parent().unwrap().display().to_string();
    let script = format!(
        r#"
{AWAIT}
mount -t tmpfs none /run
[ /var/run -ef /run ] || mount --bind /run /var/run
mkdir -p /run/containerd /run/data
PATH="{}:{}:{}:$PATH"
printf 'version = 2\nroot = "/run/data/containerd"\nstate = "/run/data/state"\n[grpc]\n  address = "/run/containerd/containerd.sock"\n' >/run/containerd.toml
containerd --config /run/containerd.toml >/run/containerd.log 2>&1 &
await /run/containerd/containerd.sock
dockerd --data-root /run/data/docker --exec-root /run/data/exec --pidfile /run/data/docker.pid \
    --containerd /run/containerd/containerd.sock --iptables=false --ip6tables=false --bridge=none \
    --storage-driver vfs >/run/docker.log 2>&1 &
await /run/docker.sock
"#,
        folder(&containerd),
        folder(&dockerd),
        folder(&runc),
    );
    if !starts(&script) {
        return;
    }
    let daemon = Start::new().inside(&script).ready();
    for component in ["containerd", "docker"] {
        // A socket is there before its server answers.
        eventually(&format!("{component} is well"), || {
            let state = check(&daemon, component, WITHIN);
            (state["health"] == "Healthy" && state["reason"] == "ok").then_some(())
        });
    }
    // Killed, it leaves its socket behind.
    let ended = Command::new("pkill")
        .args(["--signal", "KILL", "--full", "--"])
        .arg("^containerd --config /run/containerd.toml")
        .status();
    assert!(ended.unwrap().success());
    let state = eventually("containerd is missed", || {
        let state = check(&daemon, "containerd", WITHIN);
        (state["health"] == "Unhealthy").then_some(state)
    });
    assert_eq!(
        state["reason"], "containerd installed but not running",
        "{state}"
    );
}

/// Whether the runtimes themselves start here: some sandboxes allow namespaces and not what these need in them.
fn starts(script: &str) -> bool {
    let status = Command::new("unshare")
        .args(["--mount", "--propagation=private", "--pid", "--fork"])
        .args(["--kill-child", "--mount-proc", "bash", "-c"])
        .arg(format!("{script}\nexit 0"))
        .status();
    let started = status.is_ok_and(|status| status.success());
    if !started {
        eprintln!("SKIPPED: containerd and dockerd do not start here");
    }
    started
}
