use super::*;
use crate::testing::{GPU_0, GPU_1, NOW, context, failing, gpu};
use crate::{GpuAnswer, GpuFinding, trouble};
use gpud_sdk::AccessError;
use proptest::prelude::*;

fn parts(of: &[(&str, &[&str])]) -> Parts {
    of.iter()
        .map(|(uuid, parts)| {
            let parts = parts.iter().map(|&part| part.to_owned());
            ((*uuid).to_owned(), parts.collect())
        })
        .collect()
}

#[test]
fn what_is_known_after_asking() {
    let before = parts(&[(GPU_0, &["MIG-a"]), (GPU_1, &["MIG-b"])]);
    for (asked, expected) in [
        // Lost: as it was.
        (None, before.clone()),
        // MIG was switched off.
        (Some(vec![]), parts(&[(GPU_1, &["MIG-b"])])),
        // Partitioned again.
        (
            Some(vec!["MIG-c", "MIG-d"]),
            parts(&[(GPU_0, &["MIG-c", "MIG-d"]), (GPU_1, &["MIG-b"])]),
        ),
    ] {
        let asked = asked.map(|asked| asked.into_iter().map(str::to_owned).collect());
        let now = learn(&before, [(GPU_0.to_owned(), asked)]);
        assert_eq!(now, expected);
    }
    let none = learn(&Parts::new(), [(GPU_0.to_owned(), Some(vec![]))]);
    assert_eq!(none, Parts::new());
}

#[test]
fn saved_state_can_be_read_again() {
    for known in [
        Parts::new(),
        parts(&[(GPU_0, &["MIG-a", "MIG-b"]), (GPU_1, &["MIG-c"])]),
    ] {
        assert_eq!(read(&written(&known)), known);
    }
    assert_eq!(
        read("\n GPU-x \nGPU-y  MIG-z\n"),
        parts(&[("GPU-y", &["MIG-z"])])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,100}|([GM]-[a-z]{1,3}[ \n]{1,2}){0,20}") {
        let known = read(&text);
        prop_assert_eq!(read(&written(&known)), known);
    }
}

#[test]
fn once_in_ten_minutes() {
    for (previous, now, due) in [
        (None, NOW, true),
        (Some(599_000), 600_000, true),
        (Some(600_000), 660_000, false),
        (Some(600_000), 1_199_999, false),
        (Some(600_000), 9_000_000, true),
        // The clock was set back.
        (Some(9_000_000), 600_000, true),
    ] {
        let mut context = context();
        (context.previous_check, context.now) = (previous, now);
        assert_eq!(is_due(&context), due, "{previous:?} {now}");
    }
}

#[test]
fn whom_a_state_is_about() {
    let lost: Vec<GpuAnswer<()>> = vec![failing(0, AccessError::SourceLost("x".into()))];
    let lost = trouble::findings(&lost, "");
    let warm = || GpuFinding::degraded("warm").read_from("nvmlDeviceGetTemperature");
    for (findings, answered, expected) in [
        // By the subject, or for want of an answer.
        (lost, [false, true], [true, false]),
        // By the subject.
        (vec![warm().about([gpu(1)])], [true, true], [false, true]),
        // By the evidence, of several GPUs.
        (
            vec![warm().about([gpu(0), gpu(1)])],
            [true, true],
            [true, true],
        ),
        (
            vec![GpuFinding::unhealthy("of none")],
            [true, true],
            [false, false],
        ),
    ] {
        let state = crate::state(&context(), "", findings);
        assert!(is_trouble(&state));
        let found = [0, 1].map(|index| concerns(&state, &gpu(index), answered[index]));
        assert_eq!(found, expected, "{state:?}");
    }
    assert!(!is_trouble(&HealthState::healthy(&context(), "")));
}

#[test]
fn a_gpus_trouble_reaches_its_parts() {
    let state = || HealthState::unhealthy(&context(), "GPU lost");
    let known = parts(&[(GPU_0, &["MIG-a", "MIG-b"])]);
    let named = attach(state(), &known);
    assert_eq!(
        (named.reason.as_str(), named.error.as_deref()),
        ("GPU lost", None)
    );
    let info = format!(r#"{{"{GPU_0}":["MIG-a","MIG-b"]}}"#);
    assert_eq!(named.extra_info, [(KEY.to_owned(), info)]);
    let mut with_error = state();
    with_error.error = Some("nvmlX".into());
    assert_eq!(
        attach(with_error, &known).error.as_deref(),
        Some("nvmlX; MIG devices concerned: MIG-a, MIG-b")
    );
    assert_eq!(attach(state(), &Parts::new()), state());
}

#[test]
fn many_parts_fit() {
    let many: Vec<String> = (0..2_000).map(|n| format!("MIG-{n:036}")).collect();
    let mut state = HealthState::unhealthy(&context(), "");
    state.error = Some("x".repeat(2_000));
    let state = attach(state, &[(GPU_0.to_owned(), many)].into());
    assert!(state.error.unwrap().len() <= 4_096);
    assert_eq!(state.extra_info, []);
}
