//! The identity of a GPU.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings::{
    nvmlDeviceAddressingMode_v1_t, nvmlDeviceCapabilities_v1_t, nvmlPdi_v1_t, nvmlRepairStatus_v1_t,
};

use super::enabled;
use crate::call::have;
use crate::code::Code;
use crate::edge::{Out, export};
use crate::struct_version;

export! {
    any nvmlDeviceGetName(name: Out<c_char>, length: u32) [] |target| {
        let gpu = have(&target.gpu()?.name)?;
        match target.mig_device()? {
            Some(mig) => name.text(length, &format!("{gpu} MIG {}", mig.profile)),
            None => name.text(length, &gpu),
        }
    };
    any nvmlDeviceGetUUID(uuid: Out<c_char>, length: u32) [] |target| {
        match (target.mig_device()?, target.mig) {
            (Some(mig), Some(place)) => uuid.text(length, &super::mig::uuid(target.gpu()?, mig, place)),
            _ => uuid.text(length, &have(&target.gpu()?.uuid)?),
        }
    };
    device nvmlDeviceGetBrand(brand: Out<u32>) [] |target| brand.set(have(&target.gpu()?.brand)?);
    device nvmlDeviceGetSerial(serial: Out<c_char>, length: u32) [] |target| serial.text(length, &have(&target.gpu()?.serial)?);
    device nvmlDeviceGetMinorNumber(minor: Out<u32>) [] |target| minor.set(have(&target.gpu()?.minor_number)?);
    device nvmlDeviceGetModuleId(id: Out<u32>) [] |target| id.set(have(&target.gpu()?.module_id)?);
    device nvmlDeviceGetBoardId(id: Out<u32>) [] |target| id.set(have(&target.gpu()?.board_id)?);
    device nvmlDeviceGetMultiGpuBoard(multi: Out<u32>) [] |target| multi.set(have(&target.gpu()?.multi_gpu_board)?);
    device nvmlDeviceGetBoardPartNumber(part: Out<c_char>, length: u32) [] |target| {
        part.text(length, &have(&target.gpu()?.board_part_number)?)
    };
    device nvmlDeviceGetVbiosVersion(version: Out<c_char>, length: u32) [] |target| version.text(length, &have(&target.gpu()?.vbios)?);
    device nvmlDeviceGetInforomImageVersion(version: Out<c_char>, length: u32) [] |target| {
        version.text(length, &have(&target.gpu()?.inforom_image)?)
    };
    device nvmlDeviceGetInforomVersion(object: u32, version: Out<c_char>, length: u32) [object] |target| {
        let gpu = target.gpu()?;
        version.text(length, &have(match object {
            0 => &gpu.inforom_oem,
            1 => &gpu.inforom_ecc,
            2 => &gpu.inforom_power,
            3 => &None,
            _ => return Err(Code::INVALID_ARGUMENT),
        })?)
    };
    device nvmlDeviceGetInforomConfigurationChecksum(sum: Out<u32>) [] |target| sum.set(have(&target.gpu()?.inforom_checksum)?);
    device nvmlDeviceValidateInforom() [] |target| {
        if have(&target.gpu()?.inforom_valid)? { Ok(()) } else { Err(Code::CORRUPTED_INFOROM) }
    };
    device nvmlDeviceGetGspFirmwareVersion(version: Out<c_char>) [] |target| {
        // The header gives 64 bytes without asking for a length.
        version.text(64, &have(&target.gpu()?.gsp_version)?)
    };
    device nvmlDeviceGetGspFirmwareMode(on: Out<u32>, default: Out<u32>) [] |target| {
        let on_now = enabled(target.gpu()?.gsp_version.is_some());
        on.set(on_now)?;
        default.set(on_now)
    };
    device nvmlDeviceGetArchitecture(architecture: Out<u32>) [] |target| architecture.set(have(&target.gpu()?.architecture)?);
    any nvmlDeviceGetCudaComputeCapability(major: Out<i32>, minor: Out<i32>) [] |target| {
        let [a, b] = have(&target.gpu()?.compute_capability)?;
        major.set(a)?;
        minor.set(b)
    };
    device nvmlDeviceGetNumGpuCores(cores: Out<u32>) [] |target| cores.set(have(&target.gpu()?.cores)?);
    device nvmlDeviceGetIrqNum(irq: Out<u32>) [] |target| irq.set(have(&target.gpu()?.irq)?);
    device nvmlDeviceGetNumaNodeId(node: Out<u32>) [] |target| node.set(have(&target.gpu()?.memory_numa_node)?);
    device nvmlDeviceGetPersistenceMode(mode: Out<u32>) [] |target| mode.set(enabled(have(&target.gpu()?.persistence_mode)?));
    device nvmlDeviceGetComputeMode(mode: Out<u32>) [] |target| mode.set(have(&target.gpu()?.compute_mode)?);
    device nvmlDeviceGetDisplayMode(on: Out<u32>) [] |target| on.set(enabled(have(&target.gpu()?.display_mode)?));
    device nvmlDeviceGetDisplayActive(on: Out<u32>) [] |target| on.set(enabled(have(&target.gpu()?.display_active)?));
}

export! {
    device nvmlDeviceGetC2cModeInfoV(info: Out<u32>) [] |target| info.set(enabled(have(&target.gpu()?.c2c)?));
    device nvmlDeviceGetPdi(pdi: Out<nvmlPdi_v1_t>) [] |target| {
        let version = pdi.version(&[struct_version::<nvmlPdi_v1_t>(1)])?;
        pdi.set(nvmlPdi_v1_t { version, value: have(&target.gpu()?.pdi)? })
    };
    device nvmlDeviceGetAddressingMode(mode: Out<nvmlDeviceAddressingMode_v1_t>) [] |target| {
        let version = mode.version(&[struct_version::<nvmlDeviceAddressingMode_v1_t>(1)])?;
        // NVML_DEVICE_ADDRESSING_MODE_ATS (2) on Grace, else NONE (0).
        mode.set(nvmlDeviceAddressingMode_v1_t { version, value: enabled(target.gpu()?.c2c == Some(true)) * 2 })
    };
    device nvmlDeviceGetRepairStatus(status: Out<nvmlRepairStatus_v1_t>) [] |_target| {
        let version = status.version(&[struct_version::<nvmlRepairStatus_v1_t>(1)])?;
        status.set(nvmlRepairStatus_v1_t { version, bChannelRepairPending: 0, bTpcRepairPending: 0 })
    };
    device nvmlDeviceGetCapabilities(caps: Out<nvmlDeviceCapabilities_v1_t>) [] |_target| {
        let version = caps.version(&[struct_version::<nvmlDeviceCapabilities_v1_t>(1)])?;
        caps.set(nvmlDeviceCapabilities_v1_t { version, capMask: 0 })
    };
    device nvmlDeviceGetVirtualizationMode(mode: Out<u32>) [] |_target| mode.set(0);
}
