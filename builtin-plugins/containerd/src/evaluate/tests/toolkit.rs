//! NVIDIA's container toolkit.

use super::*;

const NVIDIA: &str = "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]";

fn with_files(files: &[(&'static str, Result<&str, AccessError>)]) -> Fake {
    let listed = files.iter().map(|(path, content)| {
        let content = content.clone().map(|text| vec![text.to_owned()]);
        (*path, content)
    });
    Fake {
        gpu: true,
        files: listed.collect(),
        ..well()
    }
}

#[test]
fn the_toolkit() {
    let missing = "nvidia-container-toolkit pod is running but /etc/containerd/config.toml \
                   is missing NVIDIA runtime configuration";
    let unreadable = "error getting containerd config";
    let conf = "/etc/containerd/conf.d/*.toml";
    let imports = "imports = ['/etc/containerd/conf.d/*.toml']";
    let default = format!("{NVIDIA}\ndefault_runtime_name = 'nvidia'");
    let denied = || Err(AccessError::Denied("x".into()));
    let two = Fake {
        version: answer(0, b"\x1a\x06v2.1.4"),
        ..with_files(&[(CONFIG, Ok(NVIDIA))])
    };
    let none = Fake {
        sandboxes: answer(0, &SANDBOXES[201..]),
        ..with_files(&[])
    };
    let no_pods = Fake {
        sandboxes: answer(0, b""),
        ..with_files(&[])
    };
    for (fake, health, reason) in [
        (with_files(&[(CONFIG, Ok(&default))]), Health::Healthy, "ok"),
        (
            with_files(&[(CONFIG, Ok(imports)), (conf, Ok(&default))]),
            Health::Healthy,
            "ok",
        ),
        (
            with_files(&[(CONFIG, Ok(NVIDIA))]),
            Health::Unhealthy,
            missing,
        ),
        (two, Health::Healthy, "ok"),
        (
            with_files(&[(CONFIG, Ok("version = 2"))]),
            Health::Unhealthy,
            missing,
        ),
        (
            with_files(&[(CONFIG, Ok(imports))]),
            Health::Unhealthy,
            missing,
        ),
        (
            with_files(&[(CONFIG, Ok(imports)), (conf, denied())]),
            Health::Degraded,
            unreadable,
        ),
        (
            with_files(&[(CONFIG, denied())]),
            Health::Degraded,
            unreadable,
        ),
        (with_files(&[]), Health::Degraded, unreadable),
        (
            none,
            Health::Healthy,
            "nvidia GPUs found but nvidia-container-toolkit pod is not found",
        ),
        (no_pods, Health::Healthy, "ok"),
    ] {
        let state = judged(&fake, 0).report.states[0].clone();
        assert_eq!((state.health, state.reason.as_str()), (health, reason));
    }
    // Ten minutes after the pod began it is not judged yet.
    let early = context(1_795_344_652_146 + 590_000);
    let fake = with_files(&[(CONFIG, Ok("version = 2"))]);
    let judged = evaluate(&early, &fake, 0, &Memory::default()).unwrap();
    assert_eq!(judged.report.states[0].reason, "ok");
}
