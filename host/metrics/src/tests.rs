use super::float::go_float;
use super::own::{self, OwnReadings};
use super::{MetricError, Owner, Registry, scrape};
use crate::model::{Metric, MetricDescription, MetricKind};
use crate::node::system::OwnUsage;
use crate::store::{Location, QueryCount, SqliteCounters, Store, StoreOptions};
use proptest::prelude::*;
use std::time::Duration;

mod refusals;

fn metric(name: &str, labels: &[(&str, &str)], value: f64, kind: MetricKind) -> Metric {
    Metric {
        name: name.to_owned(),
        labels: labels
            .iter()
            .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
            .collect(),
        value,
        kind,
    }
}

fn gauge(name: &str, labels: &[(&str, &str)], value: f64) -> Metric {
    metric(name, labels, value, MetricKind::Gauge)
}

/// Printed by Go 1.26's `strconv.FormatFloat(v, 'g', -1, 64)`; zeros by Prometheus' own writer.
#[test]
fn floats_are_printed_as_go_prints_them() {
    let cases: &[(f64, &str)] = &[
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (1e5, "100000"),
        (999_999.0, "999999"),
        (999_999.5, "999999.5"),
        (1e6, "1e+06"),
        (1_234_567.0, "1.234567e+06"),
        (123_456_789.5, "1.234567895e+08"),
        (1.7e9, "1.7e+09"),
        (1e20, "1e+20"),
        (1e21, "1e+21"),
        (1e100, "1e+100"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-0.000_012, "-1.2e-05"),
        (f64::MAX, "1.7976931348623157e+308"),
        (5e-324, "5e-324"),
        (f64::INFINITY, "+Inf"),
        (f64::NEG_INFINITY, "-Inf"),
        (f64::NAN, "NaN"),
    ];
    for (value, text) in cases {
        assert_eq!(go_float(*value), *text);
    }
}

#[test]
fn exposition_has_families_by_name_labels_sorted_and_escaped() {
    let registry = Registry::new();
    let descriptions = [
        MetricDescription {
            name: "disk_total_bytes".to_owned(),
            help: "size \\ of\nthe disk".to_owned(),
            buckets: Vec::new(),
        },
        MetricDescription {
            name: "get_usage_seconds".to_owned(),
            help: "time".to_owned(),
            buckets: vec![0.5, 0.001, f64::INFINITY],
        },
    ];
    let refused = registry.record(
        "disk",
        Owner::BuiltIn,
        &[
            gauge("disk_total_bytes", &[("mount_point", "/b\"\\\n")], 2e6),
            gauge("disk_total_bytes", &[("a", "x"), ("mount_point", "/")], 3.0),
            gauge("disk_total_bytes", &[("mount_point", "/"), ("a", "x")], 4.0),
            metric("get_usage_seconds", &[], 0.001, MetricKind::Histogram),
            metric("get_usage_seconds", &[], 0.2, MetricKind::Histogram),
            metric("get_usage_seconds", &[], 7.0, MetricKind::Histogram),
            gauge("9lives.health", &[], f64::NAN),
        ],
        &descriptions,
    );
    assert_eq!(refused, []);
    let count = metric("errors_total", &[("zone", "1")], 2.0, MetricKind::Counter);
    assert_eq!(
        registry.record("xid", Owner::BuiltIn, std::slice::from_ref(&count), &[]),
        []
    );
    assert_eq!(registry.record("xid", Owner::BuiltIn, &[count], &[]), []);
    registry.set_gauge("gpud_open", "open", &[], 5.0).unwrap();
    assert_eq!(
        registry.exposition(),
        r#"# TYPE _lives_health gauge
_lives_health{gpud_component="disk"} NaN
# HELP disk_total_bytes size \\ of\nthe disk
# TYPE disk_total_bytes gauge
disk_total_bytes{a="x",gpud_component="disk",mount_point="/"} 4
disk_total_bytes{gpud_component="disk",mount_point="/b\"\\\n"} 2e+06
# TYPE errors_total counter
errors_total{gpud_component="xid",zone="1"} 4
# HELP get_usage_seconds time
# TYPE get_usage_seconds histogram
get_usage_seconds_bucket{gpud_component="disk",le="0.001"} 1
get_usage_seconds_bucket{gpud_component="disk",le="0.5"} 2
get_usage_seconds_bucket{gpud_component="disk",le="+Inf"} 3
get_usage_seconds_sum{gpud_component="disk"} 7.201
get_usage_seconds_count{gpud_component="disk"} 3
# HELP gpud_open open
# TYPE gpud_open gauge
gpud_open 5
"#
    );
}

#[test]
fn own_readings_have_no_component_and_are_not_stored() {
    let registry = Registry::new();
    let readings = OwnReadings {
        open_files: Some(12),
        db_size_bytes: None,
        sqlite: SqliteCounters {
            select: QueryCount {
                count: 3,
                time: Duration::from_millis(250),
            },
            ..SqliteCounters::default()
        },
        usage: Some(OwnUsage {
            cpu_seconds: 1.5,
            started_after_boot_seconds: 20.0,
            virtual_bytes: 4096,
            resident_bytes: 2048,
            threads: 3,
        }),
        boot_time_seconds: 1000.0,
    };
    own::record(&registry, &readings).unwrap();
    own::record(&registry, &readings).unwrap();
    let text = registry.exposition();
    for line in [
        "# TYPE gpud_file_descriptor_usage_total gauge",
        "gpud_file_descriptor_usage_total 12",
        "# TYPE gpud_sqlite_select_total counter",
        "gpud_sqlite_select_total 3",
        "gpud_sqlite_select_seconds_total 0.25",
        "gpud_sqlite_vacuum_seconds_total 0",
        "# TYPE process_cpu_seconds_total counter",
        "process_cpu_seconds_total 1.5",
        "process_start_time_seconds 1020",
        "process_open_fds 12",
        concat!(
            "gpud_build_info{version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"} 1"
        ),
    ] {
        assert!(text.lines().any(|there| there == line), "{line}");
    }
    assert!(!text.contains("db_size"));
    assert_eq!(registry.samples(), []);
}

#[tokio::test]
async fn scrape_stores_gauges_and_counters_of_components_only() {
    let store = Store::open(StoreOptions::new(Location::Memory))
        .unwrap()
        .store;
    let registry = Registry::new();
    let refused = registry.record(
        "cpu",
        Owner::BuiltIn,
        &[
            gauge("load", &[("d", "5m"), ("b", "x")], 1.5),
            metric("n_total", &[], 2.0, MetricKind::Counter),
            metric("seconds", &[], 2.0, MetricKind::Histogram),
        ],
        &[],
    );
    assert_eq!(refused, []);
    registry
        .add_counter("gpud_own_total", "own", &[], 1.0)
        .unwrap();
    assert_eq!(scrape(&registry, &store, 60_000).await.unwrap(), 2);
    let stored = store.samples(0, None).await.unwrap();
    let shown: Vec<_> = stored
        .iter()
        .map(|sample| (sample.time, sample.series.name.as_str(), sample.value))
        .collect();
    assert_eq!(shown, [(60_000, "load", 1.5), (60_000, "n_total", 2.0)]);
    let labels = [("b", "x"), ("d", "5m")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(stored[0].series.labels, labels);
}

proptest! {
    #[test]
    fn a_printed_float_reads_back_as_itself(value in any::<f64>().prop_filter("number", |v| !v.is_nan())) {
        prop_assert_eq!(go_float(value).parse::<f64>().unwrap(), value);
    }

    #[test]
    fn every_line_of_an_exposition_is_well_formed(
        names in proptest::collection::vec((".{0,8}", ".{0,8}", ".{0,8}", any::<f64>()), 0..20)
    ) {
        let registry = Registry::new();
        for (name, label, text, value) in &names {
            let _ = registry.record("c", Owner::BuiltIn, &[gauge(name, &[(label, text)], *value)], &[]);
        }
        let text = registry.exposition();
        for line in text.split_terminator('\n') {
            let name = line.strip_prefix("# TYPE ").unwrap_or(line);
            let end = name.find(['{', ' ']).unwrap();
            prop_assert!(name[..end].chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':'));
            prop_assert!(!name.starts_with(|c: char| c.is_ascii_digit()));
            if !line.starts_with('#') {
                prop_assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok());
            }
        }
    }
}

#[test]
fn gauges_of_components_are_replaced_as_a_whole() {
    let registry = Registry::new();
    let series = |component: &str, value| {
        let labels = vec![
            ("health".to_owned(), "Healthy".to_owned()),
            (own::COMPONENT_LABEL.to_owned(), component.to_owned()),
        ];
        (labels, value)
    };
    let own::OwnMetric { name, help } = own::HEALTH;
    let replace = |series| registry.replace_gauges(name, help, series);
    replace(vec![series("cpu", 1.0), series("gone", 1.0)]).unwrap();
    replace(vec![series("cpu", 0.0)]).unwrap();
    let text = registry.exposition();
    let line = "gpud_component_health{gpud_component=\"cpu\",health=\"Healthy\"} 0";
    assert!(text.lines().any(|there| there == line), "{text}");
    assert!(!text.contains("gone"));
    assert_eq!(registry.samples(), []);
}
