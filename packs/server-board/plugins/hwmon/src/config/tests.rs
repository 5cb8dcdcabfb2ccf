use super::*;

#[test]
fn the_schema_says_the_same() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let defaults = schema["properties"].as_object().unwrap().iter();
    let defaults: serde_json::Map<_, _> = defaults
        .map(|(key, value)| (key.clone(), value["default"].clone()))
        .collect();
    let plain = Config::parse("{}").unwrap();
    assert_eq!(
        Config::parse(&Value::Object(defaults).to_string()).unwrap(),
        plain
    );
    assert!(!plain.expects() && plain.may_stop("amdgpu.2/fan1"));
    assert!(Config::parse("{").is_err());
}

#[test]
fn limits_by_pattern() {
    let config =
        Config::parse(r#"{"limits":{"nct*/fan*":{"min":500},"x/y":{"critical_max":1.5}}}"#)
            .unwrap();
    let order = r#"{"limits":{"*":{"min":1},"a/*":{"min":2},"a/fan1":{"min":3}}}"#;
    let order = Config::parse(order).unwrap();
    for (key, min) in [("b/x", 1.0), ("a/fan2", 2.0), ("a/fan1", 3.0)] {
        assert_eq!(order.limits(key).min, Some(min), "{key}");
    }
    assert_eq!(config.limits("nct6775/fan2").min, Some(500.0));
    assert_eq!(config.limits("nct6775/temp2"), Limits::default());
    assert_eq!(config.without_sensor(&["nct6775/fan2".to_owned()]), ["x/y"]);
    assert!(config.expects());
}
