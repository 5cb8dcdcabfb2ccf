//! What does not fit is refused.

use super::*;

#[test]
fn what_does_not_fit_is_refused_and_the_rest_recorded() {
    let registry = Registry::with_limit(3);
    assert_eq!(
        registry.record("a", Owner::BuiltIn, &[gauge("m", &[], 1.0)], &[]),
        []
    );
    let refused = registry.record(
        "b",
        Owner::BuiltIn,
        &[
            metric("m", &[], 1.0, MetricKind::Counter),
            gauge("", &[], 1.0),
            gauge("x", &[("le", "1")], 1.0),
            gauge("x", &[("gpud_component", "a")], 1.0),
            gauge("x", &[("l.1", "1"), ("l_1", "2")], 1.0),
            gauge("x", &[("__name__", "up")], 1.0),
            gauge("x", &[("..name", "up")], 1.0),
            metric("c_total", &[], -1.0, MetricKind::Counter),
            metric("c_total", &[], f64::INFINITY, MetricKind::Counter),
            metric("h", &[], f64::NAN, MetricKind::Histogram),
            gauge("a.b", &[], 1.0),
            gauge("a_b", &[], 1.0),
            gauge("n", &[("i", "1")], 1.0),
            gauge("n", &[("i", "2")], 1.0),
            gauge("n", &[("i", "3")], 1.0),
            gauge("n", &[("i", "2")], 9.0),
            metric("m", &[], 5.0, MetricKind::Other("later".to_owned())),
        ],
        &[],
    );
    let bad_label = |label: &str| MetricError::BadLabel {
        name: "x".to_owned(),
        label: label.to_owned(),
    };
    let bad_value = |name: &str, value: &str| MetricError::BadValue {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let too_many = |name: &str| MetricError::TooManySeries {
        name: name.to_owned(),
        limit: 3,
    };
    assert_eq!(
        refused,
        [
            MetricError::KindConflict {
                name: "m".to_owned(),
                known: "gauge",
                wanted: "counter"
            },
            MetricError::EmptyName,
            bad_label("le"),
            bad_label("gpud_component"),
            bad_label("l_1"),
            bad_label("__name__"),
            bad_label("..name"),
            bad_value("c_total", "-1"),
            bad_value("c_total", "inf"),
            bad_value("h", "NaN"),
            MetricError::NameTaken {
                name: "a_b".to_owned(),
                known: "a.b".to_owned()
            },
            too_many("n"),
            too_many("m"),
        ]
    );
    let values: Vec<(String, String, f64)> = registry
        .samples()
        .into_iter()
        .map(|sample| (sample.component, sample.name, sample.value))
        .collect();
    let expected = [
        ("b", "a.b", 1.0),
        ("a", "m", 1.0),
        ("b", "n", 1.0),
        ("b", "n", 9.0),
    ];
    let expected: Vec<_> = expected
        .map(|(component, name, value)| (component.to_owned(), name.to_owned(), value))
        .into();
    assert_eq!(values, expected);
    // The limit is per component.
    assert_eq!(
        registry.record("a", Owner::BuiltIn, &[gauge("n", &[], 1.0)], &[]),
        []
    );
}

/// What Prometheus reads as another metric's lines would cost it the whole answer.
#[test]
fn nothing_is_called_like_a_sample_of_a_histogram() {
    let histogram = || metric("h", &[], 1.0, MetricKind::Histogram);
    for suffix in ["_bucket", "_sum", "_count"] {
        let sample = format!("h{suffix}");
        let sample = || gauge(&sample, &[], 1.0);
        for [first, second] in [[histogram(), sample()], [sample(), histogram()]] {
            let registry = Registry::new();
            assert_eq!(
                registry.record("a", Owner::Plugin, std::slice::from_ref(&first), &[]),
                []
            );
            let refused = registry.record("b", Owner::Plugin, std::slice::from_ref(&second), &[]);
            let expected = MetricError::NameTaken {
                name: second.name,
                known: first.name,
            };
            assert_eq!(refused, [expected]);
        }
    }
    let registry = Registry::new();
    let metrics = [gauge("h", &[], 1.0), gauge("h_count", &[], 1.0)];
    assert_eq!(registry.record("a", Owner::Plugin, &metrics, &[]), []);
}

#[test]
fn a_plugin_has_no_name_of_gpud() {
    let reserved = |name: &str| {
        [MetricError::Reserved {
            name: name.to_owned(),
        }]
    };
    let registry = Registry::new();
    let own = gauge("own", &[], 1.0);
    let counted = metric("xids_total", &[], 2.0, MetricKind::Counter);
    registry.set_gauge("gpud_x", "", &[], 1.0).unwrap();
    let builtin = [own.clone(), counted.clone()];
    assert_eq!(registry.record("xid", Owner::BuiltIn, &builtin, &[]), []);
    for taken in [
        "own",
        "xids_total",
        "xids.total",
        "gpud_x",
        "DCGM_FI_DEV_GPU_TEMP",
    ] {
        let refused = registry.record("plugin", Owner::Plugin, &[gauge(taken, &[], 9.0)], &[]);
        assert_eq!(refused, reserved(taken));
    }
    // Nor does it keep one that gpud uses later.
    let first = [
        gauge("xids.total", &[], 9.0),
        metric("gpud_x", &[], 9.0, MetricKind::Histogram),
        metric("own", &[], 9.0, MetricKind::Histogram),
        gauge("mine", &[], 7.0),
    ];
    let registry = Registry::with_limit(4);
    assert_eq!(registry.record("plugin", Owner::Plugin, &first, &[]), []);
    assert_eq!(registry.record("xid", Owner::BuiltIn, &builtin, &[]), []);
    registry.set_gauge("gpud_x_count", "", &[], 1.0).unwrap();
    let refused = registry.record("plugin", Owner::Plugin, &first[..1], &[]);
    assert_eq!(refused, reserved("xids.total"));
    insta::assert_snapshot!(registry.exposition(), @r#"
    # TYPE gpud_x_count gauge
    gpud_x_count 1
    # TYPE mine gauge
    mine{gpud_component="plugin"} 7
    # TYPE own gauge
    own{gpud_component="xid"} 1
    # TYPE xids_total counter
    xids_total{gpud_component="xid"} 2
    "#);
    // What was taken from it counts no longer.
    let more = ["a", "b", "c"].map(|name| gauge(name, &[], 1.0));
    assert_eq!(registry.record("plugin", Owner::Plugin, &more, &[]), []);
}
