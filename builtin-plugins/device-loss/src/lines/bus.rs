//! Buses and what stands between device and memory.
//!
//! | line | source |
//! |---|---|
//! | `pcieport ‹id›: pciehp: Slot(‹name›): Link Down`, `… Card not present` | `drivers/pci/hotplug/pciehp_ctrl.c`, `pciehp_handle_presence_or_link_change` (`ctrl_info` in `pciehp.h`) |
//! | `DMAR: [DMA Read NO_PASID] Request device [‹id›] fault addr 0x‹n› [fault reason 0x‹n›] ‹why›`, also `DMA Write`, `PASID 0x‹n›`; before 5.13 `[DMA Read] Request device [‹id›] PASID ‹n› fault addr …` | `drivers/iommu/intel/dmar.c`, `dmar_fault_do_one` |
//! | `DMAR: [INTR-REMAP] Request device [‹id›] fault index …` | same |
//! | `AMD-Vi: Event logged [IO_PAGE_FAULT device=‹id› domain=… address=… flags=…]`, where the device is known `‹driver› ‹id›: AMD-Vi: Event logged [IO_PAGE_FAULT domain=…]` | `drivers/iommu/amd/iommu.c`, `amd_iommu_report_page_fault` |
//! | `arm-smmu-v3 ‹name›: event 0x‹n› received:` | `drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c`, `arm_smmu_evtq_thread`, later `arm_smmu_dump_raw_event` |
//! | `arm-smmu-v3 ‹name›: event: ‹what› client: ‹id› sid: 0x‹n› …` below it | same, `arm_smmu_dump_event`, in newer kernels |
//!
//! Intel's and AMD's lines name the device without its domain where there is only one, and Intel's always: it is taken to
//! be 0.

use super::{Found, Kind, bare_id, first_word, of_driver};

/// Longest name of a slot or IOMMU.
const MAX_NAME: usize = 64;

pub(super) fn find(line: &str) -> Option<Found<'_>> {
    slot(line)
        .or_else(|| intel(line))
        .or_else(|| amd(line))
        .or_else(|| arm(line))
}

fn slot(line: &str) -> Option<Found<'_>> {
    let (port, rest) = of_driver(line, "pcieport")?;
    let (slot, what) = rest.strip_prefix("pciehp: Slot(")?.split_once("): ")?;
    // `Link Down/Up ignored` is none.
    let lost = matches!(what, "Link Down" | "Card not present") && slot.len() <= MAX_NAME;
    lost.then(|| {
        let found = Found::new(Kind::SlotLost, port);
        found.fact("slot", slot).fact("cause", what)
    })
}

fn intel(line: &str) -> Option<Found<'_>> {
    let (access, rest) = line
        .strip_prefix("DMAR: [")?
        .split_once("] Request device [")?;
    let (device, rest) = rest.split_once(']')?;
    let known = ["DMA Read", "DMA Write", "INTR-REMAP"];
    if !known.iter().any(|form| access.starts_with(form)) || !rest.contains("[fault reason ") {
        return None;
    }
    // Some kernels write `[0x3b:0x00.0]`.
    let device = bare_id(&device.replace("0x", ""))?;
    let address = after(rest, " fault addr ");
    let found = Found::new(Kind::IommuFault, device).fact("access", access);
    Some(found.fact("address", address))
}

fn amd(line: &str) -> Option<Found<'_>> {
    let (before, fields) = line.split_once("AMD-Vi: Event logged [IO_PAGE_FAULT ")?;
    let device = if before.is_empty() {
        let (id, _) = fields.strip_prefix("device=")?.split_once(' ')?;
        bare_id(id)?
    } else {
        let (_driver, id) = before.strip_suffix(": ")?.split_once(' ')?;
        bare_id(id)?
    };
    let address = after(fields, " address=");
    Some(Found::new(Kind::IommuFault, device).fact("address", address))
}

fn arm(line: &str) -> Option<Found<'_>> {
    let (iommu, rest) = line.strip_prefix("arm-smmu-v3 ")?.split_once(": event")?;
    if iommu.contains(' ') || iommu.len() > MAX_NAME {
        return None;
    }
    if let Some(rest) = rest.strip_prefix(": ") {
        let (what, client) = rest.split_once(" client: ")?;
        let found = Found::new(Kind::IommuFault, bare_id(first_word(client))?);
        return Some(found.fact("access", what).fact("iommu", iommu));
    }
    let (event, rest) = rest.strip_prefix(" 0x")?.split_once(' ')?;
    let is_number = !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_number && rest.starts_with("received:"))
        .then(|| Found::new(Kind::IommuFault, "").fact("iommu", iommu))
}

/// The word after a key; empty where it is missing.
fn after<'a>(text: &'a str, key: &str) -> &'a str {
    text.split_once(key)
        .map_or("", |(_, rest)| first_word(rest))
}
