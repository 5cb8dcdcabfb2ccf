//! What does not fit is refused.

use super::*;

#[test]
fn what_does_not_fit_is_refused_and_the_rest_recorded() {
    let registry = Registry::with_limit(3);
    assert_eq!(registry.record("a", &[gauge("m", &[], 1.0)], &[]), []);
    let refused = registry.record(
        "b",
        &[
            metric("m", &[], 1.0, MetricKind::Counter),
            gauge("", &[], 1.0),
            gauge("x", &[("le", "1")], 1.0),
            gauge("x", &[("gpud_component", "a")], 1.0),
            gauge("x", &[("l.1", "1"), ("l_1", "2")], 1.0),
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
    assert_eq!(registry.record("a", &[gauge("n", &[], 1.0)], &[]), []);
}
