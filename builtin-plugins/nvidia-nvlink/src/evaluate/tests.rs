use super::*;
use crate::reading::{Errors, Link};
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, NOW, actions, and, context, data, gpu, lost, metrics, only_state, seen,
};
use gpud_sdk::types::TimeoutInfo;
use gpud_sdk::{Event, EventType, Health, Message};

const REBOOT: &[RepairAction] = &[RepairAction::RebootSystem];
const H100: &str = "NVIDIA H100 80GB HBM3";

fn links(up: &[bool]) -> Reading {
    let link = |(number, active): (usize, &bool)| Link {
        number: number as u32,
        active: *active,
        errors: Errors {
            replay: 1,
            recovery: 2,
            crc: 3,
        },
        counters: [None; crate::counters::KINDS],
    };
    Reading {
        links: Some(up.iter().enumerate().map(link).collect()),
        mig: false,
    }
}

fn up() -> Reading {
    links(&[true, true])
}

fn down() -> Reading {
    links(&[true, false])
}

fn none() -> Reading {
    Reading::default()
}

fn mig(reading: Reading) -> Reading {
    Reading {
        mig: true,
        ..reading
    }
}

fn on(product: &str, readings: Vec<Reading>) -> GpuReadings<Reading> {
    GpuReadings {
        product: product.into(),
        ..seen(readings)
    }
}

/// All pairs with these answers, in order; `None` when there are no more.
fn ways(seen: &GpuReadings<Reading>, statuses: &[Option<u32>]) -> Vec<Pair> {
    let mut pairs = crate::reading::pairs(&seen.gpus, |_| Vec::new());
    for (pair, status) in pairs.iter_mut().zip(statuses) {
        pair.status = *status;
    }
    pairs
}

fn judge_with(config: Config, seen: &GpuReadings<Reading>, statuses: &[Option<u32>]) -> Report {
    evaluate(
        &context(),
        &config,
        seen,
        &ways(seen, statuses),
        &[],
        &[],
        "",
    )
}

fn default(seen: &GpuReadings<Reading>, statuses: &[Option<u32>]) -> Report {
    judge_with(Config::default(), seen, statuses)
}

fn short(report: &Report) -> (Health, &str, &[RepairAction]) {
    let state = only_state(report);
    (state.health.clone(), &state.reason, actions(report).1)
}

#[test]
fn some_pairs_unasked_proves_nothing() {
    let seen = on(H100, vec![up(), up(), up()]);
    let report = default(&seen, &[Some(5), None, Some(5)]);
    assert_eq!(short(&report).0, Health::Healthy);
    let report = default(&seen, &[Some(5), Some(6), Some(5)]);
    assert_eq!(
        short(&report),
        (
            Health::Unhealthy,
            "no GPU pairs report NVLink P2P connectivity on 3-GPU NVLink-capable system (peer nvlink p2p statuses=NS,U)",
            REBOOT
        )
    );
}

#[test]
fn peers_beside_gpus_in_mig_mode_are_judged() {
    let seen = on(H100, vec![mig(none()), up(), up()]);
    assert_eq!(short(&default(&seen, &[Some(6)])).0, Health::Unhealthy);
    assert_eq!(short(&default(&seen, &[Some(0)])).0, Health::Healthy);
}

#[test]
fn with_a_threshold() {
    let config = Config {
        at_least_gpus: 2,
        ..Config::default()
    };
    for (readings, ways, health, reason, action) in [
        (
            vec![up(), up()],
            Some(0),
            Health::Healthy,
            "nvlink threshold satisfied: require >=2 GPUs with all links active; got 2".to_owned(),
            &[][..],
        ),
        (
            vec![up(), down()],
            Some(0),
            Health::Unhealthy,
            format!("nvlink threshold violated: require >=2 GPUs with all links active; got 1 (inactive nvlinks={GPU_1})"),
            REBOOT,
        ),
        (
            vec![up(), none()],
            Some(0),
            Health::Unhealthy,
            format!("nvlink threshold violated: require >=2 GPUs with all links active; got 1 (unsupported nvlinks={GPU_1})"),
            &[],
        ),
        (
            vec![up(), up()],
            Some(5),
            Health::Unhealthy,
            "no GPU pairs report NVLink P2P connectivity on 2-GPU NVLink-capable system (peer nvlink p2p statuses=NS)".to_owned(),
            &[],
        ),
    ] {
        let report = judge_with(config, &on(H100, readings), &[ways]);
        assert_eq!(short(&report), (health, reason.as_str(), action));
    }
    let nobody = judge_with(config, &on(H100, vec![]), &[]);
    assert_eq!(short(&nobody).1, "no nvlink data (skipped evaluation)");
}

#[test]
fn subject_and_evidence() {
    let report = judge_with(
        Config {
            at_least_gpus: 2,
            ..Config::default()
        },
        &on(H100, vec![up(), down()]),
        &[Some(0)],
    );
    let state = only_state(&report);
    assert_eq!(state.subject, Some(gpu(1).subject()));
    assert_eq!(
        state.evidence,
        [Evidence::Nvml(format!("nvmlDeviceGetNvLinkState {GPU_1}"))]
    );
    assert_eq!(state.recovery, [Recovery::NextGoodReading]);
}

#[test]
fn the_document() {
    let seen = on(H100, vec![links(&[true]), none()]);
    let report = judge_with(
        Config {
            at_least_gpus: 1,
            ..Config::default()
        },
        &seen,
        &[Some(5)],
    );
    let expected = format!(
        concat!(
            r#"{{"nvlinks":[{{"uuid":"{0}","bus_id":"0000:0f:00.0","states":[{{"link":0,"feature_enabled":true,"replay_errors":1,"recovery_errors":2,"crc_errors":3,"throughput_raw_tx_bytes":0,"throughput_raw_rx_bytes":0}}],"supported":true}},"#,
            r#"{{"uuid":"{1}","bus_id":"0000:1f:00.0","states":null,"supported":false}}],"#,
            r#""active_nvlink_uuids":["{0}"],"unsupported_nvlink_uuids":["{1}"],"expected_link_states":{{"at_least_gpus_with_all_links_feature_enabled":1}},"#,
            r#""peer_nvlink_probe_pair_count":1,"peer_nvlink_expected_pair_count":1,"peer_nvlink_observed_status_codes":["NS"],"system_expected_nvlink":true}}"#
        ),
        GPU_0, GPU_1
    );
    assert_eq!(data(&report), expected);
    assert_eq!(
        metrics(&report)[..5],
        [
            (SUPPORTED, GPU_0, 1.0),
            (ENABLED, GPU_0, 1.0),
            (REPLAY, GPU_0, 1.0),
            (RECOVERY, GPU_0, 2.0),
            (CRC, GPU_0, 3.0)
        ]
    );
    assert!(
        metrics(&report)[5..]
            .iter()
            .all(|(_, uuid, value)| *uuid == GPU_1 && *value == 0.0)
    );
    let alone = default(&on("NVIDIA A10", vec![none()]), &[]);
    assert_eq!(
        data(&alone),
        format!(
            r#"{{"nvlinks":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","states":null,"supported":false}}],"unsupported_nvlink_uuids":["{GPU_0}"],"expected_link_states":{{"at_least_gpus_with_all_links_feature_enabled":0}}}}"#
        )
    );
}

mod no_threshold;
mod trouble;
