//! The document under `data`. Fields that are empty or 0 are left out, as GPUd does.

use gpud_builtin_nvidia_common::Gpu;
use serde::Serialize;

use crate::evaluate::Summary;
use crate::reading::{Link, Reading};

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The document.
#[derive(Serialize)]
pub struct Document<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nvlinks: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    active_nvlink_uuids: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    inactive_nvlink_uuids: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unsupported_nvlink_uuids: &'a [&'a str],
    expected_link_states: ExpectedLinkStates,
    #[serde(skip_serializing_if = "is_zero")]
    peer_nvlink_probe_pair_count: usize,
    #[serde(skip_serializing_if = "is_zero")]
    peer_nvlink_expected_pair_count: usize,
    #[serde(skip_serializing_if = "is_zero")]
    peer_nvlink_ok_pair_count: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    peer_nvlink_ok_gpu_uuids: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    peer_nvlink_observed_status_codes: &'a [&'a str],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    system_expected_nvlink: bool,
}

#[derive(Serialize)]
struct ExpectedLinkStates {
    at_least_gpus_with_all_links_feature_enabled: u64,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    states: Option<Vec<State>>,
    supported: bool,
}

#[derive(Serialize)]
struct State {
    link: u32,
    feature_enabled: bool,
    replay_errors: u64,
    recovery_errors: u64,
    crc_errors: u64,
    throughput_raw_tx_bytes: u64,
    throughput_raw_rx_bytes: u64,
}

fn link(link: &Link) -> State {
    State {
        link: link.number,
        feature_enabled: link.active,
        replay_errors: link.errors.replay,
        recovery_errors: link.errors.recovery,
        crc_errors: link.errors.crc,
        // In GPUd's form, but it never fills them.
        throughput_raw_tx_bytes: 0,
        throughput_raw_rx_bytes: 0,
    }
}

impl<'a> Document<'a> {
    /// From the readings and the verdict on them.
    pub fn new(
        read: impl Iterator<Item = (&'a Gpu, &'a Reading)>,
        summary: &'a Summary<'a>,
        at_least_gpus: u64,
    ) -> Self {
        let row = |(gpu, reading): (&'a Gpu, &'a Reading)| {
            let links = reading.links.as_deref().filter(|links| !links.is_empty());
            Row {
                uuid: &gpu.uuid,
                bus_id: &gpu.bus_id,
                states: links.map(|links| links.iter().map(link).collect()),
                supported: reading.supported(),
            }
        };
        Self {
            nvlinks: read.map(row).collect(),
            active_nvlink_uuids: &summary.active,
            inactive_nvlink_uuids: &summary.inactive,
            unsupported_nvlink_uuids: &summary.unsupported,
            expected_link_states: ExpectedLinkStates {
                at_least_gpus_with_all_links_feature_enabled: at_least_gpus,
            },
            peer_nvlink_probe_pair_count: summary.probed,
            peer_nvlink_expected_pair_count: summary.pairs,
            peer_nvlink_ok_pair_count: summary.ok_pairs,
            peer_nvlink_ok_gpu_uuids: &summary.ok_gpus,
            peer_nvlink_observed_status_codes: &summary.codes,
            system_expected_nvlink: summary.system_expected,
        }
    }
}
