use gpud_sdk::Health;
use gpud_sdk::testing::test_context;
use gpud_sdk::types::{SizeInfo, TimeoutInfo};

use super::*;

const LIST: &str = include_str!("../fixtures/pods.json");
const NOW: u64 = 1_800_000_000_000;

type Got = Result<Response, AccessError>;

struct Fake {
    installed: bool,
    set_up: bool,
    service: Result<Option<Service>, AccessError>,
    health: Got,
    pods: Got,
}

impl Machine for Fake {
    fn is_installed(&self) -> Result<bool, AccessError> {
        Ok(self.installed)
    }

    fn is_set_up(&self) -> Result<bool, AccessError> {
        Ok(self.set_up)
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        self.service.clone()
    }

    fn get(&self, port: u16, path: &str, _timeout_ms: u32) -> Got {
        match (port, path) {
            (10_248, "/healthz") => self.health.clone(),
            (10_255, "/pods") => self.pods.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn answer(status: u16, body: &str) -> Got {
    Ok(Response {
        status,
        headers: Vec::new(),
        body: body.as_bytes().to_vec(),
    })
}

fn refused() -> Got {
    Err(AccessError::Other(
        "http://localhost:10248/healthz: Connection refused (os error 111)".into(),
    ))
}

fn silence() -> Got {
    Err(AccessError::TimedOut(TimeoutInfo {
        what: "http://localhost:10248/healthz".into(),
        after_ms: 8_000,
        last_good: None,
    }))
}

/// Started so many seconds after boot, which was a day ago.
fn service(
    active: &str,
    sub: &str,
    file: &str,
    started: u64,
) -> Result<Option<Service>, AccessError> {
    Ok(Some(Service::parse(&format!(
        "LoadState=loaded\nActiveState={active}\nSubState={sub}\nUnitFileState={file}\n\
         InactiveExitTimestampMonotonic={}\n",
        started * 1_000_000
    ))))
}

fn well() -> Fake {
    Fake {
        installed: true,
        set_up: true,
        service: service("active", "running", "enabled", 60),
        health: answer(200, "ok"),
        pods: refused(),
    }
}

fn run(document: &str, fake: &Fake) -> Report {
    let context = CheckContext {
        boot_time: NOW - 86_400_000,
        ..test_context("kubelet", NOW)
    };
    let config = Config::parse(document).unwrap();
    evaluate(&context, &config, fake, &Memory::default())
        .unwrap()
        .0
}

#[test]
fn verdicts() {
    let see = "See systemctl status kubelet and journalctl -u kubelet.";
    let odd = format!(
        "what listens on the kubelet's health port does not answer as a kubelet does. {see}"
    );
    let sick = "[+]ping ok\n[-]syncloop failed: reason withheld\n[+]log ok\nhealthz check failed\n";
    let reset = Err(AccessError::Other(
        "http://localhost:10248: connection closed".into(),
    ));
    let silent = |service| Fake {
        health: refused(),
        service,
        ..well()
    };
    for (fake, health, reason) in [
        (
            well(),
            Health::Healthy,
            "kubelet answers its health check".to_owned(),
        ),
        (
            Fake {
                installed: false,
                service: Ok(None),
                ..well()
            },
            Health::Healthy,
            "kubelet answers its health check".to_owned(),
        ),
        (
            Fake {
                health: answer(500, sick),
                ..well()
            },
            Health::Unhealthy,
            format!("kubelet says that it is not well: syncloop. {see}"),
        ),
        (
            Fake {
                health: answer(404, "<html>"),
                ..well()
            },
            Health::Unhealthy,
            odd.clone(),
        ),
        (
            Fake {
                health: silence(),
                ..well()
            },
            Health::Unhealthy,
            odd.clone(),
        ),
        (
            Fake {
                health: reset,
                ..well()
            },
            Health::Unhealthy,
            odd,
        ),
        (
            silent(service("active", "running", "enabled", 60)),
            Health::Degraded,
            "kubelet's service is active, but nobody answers on its health port 10248. \
             If its healthzPort is another, set health_port."
                .to_owned(),
        ),
        (
            silent(service("active", "running", "enabled", 86_300)),
            Health::Healthy,
            "kubelet has not been running for long enough; nobody answers on its health port 10248"
                .to_owned(),
        ),
        (
            silent(service("inactive", "dead", "enabled", 60)),
            Health::Unhealthy,
            format!("kubelet installed but kubelet is not running. {see}"),
        ),
        (
            silent(service("activating", "auto-restart", "enabled", 86_399)),
            Health::Unhealthy,
            format!("kubelet installed but kubelet is not running. {see}"),
        ),
        (
            Fake {
                set_up: false,
                ..silent(service("activating", "auto-restart", "enabled", 86_399))
            },
            Health::Healthy,
            "kubelet is installed, and this node has not joined a cluster".to_owned(),
        ),
        (
            silent(service("inactive", "dead", "disabled", 0)),
            Health::Healthy,
            "kubelet is installed, and its service is disabled".to_owned(),
        ),
        (
            silent(Ok(None)),
            Health::Degraded,
            "kubelet is installed, nobody answers on its health port 10248, \
             and no service of systemd runs it"
                .to_owned(),
        ),
        (
            Fake {
                pods: answer(200, LIST),
                ..silent(Ok(None))
            },
            Health::Healthy,
            "kubelet lists its pods; nobody answers on its health port 10248".to_owned(),
        ),
    ] {
        let report = run("{}", &fake);
        assert!(report.supported);
        let state = &report.states[0];
        assert_eq!((&state.health, &state.reason), (&health, &reason));
    }
}

#[test]
fn without_a_kubelet_there_is_nothing_to_watch() {
    let none = Fake {
        installed: false,
        health: refused(),
        ..well()
    };
    for document in ["{}", r#"{"health_port":0,"read_only_port":0}"#] {
        assert!(!run(document, &none).supported);
    }
    let another = |set_up| Fake {
        installed: false,
        set_up,
        health: answer(404, "<html>"),
        ..well()
    };
    assert!(!run("{}", &another(false)).supported);
    assert!(run("{}", &another(true)).supported);
}

#[test]
fn a_health_check_that_is_not_asked() {
    let document = r#"{"health_port":0}"#;
    let state = run(document, &well()).states[0].clone();
    let reason = "kubelet's service is active; its health check is not asked";
    assert_eq!(
        (state.health, state.reason.as_str()),
        (Health::Healthy, reason)
    );
}

#[test]
fn whom_we_may_not_ask_is_not_blamed() {
    let context = test_context("kubelet", NOW);
    let config = Config::parse("{}").unwrap();
    let timed_out = Err(AccessError::TimedOut(TimeoutInfo {
        what: "systemctl".into(),
        after_ms: 5_000,
        last_good: None,
    }));
    for fake in [
        Fake {
            health: Err(AccessError::Denied("x".into())),
            ..well()
        },
        Fake {
            health: refused(),
            service: timed_out,
            ..well()
        },
    ] {
        let error = evaluate(&context, &config, &fake, &Memory::default());
        assert!(matches!(error, Err(Error::Source(_))), "{error:?}");
    }
}

#[test]
fn pods() {
    let listing = Fake {
        pods: answer(200, LIST),
        ..well()
    };
    let report = run("{}", &listing);
    let data = &report.states[0].extra_info[0].1;
    let start = r#"{"pods":[{"namespace":"default","name":"train-0","#;
    assert!(data.starts_with(start), "{data}");
    assert_eq!(
        (report.metrics.len(), report.metrics[0].name.as_str()),
        (5, PODS)
    );
    let large = Err(AccessError::TooLarge(SizeInfo {
        what: "http://localhost:10255/pods".into(),
        size: 5 << 20,
        limit: 4 << 20,
    }));
    for (pods, error) in [
        (answer(200, "<html>"), Some("/pods: expected value")),
        (answer(200, &LIST[..1_000]), Some("/pods: EOF")),
        (
            answer(401, "Unauthorized"),
            Some("pods are not listed: HTTP status 401: Unauthorized"),
        ),
        (
            large,
            Some("pods are not listed: http://localhost:10255/pods: 5242880 is more than"),
        ),
        (silence(), Some("pods are not listed")),
        (refused(), None),
    ] {
        let state = run("{}", &Fake { pods, ..well() }).states[0].clone();
        assert_eq!(state.health, Health::Healthy);
        match error {
            Some(words) => assert!(
                state.error.as_ref().unwrap().starts_with(words),
                "{state:?}"
            ),
            None => assert_eq!(state.error, None),
        }
    }
}

#[test]
fn parts_of_a_health_check() {
    for (body, expected) in [
        (
            "[-]a failed\n[+]b ok\n[-]c failed: x",
            Some("a, c".to_owned()),
        ),
        ("[-]\n", None),
        ("ok", None),
        ("", None),
    ] {
        assert_eq!(failed_parts(body), expected, "{body}");
    }
    let many = "[-]part failed\n".repeat(1_000);
    assert_eq!(
        failed_parts(&many).unwrap().matches("part").count(),
        MAX_PARTS
    );
    let long = format!("[-]{} failed", "é".repeat(5_000));
    assert!(failed_parts(&long).unwrap().len() <= 512);
}
