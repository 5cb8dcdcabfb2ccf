use super::*;
use gpud_builtin_amd_common::testing::{Fixture, actions, context, data, metric, only_state};
use gpud_sdk::Health;
use proptest::prelude::*;

const ID: &str = "0000:03:00.0";

fn look(config: &str, files: &str, before: &RetainedState) -> (Report, RetainedState) {
    let cards = Fixture::default().gpu(ID, files).cards(&FILES);
    let config = Config::parse(config).unwrap();
    evaluate(
        &context("accelerator-amd-temperature"),
        &config,
        &cards,
        before,
    )
}

fn twice(config: &str, files: &str) -> (Report, Report) {
    let (first, past) = look(config, files, &RetainedState::default());
    (first, look(config, files, &past).0)
}

fn sensor(input: &str) -> String {
    format!(
        "hwmon/hwmon3/temp2_input={input};hwmon/hwmon3/temp2_label=junction;\
             hwmon/hwmon3/temp2_crit=100000;hwmon/hwmon3/temp2_emergency=105000"
    )
}

#[test]
fn verdicts() {
    let fine = "1 GPU(s) were checked, none is too hot";
    let inspect: &[RepairAction] = &[RepairAction::HardwareInspection];
    for (config, files, health, reason, action) in [
        ("{}", sensor("99000"), Health::Healthy, fine, &[][..]),
        (
            "{}",
            sensor("100000"),
            Health::Degraded,
            "GPU 0000:03:00.0: junction is at 100 °C, the GPU slows down at 100 °C",
            inspect,
        ),
        (
            "{}",
            sensor("106000"),
            Health::Unhealthy,
            "GPU 0000:03:00.0: junction is at 106 °C, the GPU is switched off at 105 °C",
            inspect,
        ),
        // A laptop's integrated GPU has no limits, older drivers say 0 for that.
        (
            "{}",
            "hwmon/hwmon5/temp1_input=101000;hwmon/hwmon5/temp1_label=edge".into(),
            Health::Healthy,
            fine,
            &[],
        ),
        (
            "{}",
            "hwmon/hwmon5/temp1_input=101000;hwmon/hwmon5/temp1_crit=0".into(),
            Health::Healthy,
            fine,
            &[],
        ),
        (
            r#"{"max":{"junction":90}}"#,
            sensor("95000"),
            Health::Degraded,
            "GPU 0000:03:00.0: junction is at 95 °C, allowed are 90 °C. The limit is the \
                 site's own. Check fans, air \
                 flow and the temperature of the room.",
            &[],
        ),
    ] {
        let (first, second) = twice(config, &files);
        assert_eq!(
            only_state(&first).health,
            Health::Healthy,
            "one reading may be a glitch"
        );
        let state = only_state(&second);
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&health, reason),
            "{files}"
        );
        assert_eq!(actions(&second), action, "{files}");
    }
}

#[test]
fn ordinary_machines() {
    let (report, _) = look("{}", "gpu_busy_percent=1", &RetainedState::default());
    assert!(!report.supported);
    let (report, _) = look(
        "{}",
        "power/runtime_status=suspended",
        &RetainedState::default(),
    );
    assert!(report.supported);
    let state = only_state(&report);
    assert_eq!(
        state.reason,
        "0 GPU(s) were checked, none is too hot, 1 asleep"
    );
    assert_eq!(state.health, Health::Healthy);
    // What no part can have.
    for input in ["255000", "511000", "99999999999999999999", "x", ""] {
        let (_, second) = twice("{}", &sensor(input));
        assert_eq!(only_state(&second).health, Health::Healthy, "{input}");
    }
}

#[test]
fn shows_what_it_read() {
    let (report, _) = look("{}", &sensor("61500"), &RetainedState::default());
    assert_eq!(metric(&report, TEMPERATURE, ID), Some(61.5));
    assert_eq!(metric(&report, CRITICAL, ID), Some(100.0));
    let document: Value = serde_json::from_str(data(&report)).unwrap();
    assert_eq!(document["gpus"][0]["sensors"]["junction"]["celsius"], 61.5);
    serde_json::from_str::<Value>(crate::config::SCHEMA).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

    #[test]
    fn any_text_is_survived(input in "-?[0-9]{0,22}|\\PC{0,10}", label in "[^;=]{0,50}") {
        let files = format!(
            "hwmon/hwmon3/temp1_input={input};hwmon/hwmon3/temp1_label={label};hwmon/hwmon3/temp1_crit={input}"
        );
        twice("{}", &files);
    }
}
