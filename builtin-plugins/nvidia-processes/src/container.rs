//! Which container and pod a process runs in, by the names of its control groups (`/proc/‹pid›/cgroup`, cgroups(7)).
//!
//! | path ends in | of |
//! |---|---|
//! | `kubepods-burstable-pod‹uid›.slice/cri-containerd-‹id›.scope` (`crio-‹id›.scope`) | kubelet with systemd's groups |
//! | `kubepods/burstable/pod‹uid›/‹id›` | kubelet with groups of its own |
//! | `docker-‹id›.scope`, `docker/‹id›`, `libpod-‹id›.scope` | Docker, Podman |
//!
//! An id has 64 hexadecimal digits. A uid is written with `_` for `-` in systemd's names; that of a static pod has 32
//! digits and no dashes. Names of containers and pods are not to be had from here.

/// The container and the pod of a process. Both are `None` for a process of the machine itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerIds {
    /// Id of its container.
    pub container: Option<String>,
    /// UID of its pod.
    pub pod: Option<String>,
}

const ID_DIGITS: usize = 64;

impl ContainerIds {
    /// From the file. Of containers within containers, the innermost counts.
    pub fn parse(cgroups: &[u8]) -> Self {
        let text = String::from_utf8_lossy(cgroups);
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        // With version 1 each controller has a line, and not all of them must be in the container.
        paths
            .map(|path| Self {
                container: path.split('/').filter_map(container).next_back(),
                pod: path.split('/').filter_map(pod).next_back(),
            })
            .max_by_key(|home| (home.container.is_some(), home.pod.is_some()))
            .unwrap_or_default()
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn container(segment: &str) -> Option<String> {
    let name = segment.strip_suffix(".scope").unwrap_or(segment);
    let id = name.rsplit(['-', ':']).next()?;
    (id.len() == ID_DIGITS && is_hexadecimal(id)).then(|| id.to_ascii_lowercase())
}

fn pod(segment: &str) -> Option<String> {
    let name = match segment.strip_suffix(".slice") {
        // The last word of `kubepods-burstable-pod‹uid›`.
        Some(name) => name.rsplit('-').next()?,
        None => segment,
    };
    let uid = name.strip_prefix("pod")?.replace('_', "-");
    let parts: Vec<usize> = uid.split('-').map(str::len).collect();
    let is_uid = parts == [8, 4, 4, 4, 12] || parts == [32];
    (is_uid && uid.split('-').all(is_hexadecimal)).then(|| uid.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "3f4e9a1c0b2d4e6f8091a2b3c4d5e6f70123456789abcdef0123456789abcdef";
    const UID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

    #[test]
    fn homes() {
        let underscored = UID.replace('-', "_");
        let static_pod = UID.replace('-', "");
        let (id, pod) = (Some(ID), Some(UID));
        for (text, container, uid) in [
            (
                format!(
                    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{underscored}.slice/cri-containerd-{ID}.scope\n"
                ),
                id,
                pod,
            ),
            (
                format!(
                    "0::/kubepods.slice/kubepods-pod{underscored}.slice/crio-{ID}.scope/container\n"
                ),
                id,
                pod,
            ),
            (format!("0::/kubepods/besteffort/pod{UID}/{ID}\n"), id, pod),
            (
                format!("0::/kubepods/pod{static_pod}/{ID}\n"),
                id,
                Some(&*static_pod),
            ),
            // From within another namespace.
            (
                format!("0::/../../kubepods-pod{underscored}.slice/cri-containerd-{ID}.scope\n"),
                id,
                pod,
            ),
            // containerd without systemd's groups.
            (
                format!(
                    "0::/system.slice/containerd.service/kubepods-pod{underscored}.slice:cri-containerd:{ID}\n"
                ),
                id,
                None,
            ),
            // Version 1, where not every controller is in the container.
            (
                format!(
                    "12:rdma:/\n11:devices:/kubepods/burstable/pod{UID}/{ID}\n1:name=systemd:/kubepods/burstable/pod{UID}\n0::/\n"
                ),
                id,
                pod,
            ),
            (format!("0::/system.slice/docker-{ID}.scope\n"), id, None),
            (format!("5:memory:/docker/{ID}\n"), id, None),
            (
                format!("0::/machine.slice/libpod-{ID}.scope/container\n"),
                id,
                None,
            ),
            (
                "0::/user.slice/user-1000.slice/session-3.scope\n".into(),
                None,
                None,
            ),
            (
                "0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0\n".into(),
                None,
                None,
            ),
            (format!("0::/docker/{}\n", &ID[1..]), None, None),
            (format!("0::/kubepods/pod{}x\n", &UID[1..]), None, None),
            ("0::/podcast.slice\n".into(), None, None),
            ("nonsense".into(), None, None),
            (String::new(), None, None),
        ] {
            let expected = ContainerIds {
                container: container.map(str::to_owned),
                pod: uid.map(str::to_owned),
            };
            assert_eq!(ContainerIds::parse(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn anything_is_survived(bytes in any::<Vec<u8>>(), path in "[0-9a-f/:_.-]{0,100}|(/|pod|kubepods-|\\.slice|\\.scope|[0-9a-f]{32}){0,12}") {
            let _ = ContainerIds::parse(&bytes);
            let home = ContainerIds::parse(format!("0::{path}").as_bytes());
            prop_assert!(home.container.is_none_or(|id| id.len() == ID_DIGITS));
        }
    }
}
