use std::cell::RefCell;

use gpud_sdk::testing::test_context;
use gpud_sdk::types::{SizeInfo, TimeoutInfo};

use super::*;

mod verdicts;

const LIST: &str = include_str!("../captured/containers.json");

type Answer = Result<Response, AccessError>;

struct Fake {
    installed: Result<bool, AccessError>,
    service: Result<Option<Service>, AccessError>,
    ping: Answer,
    list: Answer,
    asked: RefCell<Vec<String>>,
}

impl Machine for Fake {
    fn is_installed(&self) -> Result<bool, AccessError> {
        self.installed.clone()
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        self.service.clone()
    }

    fn get(&self, path: &str, _timeout_ms: u32) -> Answer {
        self.asked.borrow_mut().push(path.to_owned());
        match path {
            "/_ping" => self.ping.clone(),
            _ => self.list.clone(),
        }
    }
}

fn answer(status: u16, body: &str) -> Answer {
    Ok(Response {
        status,
        headers: Vec::new(),
        body: body.as_bytes().to_vec(),
    })
}

fn service(active: &str, file: &str, triggered: &str) -> Service {
    Service::parse(&format!(
        "LoadState=loaded\nActiveState={active}\nSubState=x\nUnitFileState={file}\nTriggeredBy={triggered}\n"
    ))
}

fn well() -> Fake {
    Fake {
        installed: Ok(true),
        service: Ok(Some(service("active", "enabled", "docker.socket"))),
        ping: answer(200, "OK"),
        list: answer(200, LIST),
        asked: RefCell::default(),
    }
}

fn refused() -> AccessError {
    AccessError::Other("unix:/var/run/docker.sock/_ping: Connection refused (os error 111)".into())
}

fn silent() -> AccessError {
    AccessError::TimedOut(TimeoutInfo {
        what: "unix:/var/run/docker.sock".into(),
        after_ms: 8_000,
        last_good: None,
    })
}

fn run(fake: &Fake) -> HealthState {
    let context = test_context("docker", 1_800_000_000_000);
    let (report, _) = evaluate(&context, fake, &Memory::default()).unwrap();
    assert!(report.supported);
    report.states[0].clone()
}

#[test]
fn a_socket_that_would_start_the_daemon_is_left_alone() {
    for (active, file, health, reason) in [
        ("inactive", "enabled", Health::Unhealthy, NOT_RUNNING),
        (
            "inactive",
            "disabled",
            Health::Healthy,
            "docker installed but docker is not running (its service is disabled)",
        ),
    ] {
        let fake = Fake {
            service: Ok(Some(service(active, file, "docker.socket"))),
            ..well()
        };
        let state = run(&fake);
        assert_eq!((state.health, state.reason.as_str()), (health, reason));
        assert!(fake.asked.borrow().is_empty());
    }
}

#[test]
fn whom_we_may_not_ask_is_not_blamed() {
    let context = test_context("docker", 0);
    let denied = || AccessError::Denied("unix:/var/run/docker.sock/_ping".into());
    let large = || {
        AccessError::TooLarge(SizeInfo {
            what: "x".into(),
            size: 5,
            limit: 4,
        })
    };
    for fake in [
        Fake {
            ping: Err(denied()),
            ..well()
        },
        Fake {
            list: Err(denied()),
            ..well()
        },
        Fake {
            list: Err(large()),
            ..well()
        },
        Fake {
            installed: Err(denied()),
            ..well()
        },
    ] {
        let error = evaluate(&context, &fake, &Memory::default());
        assert!(matches!(error, Err(Error::Source(_))), "{error:?}");
    }
}

#[test]
fn data_and_metrics() {
    let context = test_context("docker", 0);
    let (report, _) = evaluate(&context, &well(), &Memory::default()).unwrap();
    let data = &report.states[0].extra_info[0];
    assert_eq!(data.0, "data");
    let start = r#"{"docker_service_active":true,"containers":[{"id":"a40fb"#;
    assert!(data.1.starts_with(start), "{}", data.1);
    let running = report.metrics.iter().find(|m| m.labels[0].1 == "running");
    assert_eq!(
        running.map(|m| (m.name.as_str(), m.value)),
        Some((CONTAINERS, 1.0))
    );
    let none = Fake {
        list: answer(200, "[]"),
        ..well()
    };
    let (report, _) = evaluate(&context, &none, &Memory::default()).unwrap();
    assert!(report.states[0].extra_info.is_empty());
    assert_eq!(report.metrics.len(), 7);
}

#[test]
fn events_are_transitions() {
    let context = test_context("docker", 0);
    let down = Fake {
        ping: Err(refused()),
        ..well()
    };
    let mut memory = Memory::default();
    let mut names = Vec::new();
    for fake in [&well(), &down, &down, &well()] {
        let (report, after) = evaluate(&context, fake, &memory).unwrap();
        names.extend(report.events.into_iter().map(|event| event.name));
        memory = after;
    }
    assert_eq!(names, ["docker_not_running", "docker_not_running_cleared"]);
}
