use super::*;
use crate::Owner;
use crate::model::{Metric, MetricKind};

fn record(registry: &Registry, name: &str, uuid: &str, value: f64) {
    let metric = Metric {
        name: name.to_owned(),
        labels: vec![(UUID.to_owned(), uuid.to_owned())],
        value,
        kind: MetricKind::Gauge,
    };
    assert!(
        registry
            .record("component", Owner::BuiltIn, &[metric], &[])
            .is_empty()
    );
}

fn machine() -> Machine {
    let gpu = |index: u32| Gpu {
        index,
        uuid: format!("GPU-{index}"),
        bus_id: format!("0000:{index}f:00.0"),
        model: "NVIDIA H100 80GB HBM3".into(),
    };
    Machine {
        hostname: "node-17".into(),
        gpus: vec![gpu(0), gpu(1)],
        xids: Some([("GPU-1".to_owned(), 79)].into()),
    }
}

#[test]
fn units_types_and_labels_are_those_of_dcgm_exporter() {
    let registry = Registry::new();
    for (name, value) in [
        (
            "accelerator_nvidia_power_current_usage_milli_watts",
            71_500.0,
        ),
        ("accelerator_nvidia_memory_used_bytes", 3_145_728.0),
        ("accelerator_nvidia_gpm_gpu_fp16_util_percent", 25.0),
        (
            "accelerator_nvidia_remapped_rows_due_to_correctable_errors",
            2.0,
        ),
        // Not supported: no sample.
        ("accelerator_nvidia_temperature_current_hbm_celsius", 0.0),
        ("accelerator_nvidia_something_else", 1.0),
    ] {
        record(&registry, name, "GPU-0", value);
    }
    // A GPU that is gone.
    record(
        &registry,
        "accelerator_nvidia_memory_used_bytes",
        "GPU-9",
        1.0,
    );
    insta::assert_snapshot!(text(&registry, &machine()).unwrap());
}

#[test]
fn each_name_is_made_from_a_metric_of_its_own() {
    let registry = Registry::new();
    for (number, field) in FIELDS.iter().enumerate() {
        record(&registry, field.source, "GPU-0", number as f64 + 1.0);
    }
    let text = text(&registry, &machine()).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    assert_eq!(names.len(), FIELDS.len() + 1);
    let sources: std::collections::BTreeSet<&str> =
        FIELDS.iter().map(|field| field.source).collect();
    assert_eq!(sources.len(), FIELDS.len());
}

#[test]
fn no_plugin_has_one_of_these_names_or_gives_a_reading() {
    let registry = Registry::new();
    let metric = |name: &str| Metric {
        name: name.to_owned(),
        labels: vec![(UUID.to_owned(), "GPU-0".to_owned())],
        value: 8.0,
        kind: MetricKind::Gauge,
    };
    let source = "accelerator_nvidia_utilization_gpu_util_percent";
    let metrics = [metric("DCGM_FI_DEV_GPU_UTIL"), metric(XID), metric(source)];
    let refused = registry.record("plugin", Owner::Plugin, &metrics, &[]);
    let reserved = |name: &str| MetricError::Reserved {
        name: name.to_owned(),
    };
    assert_eq!(refused, [reserved("DCGM_FI_DEV_GPU_UTIL"), reserved(XID)]);
    let unwatched = Machine {
        xids: None,
        ..machine()
    };
    assert_eq!(text(&registry, &unwatched).unwrap(), "");
    record(&registry, source, "GPU-0", 7.0);
    let text = text(&registry, &unwatched).unwrap();
    assert!(text.ends_with("} 7\n"), "{text}");
}

#[test]
fn nothing_without_gpus_or_xids() {
    let none = Machine {
        gpus: Vec::new(),
        ..machine()
    };
    assert_eq!(text(&Registry::new(), &none).unwrap(), "");
    let unwatched = Machine {
        xids: None,
        ..machine()
    };
    assert_eq!(text(&Registry::new(), &unwatched).unwrap(), "");
}

#[test]
fn bus_ids_are_nvmls() {
    for (id, expected) in [
        ("0000:0f:00.0", "00000000:0F:00.0"),
        ("10000:ab:00.0", "00010000:AB:00.0"),
        ("", ""),
    ] {
        assert_eq!(bus_id(id), expected);
    }
}
