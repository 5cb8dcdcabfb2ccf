//! Single lines as drivers of the field print them, each from a host of its own in one saved log: what is made of each, and
//! that lookalikes are silent.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::kernel_log_cases::scan;

/// Component, name and type of an event, ascending.
type Found = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const LINES: &[(&[&str], &[Found])] = &[
    // block devices, filesystems, arrays
    (&["nvme nvme0: I/O tag 12 (100c) opcode 0x2 (I/O Cmd) QID 5 timeout, aborting req_op:READ(0) size:4096"], &[("block-io", "nvme_command_timeout", "Warning")]),
    (&["critical medium error, dev nvme0n1, sector 1 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2"], &[("block-io", "disk_medium_error", "Critical")]),
    (&["BTRFS critical (device sda3): corrupt leaf: root=2 block=1103101952 slot=12, unexpected item end"], &[("block-io", "filesystem_error", "Critical")]),
    (&["BTRFS: error (device dm-3 state A) in btrfs_finish_ordered_io:3314: errno=-5 IO failure"], &[("block-io", "filesystem_shut_down", "Fatal")]),
    (&["BTRFS info (device sda1: state M): turning off barriers"], &[]),
    (&["md/raid10:md1: Disk failure on sdc1, this is the last device."], &[("block-io", "raid_array_failed", "Fatal")]),
    (&["md/raid0:md3: Disk failure on sdd1 detected, failing array."], &[("block-io", "raid_array_failed", "Fatal"), ("disk", "raid_array_failure", "Warning")]),
    (&["XFS (dm-7): log mount finish failed"], &[("block-io", "filesystem_error", "Critical")]),
    (&["XFS (nvme0n1): Failing async write on buffer block 0x1. Retrying async write."], &[("block-io", "filesystem_error", "Critical")]),
    (&["JBD2: Detected IO errors while flushing file data on dm-0-8"], &[("block-io", "filesystem_error", "Critical")]),
    (&["EXT4-fs (sda1): failed to convert unwritten extents to written extents -- potential data loss!  (inode 1, error -5)"], &[("block-io", "filesystem_error", "Critical")]),
    (&["EXT4-fs (dm-0): Delayed block allocation failed for inode 1 at logical offset 2 with max blocks 3 with error 28"], &[]),
    (&["WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended."], &[("block-io", "filesystem_shut_down", "Fatal")]),
    (&["Buffer I/O error on device sdb1, logical block 1234"], &[("disk", "buffer_io_error", "Warning")]),
    (&["XFS (sda1): Unmounting Filesystem"], &[]),
    // devices
    (&["nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible"], &[("device-loss", "pci_device_inaccessible", "Critical")]),
    (&["vfio-pci 0000:01:00.0: not ready 65535ms after bus reset; giving up"], &[("device-loss", "pci_device_inaccessible", "Critical")]),
    (&["pcieport 0000:00:01.1: pciehp: Slot(3): Power fault"], &[("device-loss", "pcie_slot_power_fault", "Critical")]),
    (&["pcieport 0000:00:01.1: pciehp: Slot(3): Card not present"], &[("device-loss", "pcie_slot_link_down", "Warning")]),
    (&["pcieport 0000:00:01.1: broken device, retraining non-functional downstream link at 2.5GT/s"], &[]),
    (&["nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)"], &[("pcie-aer", "pcie_aer_fatal", "Fatal")]),
    (&["pcieport 0000:00:01.1: DPC: containment event, status:0x1f01: unmasked uncorrectable error detected"], &[("pcie-aer", "pcie_dpc_containment", "Critical")]),
    (&["DMAR: [DMA Write NO_PASID] Request device [0000:3b:00.0] fault addr 0xfe000 [fault reason 0x05] PTE Write access is not set"], &[("device-loss", "iommu_fault", "Warning")]),
    (&["DMAR: DRHD: handling fault status reg 2"], &[]),
    // network cards
    (&["bnxt_en 0000:c1:00.0 (unnamed net_device) (uninitialized): Error (timeout: 500015) msg {0x0 0x0} len:0"], &[("ethernet", "nic_command_timeout", "Warning")]),
    (&["bnxt_en 0000:c1:00.0 ens1f0np0 (unregistering): TX timeout detected, starting reset task!"], &[("device-loss", "netdev_tx_timeout", "Warning")]),
    (&["i40e 0000:3d:00.0 eno3 (unregistered): NIC Link is Down"], &[]),
    (&["bnxt_en 0000:c1:00.0 ens1f0np0: Firmware reset aborted, rc = -110"], &[("ethernet", "nic_recovery_failed", "Fatal")]),
    (&["bnxt_en 0000:c1:00.0 ens1f0np0: NIC Link is Down", "bnxt_en 0000:c1:00.0 ens1f0np0: NIC Link is Up, 400000 Mbps (PAM4 112Gbps) full duplex, Flow control: none"], &[("ethernet", "nic_link_down", "Warning"), ("ethernet", "nic_link_up", "Info")]),
    (&["ice 0000:84:00.0: Rebuild failed, unload and reload driver"], &[("ethernet", "nic_recovery_failed", "Fatal")]),
    (&["ice 0000:84:00.0 ens5f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC"], &[]),
    (&["infiniband rocep175s0f0: HMC Error"], &[("ethernet", "nic_hardware_error", "Critical")]),
    (&["ena 0000:00:05.0 ens5: Keep alive watchdog timeout.", "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.8.0"], &[("ethernet", "nic_keep_alive_lost", "Warning"), ("ethernet", "nic_recovered", "Info")]),
    (&["infiniband efa_0: Failed to process command CREATE_QP (opcode 1) comp_status 4 err -12"], &[("ethernet", "nic_command_failed", "Warning")]),
    (&["i40e 0000:3d:00.0 eno3: tx_timeout recovery unsuccessful, device is in unrecoverable state."], &[("ethernet", "nic_recovery_failed", "Fatal")]),
    (&["tg3 0000:01:00.0 eno1: transmit timed out, resetting"], &[("device-loss", "netdev_tx_timeout", "Warning")]),
    (&["ixgbe 0000:03:00.0 eno1: Adapter removed"], &[("ethernet", "nic_lost", "Fatal")]),
    (&["mlx5_core 0000:5e:00.0: temp_warn:171:(pid 0): High temperature on sensors with bit set 0 1"], &[("device-loss", "mlx5_high_temperature", "Warning")]),
    (&["mlx5_core 0000:61:00.0: mlx5_health_try_recover:335:(pid 22): health recovery flow aborted, PCI reads still not working"], &[("device-loss", "mlx5_recovery_failed", "Fatal")]),
    (&["mlx5_core 0000:61:00.0: Port module event[error]: module 0, Cable error, No EEPROM/retry timeout"], &[("accelerator-nvidia-infiniband", "port_module_error", "Warning")]),
    (&["mlx5_core 0000:61:00.0: mlx5_pcie_event:304:(pid 1): PCIe slot power capability was not advertised."], &[]),
    (&["bond0: now running without any active interface!"], &[("ethernet", "bond_down", "Critical")]),
    (&["neighbour: arp_cache: neighbor table overflow!"], &[("network-limits", "neighbour_table_overflow", "Warning")]),
    (&["TCP: out of memory -- consider tuning tcp_mem"], &[("network-limits", "tcp_out_of_memory", "Warning")]),
    // storage clients
    (&["Lustre: scratch-OST0001-osc-ffff9a: Connection to scratch-OST0001 (at 10.0.0.1@o2ib) was lost; in progress operations using this service will wait for recovery to complete", "Lustre: scratch-OST0001-osc-ffff9a: Connection restored to scratch-OST0001 (at 10.0.0.1@o2ib)"], &[("storage-clients", "storage_connection_lost", "Warning"), ("storage-clients", "storage_connection_restored", "Info")]),
    (&["LustreError: 26013:0:(osc_request.c:1040:osc_init_grant()) LBUG"], &[("storage-clients", "storage_client_bug", "Fatal")]),
    (&["Lustre: 2843:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: [sent 1/real 1] req@x x1/t0(0) o400->MGC10.0.0.1@o2ib"], &[]),
    (&["libceph: osd12 down", "libceph: osd12 up"], &[("storage-clients", "storage_server_down", "Info"), ("storage-clients", "storage_server_up", "Info")]),
    (&["libceph: osd12 (1)10.0.0.5:6801 socket closed (con state OPEN)"], &[]),
    (&["ceph: [ab12-cd 4567]: mds0 hung", "ceph: [ab12-cd 4567]: mds0 came back"], &[("storage-clients", "storage_connection_lost", "Warning"), ("storage-clients", "storage_connection_restored", "Info")]),
    (&["mmfs: [X] File System fs1 unmounted by the system with return code 212 reason code 0"], &[("storage-clients", "storage_unmounted", "Critical")]),
    (&["beegfs: kworker/u8:1(331): NodeConn (acquire stream): Connect failed on all available routes: beegfs-storage st1 [ID: 1]", "beegfs: rm(20155): NodeConn (acquire stream): Connected: beegfs-storage@10.0.0.1:8003 (protocol: TCP)"], &[("storage-clients", "storage_connection_lost", "Warning"), ("storage-clients", "storage_connection_restored", "Info")]),
    (&["wekafsio: inode 1 Truncated dirty-pages: 5"], &[("storage-clients", "storage_write_lost", "Critical")]),
    (&[r"CIFS: VFS: \\srv has not responded in 180 seconds. Reconnecting..."], &[("storage-clients", "storage_connection_lost", "Warning")]),
    // GPUs
    (&["\tNVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."], &[("accelerator-nvidia-error-xid", "error_xid", "Fatal")]),
    (&[r"\x09NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."], &[("accelerator-nvidia-error-xid", "error_xid", "Fatal")]),
    (&["amdgpu 0000:c1:00.0: {12}socket: 3, die: 0, 1 new uncorrectable hardware errors detected in umc block"], &[("accelerator-amd-errors", "amdgpu_uncorrectable_error", "Critical")]),
    (&["amdgpu 0000:c1:00.0: amdgpu: socket: 0, die: 0, 1 new correctable hardware errors detected in umc block"], &[]),
    (&["amdgpu 0000:c1:00.0: amdgpu: XGMI PCS DataLossErr detected"], &[("accelerator-amd-errors", "amdgpu_xgmi_error", "Critical")]),
    (&["NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out"], &[("device-loss", "nvidia_gsp_timeout", "Critical")]),
    (&["NVRM: GPU0 _kgspLogRpcTimeout: ********************************* GSP Timeout **********************************"], &[("device-loss", "nvidia_gsp_timeout", "Critical")]),
    (&["NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover."], &[("device-loss", "nvidia_uvm_fatal", "Fatal")]),
    (&["NVRM: GPU1 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from rpc @ x.c:1"], &[("device-loss", "nvidia_reset_required", "Critical")]),
    (&["NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW boot complete: 0x55 VBIOS version 96.00"], &[("device-loss", "nvidia_boot_failed", "Fatal")]),
    (&["NVRM: Xid (PCI:0000:3b:00 GPU-I:02): 31, pid=1, name=x, Ch 00000008"], &[("accelerator-nvidia-error-xid", "error_xid", "Warning")]),
    (&["nvidia-nvswitch1: SXid (0000:c3:00.0): 12028, Fatal, Link 30 egress non-posted PRIV error"], &[("accelerator-nvidia-error-sxid", "error_sxid", "Fatal")]),
    (&["nvidia-nvswitch1: SXid: 12028, Fatal, Link 30 egress non-posted PRIV error"], &[("accelerator-nvidia-error-sxid", "error_sxid", "Fatal")]),
    (&["nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): Severity 1 Engine instance 32 Sub-engine instance 00"], &[]),
    (&["NVRM: iovaspaceDestruct_IMPL: 1 left-over mappings in IOVAS 0x3b00"], &[]),
    // the machine
    (&["EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1234 offset:0x40 grain:32 -  err_code:0x0101:0x0090 socket:1 imc:0 rank:0 bg:0 ba:0 row:0x1 col:0x1)"], &[("memory-edac", "memory_uncorrected_error", "Critical")]),
    (&["Memory failure: 0x12345: recovery action for reserved kernel page: Ignored"], &[("machine-check", "memory_failure_unhandled", "Warning")]),
    (&["mce: [Hardware Error]: Machine check: Processor context corrupt"], &[("machine-check", "machine_check_panic", "Fatal")]),
    (&["INFO: task nvidia-smi:82351 blocked for more than 491 seconds."], &[("cpu", "cpu_blocked_too_long", "Warning")]),
    (&["Oops: Oops: 0000 [#1] PREEMPT SMP NOPTI"], &[("kernel-stalls", "kernel_oops", "Critical")]),
    (&["VFS: file-max limit 1048576 reached"], &[("os", "vfs_file_max_limit_reached", "Warning")]),
    (&["python: page allocation failure: order:4, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)"], &[]),
    (&["nfs: server files-a not responding, still trying", "nfs: server files-a OK"], &[("nfs", "nfs_server_not_responding", "Warning"), ("nfs", "nfs_server_ok", "Warning")]),
];

#[test]
fn lines_of_the_field() {
    let mut text = String::new();
    let mut second = 0;
    for (host, (lines, _)) in LINES.iter().enumerate() {
        for line in *lines {
            let (minutes, seconds) = (second / 60, second % 60);
            second += 1;
            writeln!(
                text,
                "2026-11-20T08:{minutes:02}:{seconds:02}+00:00 h{host:03} kernel: {line}"
            )
            .unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    std::fs::write(&log, text).unwrap();
    let document = scan(&log, &[]);
    assert_eq!(
        document["unparsable"], 0,
        "{}",
        document["first_unparsable"]
    );
    assert_eq!(document["skipped"], 0);
    let mut events: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for component in document["components"].as_array().unwrap() {
        for event in component["events"].as_array().unwrap() {
            let found = (
                text(&component["component"]),
                text(&event["name"]),
                text(&event["type"]),
            );
            let of_host = events.entry(text(&component["host"])).or_default();
            of_host.push(found);
        }
    }
    let mut wrong = String::new();
    for (host, (lines, expected)) in LINES.iter().enumerate() {
        let mut found = events.remove(&format!("h{host:03}")).unwrap_or_default();
        found.sort();
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|(component, name, kind)| (component.as_str(), name.as_str(), kind.as_str()))
            .collect();
        if found != *expected {
            writeln!(wrong, "{lines:#?}: {found:?} instead of {expected:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
