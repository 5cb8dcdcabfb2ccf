//! PCI Express.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings::{nvmlPciInfo_t, nvmlPciInfoExt_v1_t};

use crate::call::have;
use crate::code::Code;
use crate::edge::{Out, chars, export};
use crate::scenario::gpu::{Gpu, Pci};
use crate::scenario::node::bus;
use crate::struct_version;

/// The struct of a bus id; also for the other ends of NVLinks.
pub fn pci_info(id: &str, device_id: u32, subsystem_id: u32) -> Result<nvmlPciInfo_t, Code> {
    let (domain, bus, device) = bus(id).ok_or(Code::UNKNOWN)?;
    Ok(nvmlPciInfo_t {
        // Four digits of domain, as before version 3; the domains of Grace machines fit.
        busIdLegacy: chars(&format!("{domain:04X}:{bus:02X}:{device:02X}.0")),
        domain,
        bus,
        device,
        pciDeviceId: device_id,
        pciSubSystemId: subsystem_id,
        busId: chars(&format!("{domain:08X}:{bus:02X}:{device:02X}.0")),
    })
}

fn of(gpu: &Gpu) -> Result<nvmlPciInfo_t, Code> {
    pci_info(
        &have(&gpu.pci.bus_id)?,
        have(&gpu.pci.device_id)?,
        have(&gpu.pci.subsystem_id)?,
    )
}

/// The struct before version 2, without the ids of the subsystem and the long bus id. A longer write could run over the
/// caller's memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct Old {
    bus_id: [c_char; 16],
    domain: u32,
    bus: u32,
    device: u32,
    device_id: u32,
}

/// Version 2: with the subsystem.
#[repr(C)]
#[derive(Clone, Copy)]
struct Newer {
    old: Old,
    subsystem_id: u32,
}

fn old(info: nvmlPciInfo_t) -> Old {
    Old {
        bus_id: info.busIdLegacy,
        domain: info.domain,
        bus: info.bus,
        device: info.device,
        device_id: info.pciDeviceId,
    }
}

/// Bandwidth of one lane, Mbit/s, by generation.
fn mbps(generation: u32) -> Option<u32> {
    [2500, 5000, 8000, 16000, 32000, 64000]
        .get(usize::try_from(generation.checked_sub(1)?).ok()?)
        .copied()
}

fn pci(target: &crate::call::Target) -> Result<&Pci, Code> {
    Ok(&target.gpu()?.pci)
}

export! {
    device nvmlDeviceGetPciInfo_v3(info: Out<nvmlPciInfo_t>) [] |target| info.set(of(target.gpu()?)?);
    device nvmlDeviceGetPciInfo_v2(info: Out<nvmlPciInfo_t>) [] |target| {
        let long = of(target.gpu()?)?;
        info.set_as(Newer { old: old(long), subsystem_id: long.pciSubSystemId })
    };
    device nvmlDeviceGetPciInfo(info: Out<nvmlPciInfo_t>) [] |target| info.set_as(old(of(target.gpu()?)?));
    device nvmlDeviceGetPciInfoExt(info: Out<nvmlPciInfoExt_v1_t>) [] |target| {
        let version = info.version(&[struct_version::<nvmlPciInfoExt_v1_t>(1)])?;
        let short = of(target.gpu()?)?;
        info.set(nvmlPciInfoExt_v1_t {
            version,
            domain: short.domain,
            bus: short.bus,
            device: short.device,
            pciDeviceId: short.pciDeviceId,
            pciSubSystemId: short.pciSubSystemId,
            // 3D controller.
            baseClass: 3,
            subClass: 2,
            busId: short.busId,
        })
    };
    device nvmlDeviceGetCurrPcieLinkGeneration(out: Out<u32>) [] |target| out.set(have(&pci(target)?.generation)?);
    device nvmlDeviceGetCurrPcieLinkWidth(out: Out<u32>) [] |target| out.set(have(&pci(target)?.width)?);
    device nvmlDeviceGetMaxPcieLinkGeneration(out: Out<u32>) [] |target| out.set(have(&pci(target)?.max_generation)?);
    device nvmlDeviceGetGpuMaxPcieLinkGeneration(out: Out<u32>) [] |target| out.set(have(&pci(target)?.gpu_max_generation)?);
    device nvmlDeviceGetMaxPcieLinkWidth(out: Out<u32>) [] |target| out.set(have(&pci(target)?.max_width)?);
    device nvmlDeviceGetPcieReplayCounter(out: Out<u32>) [] |target| out.set(have(&pci(target)?.replays)?);
    device nvmlDeviceGetPcieThroughput(counter: u32, out: Out<u32>) [counter] |target| {
        let pci = pci(target)?;
        out.set(have(match counter {
            0 => &pci.tx_kib_s,
            1 => &pci.rx_kib_s,
            _ => return Err(Code::INVALID_ARGUMENT),
        })?)
    };
    device nvmlDeviceGetPcieSpeed(out: Out<u32>) [] |target| {
        out.set(mbps(have(&pci(target)?.generation)?).ok_or(Code::NOT_SUPPORTED)?)
    };
    // NVML_PCIE_LINK_MAX_SPEED_*: 1 is 2500 Mbit/s, one more for each generation.
    device nvmlDeviceGetPcieLinkMaxSpeed(out: Out<u32>) [] |target| out.set(have(&pci(target)?.max_generation)?);
    // NVML_BUS_TYPE_PCIE, and NVML_BUS_TYPE_FPCI for Grace.
    device nvmlDeviceGetBusType(out: Out<u32>) [] |_target| out.set(2);
}
