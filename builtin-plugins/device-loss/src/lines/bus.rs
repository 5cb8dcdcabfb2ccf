//! Kernel lines about buses, and about units between device and memory.
//!
//! | line | source |
//! |---|---|
//! | `pcieport ‹id›: pciehp: Slot(‹name›): Link Down`, `… Card not present` | `drivers/pci/hotplug/pciehp_ctrl.c`, `pciehp_handle_presence_or_link_change` (`ctrl_info` in `pciehp.h`) |
//! | `pcieport ‹id›: pciehp: Slot(‹name›): Power fault` | `drivers/pci/hotplug/pciehp_hpc.c`, `pciehp_ist` |
//! | `‹driver› ‹id›: Unable to change power state from ‹state› to ‹state›, device inaccessible`, before 5.19 `can't change power state from ‹state› to ‹state› (config space inaccessible)` | `drivers/pci/pci.c`, `pci_power_up`, earlier `pci_raw_set_power_state` |
//! | `‹driver› ‹id›: not ready ‹n›ms after ‹what›; giving up` | same, `pci_dev_wait` |
//! | `DMAR: [DMA Read NO_PASID] Request device [‹id›] fault addr 0x‹n› [fault reason 0x‹n›] ‹why›`, also `DMA Write`, `PASID 0x‹n›`; before 5.13 `[DMA Read] Request device [‹id›] PASID ‹n› fault addr …`, before 4.13 `DMAR:[DMA Read] Request device [‹id›] fault addr ‹n›`, with the reason in a further line | `drivers/iommu/intel/dmar.c`, `dmar_fault_do_one` |
//! | `DMAR: [INTR-REMAP] Request device [‹id›] fault index …` | same |
//! | `DMAR: VT-d detected Invalidation Time-out Error: SID ‹n›`, also `Invalidation Completion Error`; `… Invalidation Queue Error: Reason ‹n›` | same, `qi_dump_fault`, from 6.0; the number is bus, device and function in one, hexadecimal |
//! | `AMD-Vi: Event logged [IO_PAGE_FAULT device=‹id› domain=… address=… flags=…]`, where the device is known `‹driver› ‹id›: AMD-Vi: Event logged [IO_PAGE_FAULT domain=…]` | `drivers/iommu/amd/iommu.c`, `amd_iommu_report_page_fault` |
//! | `AMD-Vi: Event logged [‹EVENT› device=‹id› …]`, events: see `AMD_EVENTS` | same, `iommu_print_event` |
//! | `arm-smmu-v3 ‹name›: event 0x‹n› received:` | `drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c`, `arm_smmu_evtq_thread`, later `arm_smmu_dump_raw_event` |
//! | `arm-smmu-v3 ‹name›: event: ‹what› client: ‹id› sid: 0x‹n› …` below it | same, `arm_smmu_dump_event`, in newer kernels |
//!
//! Intel's and AMD's lines name the device without its domain where there is only one, and Intel's always: it is taken to
//! be 0.

use super::{Kind, MatchedLine, bare_id, first_word, is_driver_name, of_driver, split_digits};

/// Longest name of a slot or IOMMU.
const MAX_NAME: usize = 64;

/// Errors of devices that AMD's IOMMU reports besides page faults, where the hardware is at fault.
const AMD_EVENTS: [&str; 3] = [
    "DEV_TAB_HARDWARE_ERROR",
    "PAGE_TAB_HARDWARE_ERROR",
    "IOTLB_INV_TIMEOUT",
];

pub(super) fn find(line: &str) -> Option<MatchedLine<'_>> {
    slot(line)
        .or_else(|| inaccessible(line))
        .or_else(|| intel(line))
        .or_else(|| intel_queue(line))
        .or_else(|| amd(line))
        .or_else(|| amd_event(line))
        .or_else(|| arm(line))
}

fn slot(line: &str) -> Option<MatchedLine<'_>> {
    let (port, rest) = of_driver(line, "pcieport")?;
    let (slot, what) = rest.strip_prefix("pciehp: Slot(")?.split_once("): ")?;
    let kind = match what {
        // `Link Down/Up ignored` is none.
        "Link Down" | "Card not present" => Kind::SlotLost,
        "Power fault" => Kind::SlotPower,
        _ => return None,
    };
    (slot.len() <= MAX_NAME).then(|| {
        let found = MatchedLine::new(kind, port);
        found.fact("slot", slot).fact("cause", what)
    })
}

/// Matches the PCI core's line about a device that is in its slot and does not answer.
fn inaccessible(line: &str) -> Option<MatchedLine<'_>> {
    let (who, what) = line.split_once(": ")?;
    let (driver, id) = who.split_once(' ')?;
    let device = bare_id(id).filter(|_| is_driver_name(driver))?;
    let what = what.trim_end();
    let states = ["Unable to", "unable to", "can't"]
        .iter()
        .find_map(|start| {
            what.strip_prefix(*start)?
                .strip_prefix(" change power state from ")
        });
    let without_power = states.is_some_and(|states| {
        [", device inaccessible", " (config space inaccessible)"]
            .iter()
            .any(|end| states.ends_with(*end))
    });
    let given_up = what
        .strip_prefix("not ready ")
        .and_then(|rest| rest.strip_suffix("; giving up"))
        .map(split_digits)
        .is_some_and(|(time, rest)| !time.is_empty() && rest.starts_with("ms after "));
    (without_power || given_up).then(|| {
        let found = MatchedLine::new(Kind::Inaccessible, device);
        found.fact("driver", driver).fact("cause", what)
    })
}

fn intel(line: &str) -> Option<MatchedLine<'_>> {
    let line = line.strip_prefix("DMAR:")?;
    let (access, rest) = line
        .strip_prefix(' ')
        .unwrap_or(line)
        .strip_prefix('[')?
        .split_once("] Request device [")?;
    let (device, rest) = rest.split_once(']')?;
    let known = ["DMA Read", "DMA Write", "INTR-REMAP"];
    if !known.iter().any(|form| access.starts_with(form)) || !is_fault(rest) {
        return None;
    }
    // Some kernels write `[0x3b:0x00.0]`.
    let device = bare_id(&device.replace("0x", ""))?;
    let address = after(rest, " fault addr ");
    let found = MatchedLine::new(Kind::IommuFault, device).fact("access", access);
    Some(found.fact("address", address))
}

/// The reason is in the same line, or, in kernels before 4.13, in the next one of the record.
fn is_fault(rest: &str) -> bool {
    rest.contains("[fault reason ") || rest.starts_with(" fault addr ")
}

fn intel_queue(line: &str) -> Option<MatchedLine<'_>> {
    let rest = line.strip_prefix("DMAR: VT-d detected ")?;
    let (what, detail) = rest.split_once(": ")?;
    let device = match what {
        "Invalidation Time-out Error" | "Invalidation Completion Error" => {
            let source = u16::from_str_radix(first_word(detail.strip_prefix("SID ")?), 16).ok()?;
            let (bus, function) = (source >> 8, source & 0x7);
            format!("0000:{bus:02x}:{:02x}.{function}", (source >> 3) & 0x1f)
        }
        "Invalidation Queue Error" => String::new(),
        _ => return None,
    };
    Some(MatchedLine::new(Kind::IommuFault, device).fact("access", what))
}

fn amd_event(line: &str) -> Option<MatchedLine<'_>> {
    let (before, event) = line.split_once("AMD-Vi: Event logged [")?;
    // The IOMMU's own device, in newer kernels: `iommu ivhd0: `.
    if !before.is_empty() {
        let (driver, name) = before.strip_suffix(": ")?.split_once(' ')?;
        if !is_driver_name(driver) || name.contains(' ') {
            return None;
        }
    }
    let (event, fields) = event.split_once(" device=")?;
    if !AMD_EVENTS.contains(&event) {
        return None;
    }
    let found = MatchedLine::new(Kind::IommuFault, bare_id(first_word(fields))?);
    Some(
        found
            .fact("access", event)
            .fact("address", after(fields, " address=").trim_end_matches(']')),
    )
}

fn amd(line: &str) -> Option<MatchedLine<'_>> {
    let (before, fields) = line.split_once("AMD-Vi: Event logged [IO_PAGE_FAULT ")?;
    let device = if before.is_empty() {
        let (id, _) = fields.strip_prefix("device=")?.split_once(' ')?;
        bare_id(id)?
    } else {
        let (driver, id) = before.strip_suffix(": ")?.split_once(' ')?;
        bare_id(id).filter(|_| is_driver_name(driver))?
    };
    let address = after(fields, " address=");
    Some(MatchedLine::new(Kind::IommuFault, device).fact("address", address))
}

fn arm(line: &str) -> Option<MatchedLine<'_>> {
    let (iommu, rest) = line.strip_prefix("arm-smmu-v3 ")?.split_once(": event")?;
    if iommu.contains(' ') || iommu.len() > MAX_NAME {
        return None;
    }
    if let Some(rest) = rest.strip_prefix(": ") {
        let (what, client) = rest.split_once(" client: ")?;
        let found = MatchedLine::new(Kind::IommuFault, bare_id(first_word(client))?);
        return Some(found.fact("access", what).fact("iommu", iommu));
    }
    let (event, rest) = rest.strip_prefix(" 0x")?.split_once(' ')?;
    let is_number = !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_number && rest.starts_with("received:"))
        .then(|| MatchedLine::new(Kind::IommuFault, "").fact("iommu", iommu))
}

/// The word after a key; empty where it is missing.
fn after<'a>(text: &'a str, key: &str) -> &'a str {
    text.split_once(key)
        .map_or("", |(_, rest)| first_word(rest))
}
