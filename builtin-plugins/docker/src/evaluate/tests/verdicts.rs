//! The verdict on each answer.

use super::*;

#[test]
fn verdicts() {
    let too_new =
        r#"{"message":"client version 1.99 is too new. Maximum supported API version is 1.41"}"#;
    let off = "docker installed but docker is not running (its service is disabled)";
    let healthy = Health::Healthy;
    let unhealthy = Health::Unhealthy;
    for (fake, health, reason, error) in [
        (well(), &healthy, "ok", None),
        (
            Fake {
                installed: Ok(false),
                ..well()
            },
            &healthy,
            NOT_INSTALLED,
            None,
        ),
        (
            Fake {
                list: answer(200, "[]"),
                ..well()
            },
            &healthy,
            "ok",
            None,
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
                ping: Err(refused()),
                ..well()
            },
            &unhealthy,
            NOT_RUNNING,
            Some("refused"),
        ),
        (
            Fake {
                ping: Err(silent()),
                ..well()
            },
            &unhealthy,
            NOT_RUNNING,
            Some("no answer for 8000 ms"),
        ),
        (
            Fake {
                ping: Err(AccessError::NotFound("x".into())),
                ..well()
            },
            &unhealthy,
            NOT_RUNNING,
            Some("x: not found"),
        ),
        (
            Fake {
                ping: answer(502, "<html>\n"),
                ..well()
            },
            &unhealthy,
            NOT_RUNNING,
            Some("HTTP status 502: <html>"),
        ),
        (
            Fake {
                ping: Err(refused()),
                service: Ok(None),
                ..well()
            },
            &unhealthy,
            NOT_RUNNING,
            Some("refused"),
        ),
        (
            Fake {
                ping: Err(refused()),
                service: Ok(Some(service("failed", "disabled", ""))),
                ..well()
            },
            &unhealthy,
            NOT_RUNNING,
            Some("refused"),
        ),
        (
            Fake {
                ping: Err(refused()),
                service: Ok(Some(service("inactive", "disabled", ""))),
                ..well()
            },
            &healthy,
            off,
            None,
        ),
        (
            Fake {
                ping: Err(refused()),
                service: Ok(Some(service("activating", "enabled", ""))),
                ..well()
            },
            &Health::Initializing,
            "docker is being started",
            Some("refused"),
        ),
        (
            Fake {
                service: Ok(Some(service("inactive", "enabled", ""))),
                ..well()
            },
            &unhealthy,
            SERVICE,
            None,
        ),
        (
            Fake {
                service: Err(silent()),
                ..well()
            },
            &unhealthy,
            SERVICE,
            Some("no answer for 8000 ms"),
        ),
        (
            Fake {
                list: answer(400, too_new),
                ..well()
            },
            &healthy,
            TOO_OLD,
            Some("is too new"),
        ),
        (
            Fake {
                list: answer(500, "no"),
                ..well()
            },
            &unhealthy,
            LISTING,
            Some("HTTP status 500: no"),
        ),
        (
            Fake {
                list: answer(200, "<html>"),
                ..well()
            },
            &unhealthy,
            LISTING,
            Some("expected value"),
        ),
        (
            Fake {
                list: answer(200, &LIST[..700]),
                ..well()
            },
            &unhealthy,
            LISTING,
            Some("EOF"),
        ),
        (
            Fake {
                list: answer(200, r#"[{"Id":1}]"#),
                ..well()
            },
            &unhealthy,
            LISTING,
            Some("invalid type"),
        ),
        (
            Fake {
                list: Err(silent()),
                ..well()
            },
            &unhealthy,
            LISTING,
            Some("no answer"),
        ),
        (
            Fake {
                list: Err(refused()),
                ..well()
            },
            &Health::Degraded,
            LOST,
            Some("refused"),
        ),
    ] {
        let state = run(&fake);
        assert_eq!((&state.health, state.reason.as_str()), (health, reason));
        match error {
            Some(words) => assert!(state.error.as_ref().unwrap().contains(words), "{state:?}"),
            None => assert_eq!(state.error, None, "{reason}"),
        }
    }
}
