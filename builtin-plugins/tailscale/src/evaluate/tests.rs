use gpud_sdk::testing::test_context;
use gpud_sdk::types::TimeoutInfo;
use gpud_sdk::{Health, HealthState};
use proptest::prelude::*;

use super::*;

/// After the documented shape of the local API; not captured.
const STATUS: &str = include_str!("../fixtures/status.json");

struct Fake {
    installed: bool,
    service: Result<Option<Service>, AccessError>,
    status: Result<Response, AccessError>,
}

impl Machine for Fake {
    fn is_installed(&self) -> Result<bool, AccessError> {
        Ok(self.installed)
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        self.service.clone()
    }

    fn status(&self) -> Result<Response, AccessError> {
        self.status.clone()
    }
}

fn answer(status: u16, body: &str) -> Result<Response, AccessError> {
    Ok(Response {
        status,
        headers: Vec::new(),
        body: body.as_bytes().to_vec(),
    })
}

fn service(active: &str, file: &str) -> Result<Option<Service>, AccessError> {
    Ok(Some(Service::parse(&format!(
        "LoadState=loaded\nActiveState={active}\nSubState=x\nUnitFileState={file}\n"
    ))))
}

fn silent() -> AccessError {
    AccessError::TimedOut(TimeoutInfo {
        what: "x".into(),
        after_ms: 15_000,
        last_good: None,
    })
}

fn well() -> Fake {
    Fake {
        installed: true,
        service: service("active", "enabled"),
        status: answer(200, STATUS),
    }
}

fn run(fake: &Fake) -> HealthState {
    let context = test_context("tailscale", 0);
    let (report, _) = evaluate(&context, fake, &Memory::default()).unwrap();
    report.states[0].clone()
}

#[test]
fn verdicts() {
    let missing = || {
        Err(AccessError::NotFound(
            "unix:/var/run/tailscale/tailscaled.sock".into(),
        ))
    };
    let stopped = STATUS.replace("\"Running\"", "\"Stopped\"");
    let healthy = Health::Healthy;
    let unhealthy = Health::Unhealthy;
    let off = r#"{"tailscaled_service_active":false}"#;
    let on = r#"{"tailscaled_service_active":true}"#;
    for (fake, health, reason, data, error) in [
        (
            well(),
            &healthy,
            "tailscaled service is active/running",
            r#"{"tailscaled_service_active":true,"backend_state":"Running"}"#,
            None,
        ),
        (
            Fake {
                installed: false,
                ..well()
            },
            &healthy,
            "tailscaled is not installed",
            off,
            None,
        ),
        (
            Fake {
                service: service("inactive", "enabled"),
                ..well()
            },
            &unhealthy,
            INACTIVE,
            off,
            None,
        ),
        (
            Fake {
                service: service("failed", "disabled"),
                ..well()
            },
            &unhealthy,
            INACTIVE,
            off,
            None,
        ),
        (
            Fake {
                service: service("inactive", "disabled"),
                ..well()
            },
            &healthy,
            "tailscaled is installed and its service is disabled",
            off,
            None,
        ),
        (
            Fake {
                service: Err(silent()),
                ..well()
            },
            &unhealthy,
            INACTIVE,
            off,
            Some("no answer"),
        ),
        (
            Fake {
                status: answer(200, &stopped),
                ..well()
            },
            &unhealthy,
            "tailscaled service is active but tailscale is not running (state: Stopped)",
            r#"{"tailscaled_service_active":true,"backend_state":"Stopped"}"#,
            None,
        ),
        (
            Fake {
                status: missing(),
                ..well()
            },
            &unhealthy,
            UNKNOWN,
            on,
            Some("not found"),
        ),
        (
            Fake {
                status: Err(silent()),
                ..well()
            },
            &unhealthy,
            UNKNOWN,
            on,
            Some("no answer for 15000 ms"),
        ),
        (
            Fake {
                status: answer(403, "invalid localapi request"),
                ..well()
            },
            &unhealthy,
            UNKNOWN,
            on,
            Some("HTTP status 403: invalid localapi request"),
        ),
        (
            Fake {
                status: answer(200, "<html>"),
                ..well()
            },
            &unhealthy,
            UNKNOWN,
            on,
            Some("expected value"),
        ),
        (
            Fake {
                status: answer(200, &STATUS[..300]),
                ..well()
            },
            &unhealthy,
            UNKNOWN,
            on,
            Some("EOF"),
        ),
        (
            Fake {
                status: answer(200, r#"{"BackendState":6}"#),
                ..well()
            },
            &unhealthy,
            UNKNOWN,
            on,
            Some("invalid type"),
        ),
        (
            Fake {
                status: answer(200, "{}"),
                ..well()
            },
            &unhealthy,
            UNKNOWN,
            on,
            Some("missing field"),
        ),
        (
            Fake {
                service: Ok(None),
                status: missing(),
                ..well()
            },
            &healthy,
            "tailscaled is installed and not running; no service of systemd runs it",
            off,
            None,
        ),
    ] {
        let state = run(&fake);
        assert_eq!((&state.health, state.reason.as_str()), (health, reason));
        assert_eq!(state.extra_info, [("data".to_owned(), data.to_owned())]);
        match error {
            Some(words) => assert!(state.error.as_ref().unwrap().contains(words), "{state:?}"),
            None => assert_eq!(state.error, None),
        }
    }
}

#[test]
fn whom_we_may_not_ask_is_not_blamed() {
    let fake = Fake {
        status: Err(AccessError::Denied("x".into())),
        ..well()
    };
    let error = evaluate(&test_context("tailscale", 0), &fake, &Memory::default());
    assert!(matches!(error, Err(Error::Source(_))), "{error:?}");
}

#[test]
fn long_states_are_cut_and_events_are_transitions() {
    let body = format!(r#"{{"BackendState":"{}"}}"#, "é".repeat(5_000));
    let odd = Fake {
        status: answer(200, &body),
        ..well()
    };
    let state = run(&odd);
    assert!(state.reason.len() < 1_000 && state.extra_info[0].1.len() < 1_000);
    let context = test_context("tailscale", 0);
    let mut memory = Memory::default();
    let mut names = Vec::new();
    for fake in [&odd, &odd, &well()] {
        let (report, after) = evaluate(&context, fake, &memory).unwrap();
        names.extend(report.events.into_iter().map(|event| event.name));
        memory = after;
    }
    assert_eq!(
        names,
        ["tailscale_not_running", "tailscale_not_running_cleared"]
    );
}

proptest! {
    #[test]
    fn changed_answers_are_survived(at in 0..STATUS.len(), with in any::<u8>(), cut in 0..STATUS.trim_end().len()) {
        let mut body = STATUS.as_bytes().to_vec();
        body[at] = with;
        let changed = Response { status: 200, headers: Vec::new(), body };
        let _ = backend_state(&changed);
        let body = STATUS.as_bytes()[..cut].to_vec();
        let found = backend_state(&Response { body, ..changed });
        prop_assert!(found.is_err());
    }
}
