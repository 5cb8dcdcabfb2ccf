use gpud_sdk::Health;
use gpud_sdk::testing::test_context;
use gpud_sdk::types::TimeoutInfo;

use super::*;

const TWO: &str = r#"{"endpoints":{"Berlin":"a.example:443","Rome":"b.example:443"}}"#;

fn refused() -> Outcome {
    Outcome::Failed(AccessError::Other(
        "tcp://b.example:443: Connection refused".into(),
    ))
}

fn silent(after_ms: u64) -> AccessError {
    AccessError::TimedOut(TimeoutInfo {
        what: "tcp://b.example:443".into(),
        after_ms,
        last_good: None,
    })
}

fn run(document: &str, outcomes: &[Outcome]) -> Report {
    let config = Config::parse(document).unwrap();
    let measured: Vec<_> = config
        .endpoints
        .iter()
        .cloned()
        .zip(outcomes.iter().cloned())
        .collect();
    let context = test_context("network-latency", 0);
    judge(&context, &config, &measured, &Memory::default())
        .unwrap()
        .0
}

#[test]
fn verdicts() {
    use Outcome::{Connected, Failed, NoTime};
    let nameless = || {
        Failed(AccessError::NotFound(
            "tcp://b.example:443 (no address)".into(),
        ))
    };
    let unreachable = "error measuring egress latencies";
    for (document, outcomes, health, reason, error) in [
        (
            "{}",
            vec![],
            Health::Healthy,
            "no endpoints are configured, so no latency is measured",
            None,
        ),
        (
            TWO,
            vec![Connected(12_300), Connected(7_000_000)],
            Health::Healthy,
            "checked egress latencies and no issue found",
            None,
        ),
        (
            TWO,
            vec![Connected(12_300), Connected(7_000_001)],
            Health::Degraded,
            "latency to Rome edge server is 7.000001s (exceeded threshold 7000ms)",
            None,
        ),
        (
            r#"{"endpoints":{"Berlin":"a:1","Rome":"b:1"},"threshold_ms":5}"#,
            vec![Connected(12_300), Connected(6_000)],
            Health::Degraded,
            "latency to Berlin edge server is 12.3ms (exceeded threshold 5ms); \
             latency to Rome edge server is 6ms (exceeded threshold 5ms)",
            None,
        ),
        (
            TWO,
            vec![Connected(12_300), refused()],
            Health::Degraded,
            "Rome cannot be reached (tcp://b.example:443: Connection refused)",
            None,
        ),
        (
            TWO,
            vec![Connected(12_300), Failed(silent(8_000))],
            Health::Degraded,
            "Rome cannot be reached (tcp://b.example:443: no answer for 8000 ms)",
            None,
        ),
        (
            TWO,
            vec![refused(), nameless()],
            Health::Unhealthy,
            unreachable,
            Some(
                "tcp://b.example:443: Connection refused; tcp://b.example:443 (no address): not found",
            ),
        ),
        (
            TWO,
            vec![Connected(1), NoTime],
            Health::Healthy,
            "checked egress latencies and no issue found (1 not measured: no time)",
            None,
        ),
    ] {
        let report = run(document, &outcomes);
        let state = &report.states[0];
        assert!(report.supported);
        assert_eq!((&state.health, state.reason.as_str()), (&health, reason));
        assert_eq!(state.error.as_deref(), error);
    }
}

#[test]
fn data_and_metrics() {
    let report = run(TWO, &[Outcome::Connected(12_300), Outcome::Connected(450)]);
    let expected = concat!(
        r#"{"egress_latencies":[{"provider":"configured","region_name":"Rome","region_code":"","#,
        r#""latency":"450µs","latency_milliseconds":0},{"provider":"configured","region_name":"Berlin","#,
        r#""region_code":"","latency":"12.3ms","latency_milliseconds":12}]}"#
    );
    assert_eq!(
        report.states[0].extra_info,
        [("data".to_owned(), expected.to_owned())]
    );
    let first = &report.metrics[0];
    assert_eq!(first.name, LATENCY);
    assert_eq!(
        first.labels,
        [("region".to_owned(), "Rome (configured)".to_owned())]
    );
    assert!((report.metrics[1].value - 12.3).abs() < 1e-9);
    assert!(run("{}", &[]).metrics.is_empty());
    assert!(
        run(TWO, &[refused(), refused()]).states[0]
            .extra_info
            .is_empty()
    );
}

#[test]
fn what_was_not_granted_is_not_the_networks_fault() {
    let config = Config::parse(TWO).unwrap();
    let measured: Vec<_> = config
        .endpoints
        .iter()
        .map(|endpoint| {
            let denied = AccessError::Denied("net: not granted; add to grants: `net: …`".into());
            (endpoint.clone(), Outcome::Failed(denied))
        })
        .collect();
    let context = test_context("network-latency", 0);
    let error = judge(&context, &config, &measured, &Memory::default());
    assert!(matches!(error, Err(Error::Source(_))), "{error:?}");
}

#[test]
fn time_is_shared() {
    let endpoints: Vec<String> = (0..6).map(|n| format!(r#""e{n}":"h{n}:1""#)).collect();
    let document = format!(r#"{{"endpoints":{{{}}}}}"#, endpoints.join(","));
    let config = Config::parse(&document).unwrap();
    let mut waits = Vec::new();
    let measured = measure(&config, |endpoint, timeout_ms| {
        waits.push(timeout_ms);
        match endpoint.host.as_str() {
            "h0" => Ok(3_000_000),
            "h1" => Err(AccessError::NotFound("h1".into())),
            _ => Err(silent(timeout_ms.into())),
        }
    });
    // 25 s: 3 s, nothing, twice 8 s, the remaining 6 s.
    assert_eq!(waits, [8_000, 8_000, 8_000, 8_000, 6_000]);
    assert_eq!(measured.len(), 6);
    assert_eq!(measured[5].1, Outcome::NoTime);
    assert_eq!(measured[0].1, Outcome::Connected(3_000_000));
}

#[test]
fn events_are_transitions() {
    let config = Config::parse(TWO).unwrap();
    let context = test_context("network-latency", 0);
    let mut memory = Memory::default();
    let mut names = Vec::new();
    for rome in [refused(), refused(), Outcome::Connected(5)] {
        let outcomes = [Outcome::Connected(5), rome];
        let measured: Vec<_> = config.endpoints.iter().cloned().zip(outcomes).collect();
        let (report, after) = judge(&context, &config, &measured, &memory).unwrap();
        names.extend(report.events.into_iter().map(|event| event.name));
        memory = after;
    }
    assert_eq!(
        names,
        [
            "network_endpoint_unreachable",
            "network_endpoint_unreachable_cleared"
        ]
    );
}

#[test]
fn durations_as_go_prints_them() {
    for (micros, text) in [
        (0, "0s"),
        (450, "450µs"),
        (1_000, "1ms"),
        (12_300, "12.3ms"),
        (12_345, "12.345ms"),
        (1_000_000, "1s"),
        (7_500_000, "7.5s"),
        (7_000_001, "7.000001s"),
    ] {
        assert_eq!(go_duration(micros), text);
    }
}
