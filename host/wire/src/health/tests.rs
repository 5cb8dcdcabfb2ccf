use super::*;
use crate::to_json;

fn json(component: &str, origin: &Origin, state: model::HealthState) -> String {
    String::from_utf8(to_json(&HealthState::from_model(component, origin, state)).unwrap()).unwrap()
}

#[test]
fn the_component_key_goes_only_where_an_event_state_names_itself() {
    for (name, time, expected) in [
        (
            Some("cpu"),
            Some(0),
            r#"{"time":"1970-01-01T00:00:00Z","component":"cpu","name":"cpu","health":"Healthy"}"#,
        ),
        (
            Some("error_xid"),
            None,
            r#"{"time":null,"name":"error_xid","health":"Healthy"}"#,
        ),
        (
            Some("cpu"),
            None,
            r#"{"time":null,"component":"cpu","name":"cpu","health":"Healthy"}"#,
        ),
        (
            None,
            None,
            r#"{"time":null,"component":"cpu","health":"Healthy"}"#,
        ),
        (
            Some("check"),
            Some(0),
            r#"{"time":"1970-01-01T00:00:00Z","component":"cpu","name":"check","health":"Healthy"}"#,
        ),
    ] {
        let state = model::HealthState {
            name: name.map(Into::into),
            time,
            ..Default::default()
        };
        assert_eq!(json("cpu", &Origin::default(), state), expected);
    }
}

#[test]
fn every_key_in_its_order() {
    let state = model::HealthState {
        name: Some("check".into()),
        time: Some(1_741_064_767_000),
        health: model::Health::Degraded,
        reason: "a < b".into(),
        error: Some("exit status 1".into()),
        suggested_actions: Some(model::SuggestedActions {
            description: String::new(),
            repair_actions: vec![
                model::RepairAction::RebootSystem,
                model::RepairAction::Other("CALL".into()),
            ],
        }),
        extra_info: vec![("z".into(), "1".into()), ("a".into(), "2".into())],
        ..Default::default()
    };
    let origin = Origin {
        component_type: "custom-plugin".into(),
        run_mode: "manual".into(),
        raw_output: "out\n".into(),
    };
    assert_eq!(
        json("p", &origin, state),
        concat!(
            r#"{"time":"2025-03-04T05:06:07Z","component":"p","component_type":"custom-plugin","name":"check","run_mode":"manual","#,
            r#""health":"Degraded","reason":"a \u003c b","error":"exit status 1","#,
            r#""suggested_actions":{"description":"","repair_actions":["REBOOT_SYSTEM","CALL"]},"#,
            r#""extra_info":{"a":"2","z":"1"},"raw_output":"out\n"}"#
        )
    );
}
