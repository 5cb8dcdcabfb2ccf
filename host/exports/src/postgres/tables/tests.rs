use super::*;
use crate::row::tests::{change, event};

#[test]
fn values_are_in_the_order_of_the_columns() {
    for (record, kind, shape) in [
        (event(), "event", EVENTS),
        (change(), "health", HEALTH_CHANGES),
    ] {
        let row = Row::of(&record, "c1", "n1");
        let values = values(&row, kind);
        assert_eq!(values.len(), shape.columns.len(), "{kind}");
        let value = |name: &str| {
            let column = shape.columns.iter().position(|c| c.name == name).unwrap();
            values[column].as_deref()
        };
        assert_eq!((value("cluster"), value("node")), (Some("c1"), Some("n1")));
        assert_eq!(value("sample"), Some("false"));
        match kind {
            "event" => {
                assert_eq!(value("severity"), Some("Fatal"));
                assert_eq!(value("extra_info"), Some(r#"{"xid":"79"}"#));
                assert_eq!(value("gpu_serial"), Some("1650"));
                assert_eq!(value("gpu_index"), Some("3"));
                assert_eq!(value("gpu_pci"), None);
            }
            _ => {
                assert_eq!(value("health_to"), Some("Unhealthy"));
                assert_eq!(value("reason"), Some("full"));
                assert_eq!(
                    value("suggested_actions"),
                    Some(r#"["REBOOT_SYSTEM","HARDWARE_INSPECTION"]"#)
                );
                assert_eq!(value("subject"), None);
            }
        }
    }
}

#[test]
fn no_nul_hides_in_json() {
    let mut row = Row::of(&event(), "c", "n");
    row.extra_info.insert("a\0".into(), "b\0".into());
    let info = values(&row, "event")[9].clone().unwrap();
    assert_eq!(info, r#"{"a":"b","xid":"79"}"#);
}
