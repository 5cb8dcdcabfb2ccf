//! NVLink.

use nvml_wrapper_sys::bindings::{nvmlNvLinkInfo_v1_t, nvmlPciInfo_t};

use super::enabled;
use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::nvlink::Link;
use crate::state;
use crate::struct_version;

/// `NVML_NVLINK_MAX_LINKS` up to CUDA 13.0; beyond it the argument is wrong, below it but past the last link the GPU
/// does not support the link.
const MAX_LINKS: u32 = 18;

fn link(target: &Target, number: u32) -> Result<&Link, Code> {
    let links = &target.gpu()?.nvlink.links;
    let found = links.get(usize::try_from(number).unwrap_or(usize::MAX));
    found.ok_or(if number < MAX_LINKS {
        Code::NOT_SUPPORTED
    } else {
        Code::INVALID_ARGUMENT
    })
}

/// Counters that grow: what the scenario says, and the rate since then.
pub fn grown(base: &Option<u64>, rate: &Option<u64>) -> Result<u64, Code> {
    let since = state::with(|state| state.now_ms());
    Ok(have(base)?.saturating_add(rate.unwrap_or(0).saturating_mul(since) / 1000))
}

export! {
    device nvmlDeviceGetNvLinkState(number: u32, active: Out<u32>) [number] |target| {
        active.set(enabled(have(&link(target, number)?.active)?))
    };
    device nvmlDeviceGetNvLinkVersion(number: u32, version: Out<u32>) [number] |target| {
        version.set(have(&link(target, number)?.version)?)
    };
    device nvmlDeviceGetNvLinkCapability(number: u32, capability: u32, result: Out<u32>) [number] |target| {
        link(target, number)?;
        match capability {
            // All but the SLI bridge.
            0..=3 | 5 => result.set(1),
            4 => result.set(0),
            _ => Err(Code::INVALID_ARGUMENT),
        }
    };
    device nvmlDeviceGetNvLinkErrorCounter(number: u32, counter: u32, value: Out<u64>) [number] |target| {
        let link = link(target, number)?;
        value.set(have(match counter {
            0 => &link.replay,
            1 => &link.recovery,
            2 => &link.crc_flit,
            3 => &link.crc_data,
            4 => &link.ecc_data,
            _ => return Err(Code::INVALID_ARGUMENT),
        })?)
    };
    device nvmlDeviceGetNvLinkRemotePciInfo_v2(number: u32, info: Out<nvmlPciInfo_t>) [number] |target| {
        info.set(super::bus::pci_info(&have(&link(target, number)?.remote_bus_id)?, 0, 0)?)
    };
    device nvmlDeviceGetNvLinkRemoteDeviceType(number: u32, kind: Out<u32>) [number] |target| {
        kind.set(have(&link(target, number)?.remote_type)?)
    };
    device nvmlDeviceGetNvLinkUtilizationCounter(number: u32, counter: u32, rx: Out<u64>, tx: Out<u64>) [number] |target| {
        if counter > 1 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let link = link(target, number)?;
        rx.set(grown(&link.rx_kib, &link.rx_kib_s)?)?;
        tx.set(grown(&link.tx_kib, &link.tx_kib_s)?)
    };
    device nvmlDeviceGetNvLinkInfo(info: Out<nvmlNvLinkInfo_v1_t>) [] |_target| {
        let version = info.version(&[struct_version::<nvmlNvLinkInfo_v1_t>(1)])?;
        info.set(nvmlNvLinkInfo_v1_t { version, isNvleEnabled: 0 })
    };
}
