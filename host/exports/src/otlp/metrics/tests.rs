use super::*;
use crate::{
    GpuIdentity, Snapshot, UnixMillis, metrics::MetricReadings, otlp::attributes::tests::shown,
};
use std::sync::Arc;

const NOW: UnixMillis = 1_790_000_060_000;
const SINCE: UnixMillis = 1_790_000_000_000;

fn series(component: Option<&str>, labels: &[(&str, &str)], value: f64) -> MetricSeries {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    MetricSeries {
        component: component.map(str::to_owned),
        labels: labels.iter().map(pair).collect(),
        value: MetricValue::Number(value),
    }
}

fn family(name: &str, kind: MetricKind, series: Vec<MetricSeries>) -> MetricFamily {
    MetricFamily {
        name: name.to_owned(),
        help: format!("what {name} means"),
        kind,
        series,
    }
}

fn picture(families: Vec<MetricFamily>) -> MetricPicture {
    MetricPicture {
        time: NOW,
        readings: MetricReadings {
            since: SINCE,
            families,
        },
        snapshot: None,
    }
}

fn made(families: Vec<MetricFamily>) -> Vec<Metric> {
    metrics(&picture(families), &Select::default())
}

fn points(metric: &Metric) -> &[NumberDataPoint] {
    match metric.data.as_ref().unwrap() {
        Data::Gauge(gauge) => &gauge.data_points,
        Data::Sum(sum) => &sum.data_points,
        other => panic!("{other:?}"),
    }
}

#[test]
fn metrics_of_gpud_have_its_names_units_and_kinds() {
    let made = made(vec![
        family(
            "cpu_used_percent",
            MetricKind::Gauge,
            vec![series(Some("cpu"), &[], 12.5)],
        ),
        family(
            "gpud_checker_seconds_total",
            MetricKind::Counter,
            vec![series(None, &[("checker", "cpu")], 1.5)],
        ),
        family(
            "gpud_component_health",
            MetricKind::Gauge,
            vec![series(
                None,
                &[("gpud_component", "cpu"), ("health", "Healthy")],
                1.0,
            )],
        ),
    ]);
    let facts: Vec<_> = made
        .iter()
        .map(|metric| {
            let kind = match metric.data.as_ref().unwrap() {
                Data::Gauge(_) => "gauge",
                Data::Sum(sum) => {
                    assert_eq!(sum.aggregation_temporality, 2, "cumulative");
                    assert!(sum.is_monotonic);
                    "counter"
                }
                other => panic!("{other:?}"),
            };
            (metric.name.as_str(), metric.unit.as_str(), kind)
        })
        .collect();
    assert_eq!(
        facts,
        [
            ("cpu_used_percent", "%", "gauge"),
            ("gpud_checker_seconds_total", "s", "counter"),
            ("gpud_component_health", "", "gauge"),
        ]
    );
    assert_eq!(made[0].description, "what cpu_used_percent means");
    let point = &points(&made[0])[0];
    assert_eq!(
        (point.start_time_unix_nano, point.time_unix_nano),
        (0, NOW * 1_000_000)
    );
    assert_eq!(point.value, Some(Value::AsDouble(12.5)));
    assert_eq!(shown(&point.attributes), ["gpud.component=cpu"]);
    let point = &points(&made[1])[0];
    assert_eq!(point.start_time_unix_nano, SINCE * 1_000_000);
    assert_eq!(shown(&point.attributes), ["checker=cpu"]);
    assert_eq!(
        shown(&points(&made[2])[0].attributes),
        ["gpud.component=cpu", "health=Healthy"]
    );
}

#[test]
fn a_histogram_has_a_bucket_for_what_is_above_its_bounds() {
    let mut one = series(Some("dns"), &[], 0.0);
    one.value = MetricValue::Histogram {
        buckets: vec![2, 1],
        sum: 9.5,
        count: 5,
    };
    let made = made(vec![family(
        "lookup_seconds",
        MetricKind::Histogram(vec![0.1, 1.0]),
        vec![one],
    )]);
    let Some(Data::Histogram(histogram)) = &made[0].data else {
        panic!("{made:?}");
    };
    assert_eq!(histogram.aggregation_temporality, 2);
    let point = &histogram.data_points[0];
    assert_eq!(point.bucket_counts, [2, 1, 2]);
    assert_eq!(point.explicit_bounds, [0.1, 1.0]);
    assert_eq!((point.count, point.sum), (5, Some(9.5)));
    assert_eq!(point.start_time_unix_nano, SINCE * 1_000_000);
}

#[test]
fn readings_with_a_conventional_name_have_it_and_no_other() {
    let component = Some("accelerator-nvidia-temperature");
    let gpu = |uuid, value| series(component, &[("uuid", uuid)], value);
    let mut picture = picture(vec![
        family(
            "accelerator_nvidia_temperature_current_celsius",
            MetricKind::Gauge,
            vec![gpu("GPU-0", 45.0), gpu("GPU-1", 0.0)],
        ),
        family(
            "accelerator_nvidia_temperature_current_hbm_celsius",
            MetricKind::Gauge,
            vec![gpu("GPU-0", 61.0)],
        ),
        family(
            "accelerator_nvidia_ecc_aggregate_total_corrected",
            MetricKind::Gauge,
            vec![gpu("GPU-0", 12.0)],
        ),
        family(
            "accelerator_nvidia_memory_used_bytes",
            MetricKind::Gauge,
            vec![gpu("GPU-0", 4_294_967_296.0), series(component, &[], 1.0)],
        ),
    ]);
    let mut snapshot = Snapshot::default();
    snapshot.inventory.gpus = vec![GpuIdentity {
        uuid: "GPU-0".into(),
        ..GpuIdentity::default()
    }];
    picture.snapshot = Some(Arc::new(snapshot));
    let made = metrics(&picture, &Select::default());
    let names: Vec<_> = made.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(
        names,
        [
            // A series without the label that names the GPU stays as it is.
            "accelerator_nvidia_memory_used_bytes",
            "hw.errors",
            "hw.gpu.memory.usage",
            "hw.status",
            "hw.temperature",
        ]
    );
    let errors = &made[1];
    assert_eq!((errors.unit.as_str(), points(errors).len()), ("{error}", 1));
    assert_eq!(points(errors)[0].value, Some(Value::AsInt(12)));
    assert!(matches!(&errors.data, Some(Data::Sum(sum)) if sum.is_monotonic));
    assert_eq!(points(errors)[0].start_time_unix_nano, 0, "not known");
    assert!(matches!(&made[2].data, Some(Data::Sum(sum)) if !sum.is_monotonic));
    assert_eq!(points(&made[3]).len(), 3);
    let temperatures: Vec<_> = points(&made[4])
        .iter()
        .map(|point| (point.value, shown(&point.attributes).last().cloned()))
        .collect();
    assert_eq!(
        temperatures,
        [
            (
                Some(Value::AsDouble(45.0)),
                Some("hw.sensor_location=gpu".to_owned())
            ),
            (
                Some(Value::AsDouble(61.0)),
                Some("hw.sensor_location=memory".to_owned())
            ),
        ],
        "GPU-1 has no sensor"
    );
}

#[test]
fn components_that_are_not_wanted_have_no_points() {
    let families = vec![family(
        "a_bytes",
        MetricKind::Gauge,
        vec![
            series(Some("cpu"), &[], 1.0),
            series(Some("disk"), &[], 2.0),
            series(None, &[], 3.0),
        ],
    )];
    let select: Select = serde_yaml::from_str("components: [-disk]").unwrap();
    let made = metrics(&picture(families.clone()), &select);
    let values: Vec<_> = points(&made[0]).iter().map(|point| point.value).collect();
    assert_eq!(
        values,
        [Some(Value::AsDouble(1.0)), Some(Value::AsDouble(3.0))]
    );
    let select: Select = serde_yaml::from_str("components: [os]").unwrap();
    let only_disk = vec![family(
        "b_bytes",
        MetricKind::Gauge,
        vec![series(Some("disk"), &[], 2.0)],
    )];
    assert!(metrics(&picture(only_disk), &select).is_empty());
}

#[test]
fn many_points_are_several_requests() {
    let many = |name: &str| {
        let series = (0..1500).map(|number| series(None, &[], f64::from(number)));
        family(name, MetricKind::Gauge, series.collect())
    };
    let made = made(vec![many("a"), many("b"), many("c")]);
    let requests = requests(made, &Resource::default());
    let sizes: Vec<_> = requests
        .iter()
        .map(|(points, request)| {
            let scopes = &request.resource_metrics[0].scope_metrics;
            (*points, scopes[0].metrics.len())
        })
        .collect();
    assert_eq!(sizes, [(3000, 2), (1500, 1)]);
    assert!(super::requests(Vec::new(), &Resource::default()).is_empty());
}
