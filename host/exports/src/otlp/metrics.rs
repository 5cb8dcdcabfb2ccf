//! Readings as metrics.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::KeyValue,
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
        ResourceMetrics, ScopeMetrics, Sum, metric::Data, number_data_point::Value,
    },
    resource::v1::Resource,
};

use super::{
    attributes::{scope, text},
    hardware::{self, Instrument, Kind},
    logs::nanos,
    parts, rules, status, units,
};
use crate::{
    Inventory,
    metrics::{MetricFamily, MetricKind, MetricPicture, MetricSeries, MetricValue},
    select::Select,
};

/// Label of the daemon's own series about a component, and its name here.
const COMPONENT: (&str, &str) = ("gpud_component", "gpud.component");
/// Points of one request; some more if a metric has many.
const POINTS: usize = 2000;

/// The times of points.
#[derive(Clone, Copy)]
struct Times {
    now: u64,
    /// Since when gpud counts.
    since: u64,
}

/// Makes the metrics of a picture.
pub fn metrics(picture: &MetricPicture, select: &Select) -> Vec<Metric> {
    let times = Times {
        now: nanos(picture.time),
        // A clock that was set back would have counters begin in the future.
        since: nanos(picture.readings.since.min(picture.time)),
    };
    let unknown = Inventory::default();
    let snapshot = picture.snapshot.as_deref();
    let inventory = snapshot.map_or(&unknown, |snapshot| &snapshot.inventory);
    let mut own = Vec::new();
    let mut conventional: BTreeMap<&str, (&Instrument, Vec<NumberDataPoint>)> = BTreeMap::new();
    for family in &picture.readings.families {
        let rule = rules::rule_for(&family.name);
        let mut left = Vec::new();
        for series in &family.series {
            let component = series.component.as_deref();
            if component.is_some_and(|component| !select.wants_component(component)) {
                continue;
            }
            let found = rule.and_then(|rule| {
                let attributes = parts::attributes(rule.part, &series.labels, inventory)?;
                Some((rule, attributes))
            });
            let (Some((rule, mut attributes)), MetricValue::Number(value)) = (found, &series.value)
            else {
                left.push(series);
                continue;
            };
            // A reading that the part does not have is no point.
            if let Some(value) = rule.conversion.convert(*value) {
                let further = rule.further.iter();
                attributes.extend(further.map(|(key, value)| text(key, *value)));
                let (_, points) = conventional
                    .entry(rule.instrument.name)
                    .or_insert_with(|| (&rule.instrument, Vec::new()));
                points.push(point(&rule.instrument, attributes, value, times));
            }
        }
        if !left.is_empty() {
            own.push(of_family(family, &left, times));
        }
    }
    if let Some(snapshot) = snapshot {
        let points: Vec<NumberDataPoint> = status::of_gpus(snapshot)
            .into_iter()
            .map(|(attributes, value)| point(&hardware::STATUS, attributes, value, times))
            .collect();
        if !points.is_empty() {
            conventional.insert(hardware::STATUS.name, (&hardware::STATUS, points));
        }
    }
    let conventional = conventional.into_values();
    own.extend(conventional.map(|(instrument, points)| of_instrument(instrument, points)));
    own
}

/// Makes requests of metrics.
pub fn requests(
    metrics: Vec<Metric>,
    resource: &Resource,
) -> Vec<(u64, ExportMetricsServiceRequest)> {
    let mut requests = Vec::new();
    let (mut part, mut points) = (Vec::new(), 0);
    let mut metrics = metrics.into_iter().peekable();
    while let Some(metric) = metrics.next() {
        points += count(&metric);
        part.push(metric);
        if points >= POINTS || metrics.peek().is_none() {
            let scope_metrics = ScopeMetrics {
                scope: Some(scope()),
                metrics: std::mem::take(&mut part),
                ..ScopeMetrics::default()
            };
            let resource_metrics = ResourceMetrics {
                resource: Some(resource.clone()),
                scope_metrics: vec![scope_metrics],
                ..ResourceMetrics::default()
            };
            let request = ExportMetricsServiceRequest {
                resource_metrics: vec![resource_metrics],
            };
            requests.push((std::mem::take(&mut points) as u64, request));
        }
    }
    requests
}

/// Makes the metric that a test sends.
pub fn sample(time: u64) -> Metric {
    let point = NumberDataPoint {
        time_unix_nano: time,
        value: Some(Value::AsInt(1)),
        ..NumberDataPoint::default()
    };
    Metric {
        name: "gpud.export.sample".to_owned(),
        description: "a sample that was sent to try an export; nothing is wrong".to_owned(),
        unit: "1".to_owned(),
        data: Some(Data::Gauge(Gauge {
            data_points: vec![point],
        })),
        ..Metric::default()
    }
}

fn count(metric: &Metric) -> usize {
    match &metric.data {
        Some(Data::Gauge(gauge)) => gauge.data_points.len(),
        Some(Data::Sum(sum)) => sum.data_points.len(),
        Some(Data::Histogram(histogram)) => histogram.data_points.len(),
        _ => 0,
    }
}

fn point(
    instrument: &Instrument,
    attributes: Vec<KeyValue>,
    value: f64,
    times: Times,
) -> NumberDataPoint {
    let value = match instrument.is_whole {
        // This saturates, but no reading is that large.
        true => Value::AsInt(value.round() as i64),
        false => Value::AsDouble(value),
    };
    NumberDataPoint {
        attributes,
        // A part counts since it was made or its driver was loaded, which gpud does not know.
        start_time_unix_nano: 0,
        time_unix_nano: times.now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn of_instrument(instrument: &Instrument, data_points: Vec<NumberDataPoint>) -> Metric {
    let data = match instrument.kind {
        Kind::Gauge => Data::Gauge(Gauge { data_points }),
        Kind::Counter | Kind::UpDownCounter => sum(data_points, instrument.kind == Kind::Counter),
    };
    Metric {
        name: instrument.name.to_owned(),
        description: instrument.description.to_owned(),
        unit: instrument.unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn sum(data_points: Vec<NumberDataPoint>, is_monotonic: bool) -> Data {
    Data::Sum(Sum {
        data_points,
        aggregation_temporality: AggregationTemporality::Cumulative.into(),
        is_monotonic,
    })
}

/// Makes a metric with gpud's own name.
fn of_family(family: &MetricFamily, series: &[&MetricSeries], times: Times) -> Metric {
    let numbers = || {
        let points = series.iter().filter_map(|series| match series.value {
            MetricValue::Number(value) => Some(NumberDataPoint {
                attributes: own_attributes(series),
                start_time_unix_nano: match family.kind {
                    MetricKind::Counter => times.since,
                    _ => 0,
                },
                time_unix_nano: times.now,
                value: Some(Value::AsDouble(value)),
                ..NumberDataPoint::default()
            }),
            MetricValue::Histogram { .. } => None,
        });
        points.collect::<Vec<_>>()
    };
    let data = match &family.kind {
        MetricKind::Gauge => Data::Gauge(Gauge {
            data_points: numbers(),
        }),
        MetricKind::Counter => sum(numbers(), true),
        MetricKind::Histogram(bounds) => {
            let points = series.iter();
            let points = points.filter_map(|series| histogram_point(series, bounds, times));
            Data::Histogram(Histogram {
                data_points: points.collect(),
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
            })
        }
    };
    Metric {
        name: family.name.clone(),
        description: family.help.clone(),
        unit: units::of_name(&family.name).to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn histogram_point(
    series: &MetricSeries,
    bounds: &[f64],
    times: Times,
) -> Option<HistogramDataPoint> {
    let MetricValue::Histogram {
        buckets,
        sum,
        count,
    } = &series.value
    else {
        return None;
    };
    let mut bucket_counts = buckets.clone();
    let below: u64 = buckets.iter().sum();
    bucket_counts.push(count.saturating_sub(below));
    Some(HistogramDataPoint {
        attributes: own_attributes(series),
        start_time_unix_nano: times.since,
        time_unix_nano: times.now,
        count: *count,
        sum: Some(*sum),
        bucket_counts,
        explicit_bounds: bounds.to_vec(),
        ..HistogramDataPoint::default()
    })
}

fn own_attributes(series: &MetricSeries) -> Vec<KeyValue> {
    let (label_of_component, key) = COMPONENT;
    let component = series.component.as_deref();
    let component = component.map(|component| text(key, component));
    let labels = series.labels.iter().map(|(label, value)| {
        let label = match label.as_str() {
            label if label == label_of_component => key,
            label => label,
        };
        text(label, value.as_str())
    });
    component.into_iter().chain(labels).collect()
}

#[cfg(test)]
mod tests;
