use std::collections::BTreeMap;

use gpud_sdk::testing::test_context;
use gpud_sdk::types::{SizeInfo, TimeoutInfo};

use super::*;

mod toolkit;
mod verdicts;

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
