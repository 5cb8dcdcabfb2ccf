//! `gpud machine-info`: the inventory as tables or as one line of JSON.
//!
//! Nothing is asked over the network: the cloud is the one that the firmware names; GPUd asks several services.

mod args;

use std::path::PathBuf;

use serde::Serialize;

use self::args::MachineInfoArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    metadata,
    sizes::iec,
    table::Table,
};
use crate::{
    machine_info::{self as inventory, Cloud},
    node::Node,
    wire::{BlockDevice, GpuInfo, GpuInstance, MachineInfo},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<MachineInfoArgs>("machine-info", "Print what this machine is made of");

/// The form of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineInfoOptions {
    /// Folder of the state file.
    pub data_dir: PathBuf,
    /// As one line of JSON.
    pub json: bool,
}

impl Action for MachineInfoOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        let shown = machine_info(&self, context.stdout.width()).await;
        shown.map(Exit::success)
    }
}

/// Collects the inventory. Returns what to print, tables in at most `width` columns.
///
/// # Errors
/// The machine cannot be read.
async fn machine_info(options: &MachineInfoOptions, width: usize) -> Result<String, Exit> {
    let node = Node::live().await.map_err(|error| {
        Exit::failure(error).in_json(options.json, "failed_to_get_machine_info")
    })?;
    let info = inventory::collect(&node).await;
    let cloud = inventory::cloud(&node.files).await;
    let id = metadata::machine_id(&options.data_dir).await;
    if options.json {
        json(&info, &cloud, id.as_deref())
    } else {
        Ok(plain(&info, &cloud, id.as_deref(), width))
    }
}

/// Where the machine stands. The keys are GPUd's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provider {
    /// Its name.
    pub provider: &'static str,
    /// Address seen from outside.
    pub public_ip: String,
    /// Address inside.
    pub private_ip: String,
    /// Its region.
    pub region: String,
    /// Kind of virtual machine.
    pub vm_environment: String,
    /// Its name for this machine.
    pub instance_id: String,
}

impl Provider {
    /// Returns the values that need no request to the network: those of the firmware, and the first private IPv4
    /// address.
    pub fn of(info: &MachineInfo, cloud: &Cloud) -> Self {
        let interfaces = info
            .nic_info
            .iter()
            .flat_map(|nic| &nic.private_ip_interfaces);
        let mut addresses = interfaces.map(|interface| &interface.ip);
        Self {
            provider: cloud.provider,
            public_ip: String::new(),
            private_ip: addresses
                .find(|ip| !ip.contains(':'))
                .cloned()
                .unwrap_or_default(),
            region: String::new(),
            vm_environment: String::new(),
            instance_id: cloud.instance_id.clone(),
        }
    }

    /// As a table.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.row(["Provider", self.provider]);
        table.row(["Public IP", &self.public_ip]);
        table.row(["Private IP", &self.private_ip]);
        table.row(["Region", &self.region]);
        table.row(["VM Environment", &self.vm_environment]);
        table.row(["Instance ID", &self.instance_id]);
        table.render()
    }
}

/// As one line of JSON. `machine_id` is the one that a hosted platform gave to a GPUd; this build never gets one.
///
/// # Errors
/// Never with these types; if it should, in the JSON form of an error.
pub fn json(info: &MachineInfo, cloud: &Cloud, machine_id: Option<&str>) -> Result<String, Exit> {
    #[derive(Serialize)]
    struct MachineDocument<'a> {
        machine_id: &'a str,
        machine_info: &'a MachineInfo,
        provider: Provider,
    }
    let document = MachineDocument {
        machine_id: machine_id.unwrap_or_default(),
        machine_info: info,
        provider: Provider::of(info, cloud),
    };
    serde_json::to_string(&document)
        .map(|line| line + "\n")
        .map_err(|error| Exit::json_failure("failed_to_write_json_output", error))
}

/// As tables of at most `width` columns: facts, disks, GPUs, each followed by an empty line. `gpud scan` prints them too.
pub fn tables(info: &MachineInfo, width: usize) -> String {
    let mut text = facts(info).render_within(width) + "\n";
    let disks = info.disk_info.as_ref().map(|disks| &disks.block_devices);
    if let Some(devices) = disks.filter(|devices| !devices.is_empty()) {
        text.push_str(&block_devices(devices).render_within(width));
        text.push('\n');
    }
    let gpus = info.gpu_info.as_ref().map(|gpus| &gpus.gpus);
    if let Some(gpus) = gpus.filter(|gpus| !gpus.is_empty()) {
        text.push_str(&gpu_list(gpus).render_within(width));
        text.push('\n');
    }
    text
}

/// Everything that `gpud machine-info` prints.
pub fn plain(info: &MachineInfo, cloud: &Cloud, machine_id: Option<&str>, width: usize) -> String {
    let id = match machine_id {
        Some(id) => format!("GPUd machine ID: {id:?}\n\n"),
        None => String::new(),
    };
    id + &tables(info, width) + &Provider::of(info, cloud).table()
}

fn facts(info: &MachineInfo) -> Table {
    let mut table = Table::new();
    table.row(["GPUd Version", &info.gpud_version]);
    table.row(["Container Runtime Version", &info.container_runtime_version]);
    table.row(["OS Image", &info.os_image]);
    table.row(["Kernel Version", &info.kernel_version]);
    let cpu = info.cpu_info.clone().unwrap_or_default();
    table.row(["CPU Type", &cpu.cpu_type]);
    table.row(["CPU Manufacturer", &cpu.manufacturer]);
    table.row(["CPU Architecture", &cpu.architecture]);
    table.row(["CPU Logical Cores", &cpu.logical_cores.to_string()]);
    let memory = info
        .memory_info
        .as_ref()
        .map(|memory| iec(memory.total_bytes));
    table.row(["Memory Total", &memory.unwrap_or_default()]);
    table.row(["CUDA Version", &info.cuda_version]);
    gpu_facts(info, &mut table);
    let interfaces = info
        .nic_info
        .iter()
        .flat_map(|nic| &nic.private_ip_interfaces);
    for (number, interface) in interfaces.enumerate() {
        table.row([
            format!("Private IP Interface {}", number + 1),
            format!(
                "{} ({}, {})",
                interface.interface, interface.mac, interface.ip
            ),
        ]);
    }
    let disks = info.disk_info.clone().unwrap_or_default();
    table.row(["Container Root Disk", &disks.container_root_disk]);
    table.wide()
}

fn gpu_facts(info: &MachineInfo, table: &mut Table) {
    let none = GpuInfo::default();
    let gpu = info.gpu_info.as_ref().unwrap_or(&none);
    table.row(["GPU Driver Version", &info.gpu_driver_version]);
    table.row(["GPU Product", &gpu.product]);
    table.row(["GPU Manufacturer", &gpu.manufacturer]);
    table.row(["GPU Architecture", &gpu.architecture]);
    table.row(["GPU Memory", &gpu.memory]);
    if !info.cluster_uuid.is_empty() {
        table.row(["GPU Fabric Cluster UUID", &info.cluster_uuid]);
        table.row(["GPU Fabric Clique ID", &info.clique_id.to_string()]);
    }
    if !info.chassis_serial.is_empty() {
        table.row(["Chassis Serial", &info.chassis_serial]);
    }
}

fn block_devices(devices: &[BlockDevice]) -> Table {
    let mut table = Table::with_header([
        "Name",
        "Type",
        "FSType",
        "Used",
        "Size",
        "Mount Point",
        "Parents",
        "Children",
    ]);
    let size = |bytes: i64| iec(u64::try_from(bytes).unwrap_or(0));
    for device in devices {
        table.row([
            &device.name,
            &device.device_type,
            &device.fs_type,
            &size(device.used),
            &size(device.size),
            &device.mount_point,
            &device.parents.join("\n"),
            &device.children.join("\n"),
        ]);
    }
    table
}

fn gpu_list(gpus: &[GpuInstance]) -> Table {
    let mut table = Table::with_header(["GPU UUID", "GPU Bus ID", "SN", "Minor ID", "Board ID"]);
    for gpu in gpus {
        table.row([
            &gpu.uuid,
            &gpu.bus_id,
            &gpu.serial,
            &gpu.minor_id,
            &gpu.board_id.to_string(),
        ]);
    }
    table.wide()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{CpuInfo, DiskInfo, MemoryInfo, NicInfo, PrivateIpInterface};

    fn unknown() -> Cloud {
        Cloud {
            provider: "unknown",
            instance_id: String::new(),
        }
    }

    fn info() -> MachineInfo {
        MachineInfo {
            gpud_version: "0.1.0".into(),
            os_image: "Debian GNU/Linux 12 (bookworm)".into(),
            cpu_info: Some(CpuInfo {
                cpu_type: "Intel(R) Xeon(R) <Platinum>".into(),
                manufacturer: "GenuineIntel".into(),
                architecture: "amd64".into(),
                logical_cores: 8,
            }),
            memory_info: Some(MemoryInfo {
                total_bytes: 68_719_476_736,
            }),
            gpu_info: Some(GpuInfo::default()),
            disk_info: Some(DiskInfo {
                block_devices: vec![BlockDevice {
                    name: "/dev/vda1".into(),
                    device_type: "part".into(),
                    size: 1 << 40,
                    used: 1 << 30,
                    mount_point: "/".into(),
                    fs_type: "ext4".into(),
                    parents: vec!["/dev/vda".into()],
                    ..BlockDevice::default()
                }],
                container_root_disk: "/dev/vda1".into(),
            }),
            nic_info: Some(NicInfo {
                private_ip_interfaces: vec![PrivateIpInterface {
                    interface: "eth0".into(),
                    mac: "aa:bb:cc:dd:ee:ff".into(),
                    ip: "10.2.3.4".into(),
                }],
            }),
            ..MachineInfo::default()
        }
    }

    #[test]
    fn as_tables() {
        insta::assert_snapshot!(plain(&info(), &unknown(), None, 160), @r"
        +---------------------------+------------------------------------+
        |       GPUd Version        |               0.1.0                |
        | Container Runtime Version |                                    |
        |         OS Image          |   Debian GNU/Linux 12 (bookworm)   |
        |      Kernel Version       |                                    |
        |         CPU Type          |    Intel(R) Xeon(R) <Platinum>     |
        |     CPU Manufacturer      |            GenuineIntel            |
        |     CPU Architecture      |               amd64                |
        |     CPU Logical Cores     |                 8                  |
        |       Memory Total        |               64 GiB               |
        |       CUDA Version        |                                    |
        |    GPU Driver Version     |                                    |
        |        GPU Product        |                                    |
        |     GPU Manufacturer      |                                    |
        |     GPU Architecture      |                                    |
        |        GPU Memory         |                                    |
        |  Private IP Interface 1   | eth0 (aa:bb:cc:dd:ee:ff, 10.2.3.4) |
        |    Container Root Disk    |             /dev/vda1              |
        +---------------------------+------------------------------------+

        +-----------+------+--------+---------+---------+-------------+----------+----------+
        |   NAME    | TYPE | FSTYPE |  USED   |  SIZE   | MOUNT POINT | PARENTS  | CHILDREN |
        +-----------+------+--------+---------+---------+-------------+----------+----------+
        | /dev/vda1 | part |  ext4  | 1.0 GiB | 1.0 TiB |      /      | /dev/vda |          |
        +-----------+------+--------+---------+---------+-------------+----------+----------+

        +----------------+----------+
        |    Provider    | unknown  |
        |   Public IP    |          |
        |   Private IP   | 10.2.3.4 |
        |     Region     |          |
        | VM Environment |          |
        |  Instance ID   |          |
        +----------------+----------+
        ");
    }

    #[test]
    fn gpus_have_a_table_of_their_own() {
        let gpus = GpuInfo {
            product: "NVIDIA-H100".into(),
            gpus: vec![GpuInstance {
                uuid: "GPU-1".into(),
                bus_id: "0000:04:00.0".into(),
                serial: "165".into(),
                minor_id: "0".into(),
                board_id: 1024,
            }],
            ..GpuInfo::default()
        };
        let info = MachineInfo {
            gpu_info: Some(gpus),
            cluster_uuid: "c".into(),
            ..MachineInfo::default()
        };
        insta::assert_snapshot!(tables(&info, 160), @r"
        +---------------------------+-------------+
        |       GPUd Version        |             |
        | Container Runtime Version |             |
        |         OS Image          |             |
        |      Kernel Version       |             |
        |         CPU Type          |             |
        |     CPU Manufacturer      |             |
        |     CPU Architecture      |             |
        |     CPU Logical Cores     |      0      |
        |       Memory Total        |             |
        |       CUDA Version        |             |
        |    GPU Driver Version     |             |
        |        GPU Product        | NVIDIA-H100 |
        |     GPU Manufacturer      |             |
        |     GPU Architecture      |             |
        |        GPU Memory         |             |
        |  GPU Fabric Cluster UUID  |      c      |
        |   GPU Fabric Clique ID    |      0      |
        |    Container Root Disk    |             |
        +---------------------------+-------------+

        +----------+--------------+-----+----------+----------+
        | GPU UUID |  GPU BUS ID  | SN  | MINOR ID | BOARD ID |
        +----------+--------------+-----+----------+----------+
        |  GPU-1   | 0000:04:00.0 | 165 |    0     |   1024   |
        +----------+--------------+-----+----------+----------+
        ");
    }

    #[test]
    fn as_json() {
        let line = json(&info(), &unknown(), None).unwrap();
        assert!(
            line.starts_with(r#"{"machine_id":"","machine_info":{"gpudVersion":"0.1.0","#),
            "{line}"
        );
        assert!(line.contains("Xeon(R) <Platinum>"), "{line}");
        assert!(
            line.ends_with(
                "\"provider\":{\"provider\":\"unknown\",\"public_ip\":\"\",\"private_ip\":\"10.2.3.4\",\
                 \"region\":\"\",\"vm_environment\":\"\",\"instance_id\":\"\"}}\n"
            ),
            "{line}"
        );
    }

    #[test]
    fn a_cloud_that_the_firmware_names() {
        let cloud = Cloud {
            provider: "aws",
            instance_id: "i-0abcd1234ef567890".into(),
        };
        let text = plain(&info(), &cloud, None, 160);
        for line in [
            "|    Provider    |         aws         |",
            "|  Instance ID   | i-0abcd1234ef567890 |",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let line = json(&info(), &cloud, None).unwrap();
        assert!(line.contains(r#""provider":{"provider":"aws","#), "{line}");
        assert!(
            line.contains(r#""instance_id":"i-0abcd1234ef567890""#),
            "{line}"
        );
    }
}
