//! Kernel lines of drivers about cards that fail.
//!
//! | text | source below `drivers/` |
//! |---|---|
//! | `Fatal firmware reset event, data1: …`, also `Non-fatal …`; before 5.16 `Firmware fatal reset event, …`, `Firmware non-fatal …` | `net/ethernet/broadcom/bnxt/bnxt.c`, `bnxt_async_event_process` |
//! | `Driver recovery watchdog, role: ‹role›, firmware status: 0x‹n› (healthy), resets: ‹n›`; before 5.16 `Error recovery info: error recovery[‹n›], master[‹n›], reset count[‹n›], health status: 0x8000` | same: after a reset, and with no resets at every start |
//! | `Firmware reset aborted, ‹why›` | same, `bnxt_fw_reset`, `bnxt_fw_reset_task` |
//! | `Chip temperature has gone above the ‹name› thermal threshold!` | same, `bnxt_event_error_report` |
//! | `Error (timeout: ‹n›) msg {…} …`, `Resp cmpl intr err msg: 0x‹n›`, `Firmware not responding, status: 0x‹n›` | `bnxt_hwrm.c`, `__hwrm_send`; `bnxt.c` |
//! | `QPLIB: cmdq[0x‹n›]=0x‹n› timedout (‹n›)msec` | `infiniband/hw/bnxt_re/qplib_rcfw.c` |
//! | `tx_timeout recovery unsuccessful, device is in unrecoverable state.`, of i40e `non-recoverable` | `net/ethernet/intel/ice/ice_main.c`, `ice_tx_timeout`; `i40e/i40e_main.c`, `i40e_tx_timeout` |
//! | `Rebuild failed, unload and reload driver` | `ice_main.c`, `ice_rebuild` |
//! | `‹function›: unrecoverable device, error ‹n›` | `ice_main.c`, `ice_pci_err_detected` |
//! | `critical PE Error, GLPE_CRITERR=0x‹n›`, `HMC Error`, `PE Push Error`, behind the network driver's name | `infiniband/hw/irdma/main.c`, `irdma_iidc_event_handler`; from 6.18 `icrdma_if.c` |
//! | `Keep alive watchdog timeout.`, `ENA admin queue is not in running state!`, `The number of lost tx completions is above the threshold …`, later `Lost TX completions are above …` | `net/ethernet/amazon/ena/ena_netdev.c`, `check_for_missing_keep_alive` and its neighbours |
//! | `Reset attempt failed. Can not reset the device`, `Device reset completed successfully…` | same, `ena_restore_device` |
//! | `Failed to process command ‹NAME› (opcode ‹n›) comp_status ‹n› err ‹n›`, `Failed to submit command …` | `infiniband/hw/efa/efa_com.c`, `efa_com_cmd_exec` |
//! | `Wait for completion (polling) timeout`, `The device didn't send any completion for admin cmd …`, `The device sent a completion but the driver didn't receive a MSI-X interrupt …` | same, `efa_com_wait_and_process_admin_cq_polling`, `…_interrupts`; the same in `ena_com.c` |
//! | `Detected Tx Unit Hang`, `Detected Hardware Unit Hang:`, `initiating reset due to tx timeout` | `net/ethernet/intel/ixgbe/ixgbe_main.c`, `igb/igb_main.c`, `e1000e/netdev.c` |
//! | `Adapter removed`, `PCIe link lost` | `ixgbe_main.c`, `ixgbe_remove_adapter`; `igb_main.c`, `igb_rd32`; `igc/igc_main.c`, `igc_rd32` |
//! | `Network adapter has been stopped because it has over heated. …`, `The network adapter was stopped because it overheated` | `ixgbe_main.c`, `ixgbe_overheat_msg`; `igb_main.c`, `igb_watchdog_task` |

use gpud_sdk::catalog::Entry;
use gpud_sdk::kernel_lines::MatchedLine;

use super::LineSource;
use crate::patterns::{
    NIC_COMMAND_FAILED, NIC_COMMAND_TIMEOUT, NIC_FIRMWARE_FATAL, NIC_FIRMWARE_RESET, NIC_HANG,
    NIC_HARDWARE_ERROR, NIC_HOT, NIC_KEEP_ALIVE_LOST, NIC_LOST, NIC_OVERHEATED, NIC_RECOVERED,
    NIC_RECOVERY_FAILED,
};

/// The entries of faults that a card recovers from.
static TROUBLE: [&Entry; 4] = [
    &NIC_FIRMWARE_FATAL,
    &NIC_FIRMWARE_RESET,
    &NIC_RECOVERY_FAILED,
    &NIC_KEEP_ALIVE_LOST,
];

pub(super) fn find<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    match source.driver {
        "bnxt_en" => bnxt(source),
        "ena" => ena(source),
        "efa" => efa(source),
        "infiniband" => rdma(source),
        "ice" | "i40e" | "iavf" | "idpf" => irdma(source),
        _ => None,
    }
    .or_else(|| common(source))
}

fn begins(source: &LineSource<'_>, forms: &[&str]) -> bool {
    forms.iter().any(|form| source.text.starts_with(form))
}

fn bnxt<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    if begins(
        source,
        &["Fatal firmware reset event", "Firmware fatal reset event"],
    ) {
        return Some(source.found(&NIC_FIRMWARE_FATAL));
    }
    if begins(
        source,
        &[
            "Non-fatal firmware reset event",
            "Firmware non-fatal reset event",
        ],
    ) {
        return Some(source.found(&NIC_FIRMWARE_RESET));
    }
    if begins(source, &["Firmware reset aborted"]) {
        return Some(source.because(&NIC_RECOVERY_FAILED));
    }
    if begins(source, &["Chip temperature has gone above the "]) {
        return Some(source.because(&NIC_HOT));
    }
    let no_answer = [
        "Error (timeout: ",
        "Resp cmpl intr err msg: ",
        "Firmware not responding",
    ];
    let rdma = source.text.starts_with("QPLIB: cmdq") && source.text.contains(" timedout");
    if rdma || begins(source, &no_answer) {
        return Some(source.because(&NIC_COMMAND_TIMEOUT));
    }
    is_well_after_reset(source.text).then(|| source.found(&NIC_RECOVERED).ends(&TROUBLE))
}

/// Firmware that is healthy, and was reset.
fn is_well_after_reset(text: &str) -> bool {
    let resets = if let Some(rest) = text.strip_prefix("Driver recovery watchdog, ") {
        rest.split_once(" (healthy), resets: ")
            .map(|(_, rest)| rest)
    } else if text.starts_with("Error recovery info: ") && text.contains("health status: 0x8000") {
        text.split_once("reset count[").map(|(_, rest)| rest)
    } else {
        None
    };
    resets.is_some_and(|resets| resets.starts_with(|first: char| matches!(first, '1'..='9')))
}

fn ena<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    let silent = [
        "Keep alive watchdog timeout",
        "ENA admin queue is not in running state",
        "The number of lost tx completions is above the threshold",
        "Lost TX completions are above the threshold",
    ];
    if begins(source, &silent) {
        return Some(source.because(&NIC_KEEP_ALIVE_LOST));
    }
    if begins(source, &["Reset attempt failed"]) {
        return Some(source.because(&NIC_RECOVERY_FAILED));
    }
    if begins(source, &["Wait for completion (polling) timeout"]) {
        return Some(source.because(&NIC_COMMAND_TIMEOUT));
    }
    begins(source, &["Device reset completed successfully"])
        .then(|| source.found(&NIC_RECOVERED).ends(&TROUBLE))
}

fn rdma<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    let is_named = |kinds: &[&str]| kinds.iter().any(|kind| source.card.starts_with(kind));
    // `efa_0`, or by udev `rdmap0s6-efa` and `rdmap0s6`.
    if source.card.contains("efa") || is_named(&["rdmap"]) {
        return efa(source);
    }
    // `irdma0`, or by udev `rocep175s0f0`.
    is_named(&["irdma", "roce", "iwp"])
        .then(|| irdma(source))
        .flatten()
}

fn efa<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    if begins(
        source,
        &["Failed to process command ", "Failed to submit command "],
    ) {
        return Some(source.because(&NIC_COMMAND_FAILED));
    }
    let no_answer = [
        "Wait for completion",
        "The device didn't send any completion",
        "The device sent a completion",
    ];
    begins(source, &no_answer).then(|| source.because(&NIC_COMMAND_TIMEOUT))
}

fn irdma<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    let fails = ["critical PE Error", "HMC Error", "PE Push Error"];
    let is_rdma = !source.interface.is_empty() || source.driver == "infiniband";
    if is_rdma && begins(source, &fails) {
        return Some(source.because(&NIC_HARDWARE_ERROR));
    }
    intel(source)
}

fn intel<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    let fails = [
        "unrecoverable",
        "Unrecoverable",
        "non-recoverable",
        "tx_timeout recovery unsuccessful",
        "Rebuild failed, unload",
    ];
    fails
        .iter()
        .any(|form| source.text.contains(form))
        .then(|| source.because(&NIC_RECOVERY_FAILED))
}

/// Matches lines that drivers of several cards share.
fn common<'a>(source: &LineSource<'a>) -> Option<MatchedLine<'a>> {
    if source.driver == "infiniband" {
        return None;
    }
    let hangs = [
        "Detected Tx Unit Hang",
        "Detected Hardware Unit Hang",
        "initiating reset due to tx timeout",
        "initiating reset due to lost link",
    ];
    if !source.interface.is_empty() && begins(source, &hangs) {
        return Some(source.found(&NIC_HANG));
    }
    if begins(source, &["Adapter removed", "PCIe link lost"]) {
        return Some(source.because(&NIC_LOST));
    }
    let hot = [
        "Network adapter has been stopped because it has over heated",
        "Network adapter has been stopped because it has overheated",
        "The network adapter was stopped because it overheated",
    ];
    begins(source, &hot).then(|| source.found(&NIC_OVERHEATED))
}
