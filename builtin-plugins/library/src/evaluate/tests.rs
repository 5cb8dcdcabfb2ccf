use super::*;
use gpud_sdk::{AccessError, Health, Trigger};

fn context() -> CheckContext {
    CheckContext {
        component: "library".into(),
        now: 1_800_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn found(name: &'static str, path: Option<&str>) -> FoundLibrary {
    FoundLibrary {
        name,
        path: Ok(path.map(str::to_owned)),
    }
}

#[test]
fn all_there_or_not() {
    for (libraries, health, reason, data) in [
        (vec![], Health::Healthy, "all libraries exist", None),
        (
            vec![
                found("libnvidia-ml.so", Some("/b/libnvidia-ml.so.570")),
                found("libcuda.so", Some("/a/libcuda.so.570")),
            ],
            Health::Healthy,
            "all libraries exist",
            Some(r#"{"resolved_libraries":["/a/libcuda.so.570","/b/libnvidia-ml.so.570"]}"#),
        ),
        (
            vec![
                found("libnvidia-ml.so", Some("/b/libnvidia-ml.so.570")),
                found("libcuda.so", None),
            ],
            Health::Unhealthy,
            "library \"libcuda.so\" does not exist",
            Some(r#"{"resolved_libraries":["/b/libnvidia-ml.so.570"]}"#),
        ),
        (
            vec![found("libnvidia-ml.so", None), found("libcuda.so", None)],
            Health::Unhealthy,
            "library \"libcuda.so\" does not exist; library \"libnvidia-ml.so\" does not exist",
            None,
        ),
    ] {
        let report = judge(&context(), libraries).unwrap();
        let mut expected = HealthState::new(&context(), health, reason);
        if let Some(data) = data {
            expected = expected.info("data", data);
        }
        assert_eq!(report, Report::of(expected));
    }
}

#[test]
fn a_library_that_cannot_be_looked_for_is_not_called_missing() {
    let denied = AccessError::Denied("/usr/lib64/libcuda.so".into());
    let unknown = || FoundLibrary {
        name: "libcuda.so",
        path: Err(denied.clone()),
    };
    let there = found("libnvidia-ml.so", Some("/b/libnvidia-ml.so.570"));
    assert_eq!(
        judge(&context(), vec![unknown(), there]),
        Err(Error::Source(denied.clone()))
    );
    let report = judge(&context(), vec![unknown(), found("libnvidia-ml.so", None)]).unwrap();
    let state = &report.states[0];
    assert_eq!(state.reason, "library \"libnvidia-ml.so\" does not exist");
    assert_eq!(
        state.error.as_deref(),
        Some("/usr/lib64/libcuda.so: permission denied")
    );
}
