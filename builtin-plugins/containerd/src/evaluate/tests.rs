use std::collections::BTreeMap;

use gpud_sdk::testing::test_context;
use gpud_sdk::types::{SizeInfo, TimeoutInfo};

use super::*;

const VERSION: &[u8] = include_bytes!("../captured/cri-version.bin");
const SANDBOXES: &[u8] = include_bytes!("../captured/cri-sandboxes.bin");
const CONTAINER_LIST: &[u8] = include_bytes!("../captured/cri-containers.bin");
/// An hour after the captured pods began.
const NOW: u64 = 1_795_348_200_000;

type Answer = Result<GrpcResponse, AccessError>;

#[derive(Clone)]
struct Fake {
    installed: Result<bool, AccessError>,
    socket: Result<bool, AccessError>,
    crio: bool,
    service: Result<Option<Service>, AccessError>,
    command: Result<Option<bool>, AccessError>,
    version: Answer,
    sandboxes: Answer,
    containers: Answer,
    gpu: bool,
    files: BTreeMap<&'static str, Result<Vec<String>, AccessError>>,
}

impl Machine for Fake {
    fn is_installed(&self) -> Result<bool, AccessError> {
        self.installed.clone()
    }

    fn has_socket(&self) -> Result<bool, AccessError> {
        self.socket.clone()
    }

    fn crio_answers(&self) -> bool {
        self.crio
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        self.service.clone()
    }

    fn command(&self) -> Result<Option<bool>, AccessError> {
        self.command.clone()
    }

    fn call(&self, method: Method) -> Answer {
        match method {
            Method::Version => self.version.clone(),
            Method::ListPodSandbox => self.sandboxes.clone(),
            Method::ListContainers => self.containers.clone(),
        }
    }

    fn has_gpu(&self) -> bool {
        self.gpu
    }

    fn files(&self, pattern: &str) -> Result<Vec<String>, AccessError> {
        self.files.get(pattern).cloned().unwrap_or(Ok(Vec::new()))
    }
}

fn answer(status: u32, message: &[u8]) -> Answer {
    Ok(GrpcResponse {
        status,
        status_message: if status == 0 { "" } else { "no" }.to_owned(),
        message: message.to_vec(),
    })
}

/// Started so many seconds after boot, which was a day before [`NOW`].
fn service(active: &str, file: &str, started: u64) -> Result<Option<Service>, AccessError> {
    Ok(Some(Service::parse(&format!(
        "LoadState=loaded\nActiveState={active}\nSubState=x\nUnitFileState={file}\n\
         InactiveExitTimestampMonotonic={}\n",
        started * 1_000_000
    ))))
}

fn well() -> Fake {
    Fake {
        installed: Ok(true),
        socket: Ok(true),
        crio: false,
        service: service("active", "enabled", 60),
        command: Ok(None),
        version: answer(0, VERSION),
        sandboxes: answer(0, SANDBOXES),
        containers: answer(0, CONTAINER_LIST),
        gpu: false,
        files: BTreeMap::new(),
    }
}

fn context(now: u64) -> CheckContext {
    CheckContext {
        boot_time: NOW - 86_400_000,
        ..test_context("containerd", now)
    }
}

fn judged(fake: &Fake, missing: u32) -> CheckOutcome {
    evaluate(&context(NOW), fake, missing, &Memory::default()).unwrap()
}

fn refused() -> AccessError {
    AccessError::Other("grpc unix:/run/containerd/containerd.sock: Connection refused".into())
}

fn silent() -> AccessError {
    AccessError::TimedOut(TimeoutInfo {
        what: "grpc unix:/run/containerd/containerd.sock".into(),
        after_ms: 5_000,
        last_good: None,
    })
}

#[test]
fn verdicts() {
    let healthy = Health::Healthy;
    let unhealthy = Health::Unhealthy;
    let inactive = "containerd installed but service is not active";
    let listing = "error listing pod sandbox status";
    let stopped = "containerd installed but not running";
    let off = "containerd installed but not running (its service is disabled)";
    let fresh = |text: &str| format!("{text}; has not been running for long enough");
    for (fake, health, reason, error) in [
        (well(), &healthy, "ok", None),
        (
            Fake {
                installed: Ok(false),
                ..well()
            },
            &healthy,
            "containerd not installed",
            None,
        ),
        (
            Fake {
                socket: Ok(false),
                crio: true,
                ..well()
            },
            &healthy,
            "containerd installed but CRI-O is the active container runtime, skipping containerd checks",
            None,
        ),
        (
            Fake {
                version: Err(refused()),
                ..well()
            },
            &unhealthy,
            stopped,
            Some("refused"),
        ),
        (
            Fake {
                version: Err(silent()),
                ..well()
            },
            &unhealthy,
            stopped,
            Some("no answer for 5000 ms"),
        ),
        (
            Fake {
                version: Err(refused()),
                service: service("active", "enabled", 86_300),
                ..well()
            },
            &healthy,
            &fresh(stopped),
            Some("refused"),
        ),
        (
            Fake {
                version: Err(refused()),
                service: service("inactive", "disabled", 60),
                ..well()
            },
            &healthy,
            off,
            None,
        ),
        (
            Fake {
                version: Err(refused()),
                service: service("failed", "disabled", 60),
                ..well()
            },
            &unhealthy,
            stopped,
            Some("refused"),
        ),
        (
            Fake {
                service: service("inactive", "enabled", 60),
                ..well()
            },
            &unhealthy,
            inactive,
            None,
        ),
        (
            Fake {
                service: service("inactive", "enabled", 86_399),
                ..well()
            },
            &healthy,
            &fresh(inactive),
            None,
        ),
        (
            Fake {
                service: Err(silent()),
                ..well()
            },
            &unhealthy,
            inactive,
            Some("no answer"),
        ),
        (
            Fake {
                service: Ok(None),
                ..well()
            },
            &healthy,
            "ok",
            None,
        ),
        (
            Fake {
                service: Ok(Some(Service::default())),
                ..well()
            },
            &healthy,
            "ok",
            None,
        ),
        (
            Fake {
                service: service("inactive", "enabled", 60),
                command: Ok(Some(true)),
                ..well()
            },
            &healthy,
            "ok",
            None,
        ),
        (
            Fake {
                command: Ok(Some(false)),
                ..well()
            },
            &unhealthy,
            inactive,
            None,
        ),
        (
            Fake {
                command: Err(silent()),
                ..well()
            },
            &unhealthy,
            inactive,
            Some("no answer"),
        ),
        (
            Fake {
                version: answer(12, b""),
                sandboxes: answer(12, b""),
                ..well()
            },
            &healthy,
            "containerd installed and active but containerd CRI is not enabled",
            None,
        ),
        (
            Fake {
                sandboxes: answer(13, b""),
                ..well()
            },
            &unhealthy,
            listing,
            Some("ListPodSandbox: no (status 13)"),
        ),
        (
            Fake {
                containers: Err(silent()),
                ..well()
            },
            &unhealthy,
            listing,
            Some("no answer"),
        ),
        (
            Fake {
                sandboxes: answer(0, b"<html>"),
                ..well()
            },
            &unhealthy,
            listing,
            Some("the answer is no message of the CRI"),
        ),
        (
            Fake {
                containers: answer(0, &CONTAINER_LIST[..100]),
                ..well()
            },
            &unhealthy,
            listing,
            Some("the answer is no message of the CRI"),
        ),
    ] {
        let judged = judged(&fake, 0);
        let state = &judged.report.states[0];
        assert_eq!((&state.health, state.reason.as_str()), (health, reason));
        assert_eq!(judged.missing, 0);
        match error {
            Some(words) => assert!(state.error.as_ref().unwrap().contains(words), "{state:?}"),
            None => assert_eq!(state.error, None, "{reason}"),
        }
    }
}

#[test]
fn a_missing_socket_counts_from_the_fifth_check() {
    let fake = Fake {
        socket: Ok(false),
        ..well()
    };
    let mut missing = 0;
    let mut memory = Memory::default();
    let (mut reasons, mut events) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let judged = evaluate(&context(NOW), &fake, missing, &memory).unwrap();
        (missing, memory) = (judged.missing, judged.open);
        let state = &judged.report.states[0];
        reasons.push((state.health.clone(), state.reason.clone()));
        events.extend(judged.report.events.into_iter().map(|event| event.name));
    }
    let text = "containerd installed but socket file does not exist";
    for (count, (health, reason)) in (1..).zip(&reasons).take(4) {
        let expected = format!("{text} (detected {count}/5 consecutive checks)");
        assert_eq!((health, reason), (&Health::Healthy, &expected));
    }
    for (health, reason) in &reasons[4..] {
        let expected = format!("{text} (failed continuously for 5 checks)");
        assert_eq!((health, reason), (&Health::Unhealthy, &expected));
    }
    assert_eq!(events, ["containerd_socket_missing"]);
    let judged = evaluate(&context(NOW), &well(), missing, &memory).unwrap();
    assert_eq!(judged.missing, 0);
    assert_eq!(
        judged.report.events[0].name,
        "containerd_socket_missing_cleared"
    );
    let off = Fake {
        service: service("inactive", "disabled", 0),
        ..fake
    };
    assert_eq!(
        self::judged(&off, 9).report.states[0].health,
        Health::Healthy
    );
}

#[test]
fn whom_we_may_not_ask_is_not_blamed() {
    let denied = || AccessError::Denied("grpc unix:/run/containerd/containerd.sock".into());
    let large = AccessError::TooLarge(SizeInfo {
        what: "x".into(),
        size: 5,
        limit: 4,
    });
    for fake in [
        Fake {
            version: Err(denied()),
            ..well()
        },
        Fake {
            socket: Err(denied()),
            ..well()
        },
        Fake {
            sandboxes: Err(large),
            ..well()
        },
    ] {
        let error = evaluate(&context(NOW), &fake, 0, &Memory::default());
        assert!(matches!(error, Err(Error::Source(_))), "{error:?}");
    }
}

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

#[test]
fn data_and_metrics() {
    let report = judged(&well(), 0).report;
    let (key, data) = &report.states[0].extra_info[0];
    assert_eq!(key, "data");
    let start = r#"{"containerd_service_active":true,"pods":[{"id":"d5eba66a241f"#;
    assert!(data.starts_with(start), "{data}");
    let value = |name: &str, state: &str| {
        let mut metrics = report.metrics.iter();
        metrics
            .find(|metric| metric.name == name && metric.labels[0].1 == state)
            .map(|metric| metric.value)
    };
    assert_eq!(value(PODS, READY), Some(1.0));
    assert_eq!(value(PODS, "SANDBOX_NOTREADY"), Some(1.0));
    assert_eq!(value(CONTAINERS, "CONTAINER_RUNNING"), Some(1.0));
    let none = Fake {
        sandboxes: answer(0, b""),
        ..well()
    };
    assert!(judged(&none, 0).report.states[0].extra_info.is_empty());
}

#[test]
fn versions() {
    for (text, expected) in [
        ("v2.1.4", Some(2)),
        ("1.6.20~ds1", Some(1)),
        ("main", None),
        ("", None),
    ] {
        assert_eq!(major(text), expected, "{text}");
    }
}
