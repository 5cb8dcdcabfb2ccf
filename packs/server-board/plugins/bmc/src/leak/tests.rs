use super::*;
use gpud_builtin_ipmi::elist;

#[test]
fn words_of_makers() {
    for (config, status, reading, expected) in [
        ("{}", "ok", "", Says::Dry),
        ("{}", "ok", "State Deasserted", Says::Dry),
        ("{}", "ok", "State Asserted", Says::Leak),
        ("{}", "ok", "Transition to OK", Says::Dry),
        ("{}", "ok", "Transition to Non-critical from OK", Says::Drip),
        (
            "{}",
            "ok",
            "Transition to Critical from less severe",
            Says::Leak,
        ),
        ("{}", "ok", "Device Present, Leak detected", Says::Leak),
        ("{}", "ok", "1.65 Volts", Says::Dry),
        ("{}", "lnc", "1.20 Volts", Says::Drip),
        ("{}", "lcr", "0.80 Volts", Says::Leak),
        ("{}", "ns", "No Reading", Says::Nothing),
        ("{}", "ok", "Device Absent", Says::Nothing),
        (
            "{}",
            "ok",
            "OEM Event 3",
            Says::Unclear("OEM Event 3".into()),
        ),
        (
            r#"{"leak_states":["OEM Event 3"]}"#,
            "ok",
            "OEM Event 3",
            Says::Leak,
        ),
        // On boards where the rope's circuit is closed while it is dry.
        (
            r#"{"dry_states":["State Asserted"],"leak_states":["State Deasserted"]}"#,
            "ok",
            "State Asserted",
            Says::Dry,
        ),
        (
            r#"{"dry_states":["State Asserted"],"leak_states":["State Deasserted"]}"#,
            "ok",
            "State Deasserted",
            Says::Leak,
        ),
    ] {
        let sensors = elist::parse(&format!("Leak 1 | 10h | {status} | 7.1 | {reading}"));
        let config = Config::parse(config).unwrap();
        assert_eq!(says(&config, &sensors[0]), expected, "{status} {reading}");
    }
}
