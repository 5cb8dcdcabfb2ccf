use super::*;
use proptest::prelude::*;

#[test]
fn all_keys() {
    let plain = Config::default();
    let read = |document| Config::read(document).unwrap();
    assert_eq!(read("{}"), plain);
    assert_eq!(
        read(r#"{"expected_port_states":null,"class_root":null}"#),
        plain
    );
    assert_eq!(
        read(
            r#"{"expected_port_states":{"at_least_ports":2,"at_least_rate":100},
                    "exclude_devices":["mlx5_0"," mlx5_1 ",""],"class_root":"/x/ib/",
                    "drop_after_seconds":1,"drop_shown_seconds":0,"flap_down_seconds":2,"flap_outages":8,
                    "flap_auto_clear_seconds":600,"lookback_seconds":3}"#
        ),
        Config {
            expected: Some(Expected {
                ports: 2,
                rate: 100
            }),
            exclude_devices: vec!["mlx5_0".into(), "mlx5_1".into()],
            class_root: "/x/ib".into(),
            drop_after_seconds: 1,
            drop_shown_seconds: 0,
            flap_down_seconds: 2,
            flap_outages: 8,
            flap_auto_clear_seconds: 600,
            lookback_seconds: 3,
        }
    );
}

#[test]
fn what_is_missing_or_negative_is_off() {
    for (document, ports, rate) in [
        (r#"{}"#, 0, 0),
        (r#"{"at_least_ports":8}"#, 8, 0),
        (r#"{"at_least_rate":400,"at_least_ports":null}"#, 0, 400),
        (r#"{"at_least_ports":-8,"at_least_rate":-1}"#, 0, 0),
    ] {
        let document = format!(r#"{{"expected_port_states":{document}}}"#);
        let expected = Config::read(&document).unwrap().expected;
        assert_eq!(expected, Some(Expected { ports, rate }), "{document}");
    }
}

#[test]
fn errors_name_the_key() {
    for (document, error) in [
        ("{", "configuration: not JSON: "),
        (
            r#"{"expected_port_states":8}"#,
            r#"configuration: expected_port_states: expected {"at_least_ports": 8, "at_least_rate": 400}, found 8"#,
        ),
        (
            r#"{"expected_port_states":{"at_least_rate":"400"}}"#,
            r#"configuration: expected_port_states.at_least_rate: expected a whole number, found "400""#,
        ),
        (
            r#"{"exclude_devices":"mlx5_0"}"#,
            r#"configuration: exclude_devices: expected a list of device names, found "mlx5_0""#,
        ),
        (
            r#"{"exclude_devices":["mlx5_0",1]}"#,
            "configuration: exclude_devices[1]: expected a device name, found 1",
        ),
        (
            r#"{"class_root":"sys"}"#,
            r#"configuration: class_root: expected an absolute path, found "sys""#,
        ),
        (
            r#"{"drop_after_seconds":0}"#,
            "configuration: drop_after_seconds: expected a whole number from 1 on, found 0",
        ),
        (
            r#"{"flap_outages":9}"#,
            "configuration: flap_outages: expected a whole number from 1 to 8, found 9",
        ),
    ] {
        let found = Config::read(document).unwrap_err();
        assert!(found.starts_with(error), "{document}: {found}");
    }
}

#[test]
fn the_schema_says_the_same() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut document = serde_json::Map::new();
    for (key, about) in schema["properties"].as_object().unwrap() {
        if let Some(default) = about.get("default") {
            document.insert(key.clone(), default.clone());
        }
    }
    assert_eq!(document.len(), 7);
    let read = Config::read(&Value::Object(document).to_string());
    assert_eq!(read, Ok(Config::default()));
    let most = schema["properties"]["flap_outages"]["maximum"].as_u64();
    assert_eq!(most, Some(MAX_OUTAGES));
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "([{}\\[\\]:,]|\"[a-z_]{0,8}\"|[0-9.-]|\\PC){0,40}") {
        let _ = Config::read(&text);
    }
}
