//! The machine's inventory as `/machine-info` serves it. Empty values are left out unless stated.

use serde::Serialize;

use super::{MetaTime, is_zero};

/// The whole inventory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineInfo {
    /// Build version of gpud.
    #[serde(skip_serializing_if = "is_zero")]
    pub gpud_version: String,
    /// NVIDIA driver.
    #[serde(skip_serializing_if = "is_zero")]
    pub gpu_driver_version: String,
    /// `major.minor`.
    #[serde(skip_serializing_if = "is_zero")]
    pub cuda_version: String,
    /// `containerd://X` or `cri-o://X`.
    #[serde(skip_serializing_if = "is_zero")]
    pub container_runtime_version: String,
    /// If installed.
    #[serde(skip_serializing_if = "is_zero")]
    pub tailscale_version: String,
    /// Kernel release.
    #[serde(skip_serializing_if = "is_zero")]
    pub kernel_version: String,
    /// The distribution's pretty name.
    #[serde(skip_serializing_if = "is_zero")]
    pub os_image: String,
    /// `linux`.
    #[serde(skip_serializing_if = "is_zero")]
    pub operating_system: String,
    /// From the firmware.
    #[serde(rename = "systemUUID", skip_serializing_if = "is_zero")]
    pub system_uuid: String,
    /// The operating system's machine id.
    #[serde(rename = "machineID", skip_serializing_if = "is_zero")]
    pub machine_id: String,
    /// The id of this boot.
    #[serde(rename = "bootID", skip_serializing_if = "is_zero")]
    pub boot_id: String,
    /// Host name.
    #[serde(skip_serializing_if = "is_zero")]
    pub hostname: String,
    /// When it booted; always present, `null` if not known.
    pub uptime: MetaTime,
    /// NVLink fabric cluster.
    #[serde(rename = "clusterUUID", skip_serializing_if = "is_zero")]
    pub cluster_uuid: String,
    /// NVLink fabric clique.
    #[serde(rename = "cliqueID", skip_serializing_if = "is_zero")]
    pub clique_id: u32,
    /// GPU chassis.
    #[serde(skip_serializing_if = "is_zero")]
    pub chassis_serial: String,
    /// Processors.
    #[serde(skip_serializing_if = "is_zero")]
    pub cpu_info: Option<CpuInfo>,
    /// Memory.
    #[serde(skip_serializing_if = "is_zero")]
    pub memory_info: Option<MemoryInfo>,
    /// GPUs; the daemon always gives it.
    #[serde(skip_serializing_if = "is_zero")]
    pub gpu_info: Option<GpuInfo>,
    /// Disks.
    #[serde(skip_serializing_if = "is_zero")]
    pub disk_info: Option<DiskInfo>,
    /// Interfaces.
    #[serde(skip_serializing_if = "is_zero")]
    pub nic_info: Option<NicInfo>,
}

/// The processors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CpuInfo {
    /// Model name.
    #[serde(rename = "type", skip_serializing_if = "is_zero")]
    pub cpu_type: String,
    /// Vendor id.
    #[serde(skip_serializing_if = "is_zero")]
    pub manufacturer: String,
    /// Go's name: `amd64`, `arm64`.
    #[serde(skip_serializing_if = "is_zero")]
    pub architecture: String,
    /// Hardware threads.
    #[serde(skip_serializing_if = "is_zero")]
    pub logical_cores: i64,
}

/// Main memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryInfo {
    /// Bytes; always present.
    pub total_bytes: u64,
}

/// The GPUs as a group; `{}` without any.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuInfo {
    /// First GPU's product name with `-` for spaces.
    #[serde(skip_serializing_if = "is_zero")]
    pub product: String,
    /// NVML brand, for example `NVIDIA` or `GeForce RTX`.
    #[serde(skip_serializing_if = "is_zero")]
    pub manufacturer: String,
    /// For example `hopper`.
    #[serde(skip_serializing_if = "is_zero")]
    pub architecture: String,
    /// Bytes of one GPU as a Kubernetes decimal quantity (`85520809984`, `80G`).
    #[serde(skip_serializing_if = "is_zero")]
    pub memory: String,
    /// One entry a GPU.
    #[serde(skip_serializing_if = "is_zero")]
    pub gpus: Vec<GpuInstance>,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuInstance {
    /// NVML UUID.
    #[serde(skip_serializing_if = "is_zero")]
    pub uuid: String,
    /// PCI id.
    #[serde(rename = "busID", skip_serializing_if = "is_zero")]
    pub bus_id: String,
    /// Board serial number.
    #[serde(rename = "sn", skip_serializing_if = "is_zero")]
    pub serial: String,
    /// Minor number of its device file; `-1` if not known.
    #[serde(rename = "minorID", skip_serializing_if = "is_zero")]
    pub minor_id: String,
    /// NVML board id.
    #[serde(rename = "boardID", skip_serializing_if = "is_zero")]
    pub board_id: u32,
}

/// Block devices and network mounts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskInfo {
    /// Mounted ones only.
    #[serde(skip_serializing_if = "is_zero")]
    pub block_devices: Vec<BlockDevice>,
    /// The device behind `/var/lib/kubelet`.
    #[serde(skip_serializing_if = "is_zero")]
    pub container_root_disk: String,
}

/// One mounted device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockDevice {
    /// Device path or network source.
    #[serde(skip_serializing_if = "is_zero")]
    pub name: String,
    /// For example `disk`, `part`; `nfs` for network mounts.
    #[serde(rename = "type", skip_serializing_if = "is_zero")]
    pub device_type: String,
    /// Bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub size: i64,
    /// Bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub used: i64,
    /// Whether it rotates.
    #[serde(skip_serializing_if = "is_zero")]
    pub rota: bool,
    /// Serial number.
    #[serde(skip_serializing_if = "is_zero")]
    pub serial: String,
    /// World-wide name.
    #[serde(skip_serializing_if = "is_zero")]
    pub wwn: String,
    /// Vendor.
    #[serde(skip_serializing_if = "is_zero")]
    pub vendor: String,
    /// Model.
    #[serde(skip_serializing_if = "is_zero")]
    pub model: String,
    /// Firmware revision.
    #[serde(skip_serializing_if = "is_zero")]
    pub rev: String,
    /// Its mount point.
    #[serde(skip_serializing_if = "is_zero")]
    pub mount_point: String,
    /// File system.
    #[serde(skip_serializing_if = "is_zero")]
    pub fs_type: String,
    /// Partition UUID.
    #[serde(rename = "partUUID", skip_serializing_if = "is_zero")]
    pub part_uuid: String,
    /// Devices that it is part of.
    #[serde(skip_serializing_if = "is_zero")]
    pub parents: Vec<String>,
    /// Devices that are part of it.
    #[serde(skip_serializing_if = "is_zero")]
    pub children: Vec<String>,
}

/// Network interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NicInfo {
    /// Those with a private address, sorted by its text.
    #[serde(rename = "privateIPInterfaces", skip_serializing_if = "is_zero")]
    pub private_ip_interfaces: Vec<PrivateIpInterface>,
}

/// One interface with a private address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrivateIpInterface {
    /// Name.
    #[serde(skip_serializing_if = "is_zero")]
    pub interface: String,
    /// Hardware address.
    #[serde(skip_serializing_if = "is_zero")]
    pub mac: String,
    /// Address.
    #[serde(skip_serializing_if = "is_zero")]
    pub ip: String,
}
