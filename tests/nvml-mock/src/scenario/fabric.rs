//! NVLink fabric, place in a rack.

use super::patch::readings;
use crate::code::Code;

readings! {
    /// Membership in an NVLink fabric.
    Fabric, FabricPatch {
        /// `nvmlGpuFabricState_t`: 0 not supported, 1 not started, 2 in progress, 3 completed. `null`: the calls give 3.
        state: u8,
        /// Return code of the registration.
        status: Code,
        /// Cluster UUID, hyphenated or not.
        cluster_uuid: String,
        /// Clique.
        clique_id: u32,
        /// Health bits, see `NVML_GPU_FABRIC_HEALTH_MASK_*`.
        health_mask: u32,
        /// 0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity.
        health_summary: u8,
    }
}

readings! {
    /// Place in a rack. `null` module: the call gives 3.
    Platform, PlatformPatch {
        /// GUID, hexadecimal, 16 bytes.
        ib_guid: String,
        /// Serial number of the chassis, at most 15 characters.
        chassis_serial: String,
        /// Rack GUID of version 1, hexadecimal.
        rack_guid: String,
        /// Slot.
        slot: u8,
        /// Tray.
        tray: u8,
        /// Host.
        host: u8,
        /// Peer type: 0 direct, 1 switch.
        peer_type: u8,
        /// Module.
        module: u8,
    }
}

/// Bytes of a hexadecimal text; hyphens are skipped, missing bytes are 0, anything else ends it.
#[must_use]
pub fn hex16(text: &str) -> [u8; 16] {
    let mut digits = text
        .chars()
        .filter(|c| *c != '-')
        .map_while(|c| c.to_digit(16));
    std::array::from_fn(|_| {
        let high = digits.next().unwrap_or(0);
        let low = digits.next().unwrap_or(0);
        u8::try_from(high * 16 + low).unwrap_or(0)
    })
}
