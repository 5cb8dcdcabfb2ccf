//! NVLink fabric, place in a rack.

#![allow(non_snake_case, reason = "variables named as the fields of C structs")]

use nvml_wrapper_sys::bindings::{nvmlPlatformInfo_v1_t, nvmlPlatformInfo_v2_t};

use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::fabric::hex16;
use crate::struct_version;

/// `nvmlGpuFabricInfo_t`, and the middle of the versioned ones. The header's state is one byte before three of padding;
/// NVIDIA's Python binding reads all four, so they are written as one number with the byte lowest.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Info {
    cluster_uuid: [u8; 16],
    status: u32,
    clique_id: u32,
    state: u32,
}

/// `nvmlGpuFabricInfo_v2_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Info2 {
    version: u32,
    info: Info,
    health_mask: u32,
}

/// `nvmlGpuFabricInfo_v3_t`; the summary is a byte as the state is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Info3 {
    info: Info2,
    health_summary: u32,
}

fn info(target: &Target) -> Result<Info, Code> {
    let fabric = &target.gpu()?.fabric;
    Ok(Info {
        cluster_uuid: hex16(fabric.cluster_uuid.as_deref().unwrap_or_default()),
        status: fabric.status.unwrap_or(Code::SUCCESS).0,
        clique_id: fabric.clique_id.unwrap_or(0),
        state: u32::from(have(&fabric.state)?),
    })
}

const V2: u32 = struct_version::<Info2>(2);
const V3: u32 = struct_version::<Info3>(3);
const PLATFORM_1: u32 = struct_version::<nvmlPlatformInfo_v1_t>(1);
const PLATFORM_2: u32 = struct_version::<nvmlPlatformInfo_v2_t>(2);

export! {
    device nvmlDeviceGetGpuFabricInfo(out: Out<Info>) [] |target| out.set(info(target)?);
    device nvmlDeviceGetGpuFabricInfoV(out: Out<Info3>) [] |target| {
        let version = out.version(&[V2, V3])?;
        let fabric = &target.gpu()?.fabric;
        let health_mask = fabric.health_mask.unwrap_or(0);
        let two = Info2 { version, info: info(target)?, health_mask };
        if version == V2 {
            return out.set_as(two);
        }
        out.set(Info3 { info: two, health_summary: u32::from(fabric.health_summary.unwrap_or(0)) })
    };
    device nvmlDeviceGetPlatformInfo(out: Out<nvmlPlatformInfo_v2_t>) [] |target| {
        let version = out.version(&[PLATFORM_1, PLATFORM_2])?;
        let platform = &target.gpu()?.platform;
        let ibGuid = hex16(platform.ib_guid.as_deref().unwrap_or_default());
        let (slot, tray) = (platform.slot.unwrap_or(0), platform.tray.unwrap_or(0));
        let (host, peerType) = (platform.host.unwrap_or(0), platform.peer_type.unwrap_or(0));
        let moduleId = have(&platform.module)?;
        if version == PLATFORM_1 {
            return out.set_as(nvmlPlatformInfo_v1_t {
                version,
                ibGuid,
                rackGuid: hex16(platform.rack_guid.as_deref().unwrap_or_default()),
                chassisPhysicalSlotNumber: slot,
                computeSlotIndex: tray,
                nodeIndex: host,
                peerType,
                moduleId,
            });
        }
        let serial = platform.chassis_serial.clone().unwrap_or_default();
        let mut bytes = serial.bytes().take(15);
        let chassisSerialNumber = std::array::from_fn(|_| bytes.next().unwrap_or(0));
        out.set(nvmlPlatformInfo_v2_t {
            version,
            ibGuid,
            chassisSerialNumber,
            slotNumber: slot,
            trayIndex: tray,
            hostId: host,
            peerType,
            moduleId,
        })
    };
}
