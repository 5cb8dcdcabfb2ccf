//! The verdict on each answer.

use super::*;

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
