//! Checkers of NVIDIA GPUs and of what belongs to them, in one component.
//!
//! Each is called by itself, in an instance of its own, with the grants of its own `manifest.json`: of an interface that
//! only others need, every call is refused.

use gpud_builtin_library as library;
use gpud_builtin_nccl as nccl;
use gpud_builtin_nvidia_clock_speed as clock_speed;
use gpud_builtin_nvidia_ecc as ecc;
use gpud_builtin_nvidia_fabric_manager as fabric_manager;
use gpud_builtin_nvidia_gpm as gpm;
use gpud_builtin_nvidia_gpu_counts as gpu_counts;
use gpud_builtin_nvidia_gsp_firmware_mode as gsp_firmware_mode;
use gpud_builtin_nvidia_hw_slowdown as hw_slowdown;
use gpud_builtin_nvidia_inventory as inventory;
use gpud_builtin_nvidia_memory as memory;
use gpud_builtin_nvidia_nvlink as nvlink;
use gpud_builtin_nvidia_pcie_link as pcie_link;
use gpud_builtin_nvidia_persistence_mode as persistence_mode;
use gpud_builtin_nvidia_power as power;
use gpud_builtin_nvidia_processes as processes;
use gpud_builtin_nvidia_recovery_action as recovery_action;
use gpud_builtin_nvidia_remapped_rows as remapped_rows;
use gpud_builtin_nvidia_temperature as temperature;
use gpud_builtin_nvidia_topology as topology;
use gpud_builtin_nvidia_utilization as utilization;
use gpud_builtin_peermem as peermem;
use gpud_builtin_sxid as sxid;
use gpud_builtin_xid as xid;

gpud_sdk::export!(
    [
        library::Libraries,
        nccl::Nccl,
        clock_speed::ClockSpeed,
        ecc::Ecc,
        fabric_manager::FabricManager,
        gpm::Gpm,
        gpu_counts::GpuCounts,
        gsp_firmware_mode::GspFirmwareMode,
        hw_slowdown::HwSlowdown,
        inventory::Inventory,
        memory::Memory,
        nvlink::Nvlink,
        pcie_link::PcieLink,
        persistence_mode::PersistenceMode,
        power::Power,
        processes::Processes,
        recovery_action::RecoveryAction,
        remapped_rows::RemappedRows,
        temperature::Temperature,
        topology::Topology,
        utilization::Utilization,
        peermem::Peermem,
        sxid::SxidErrors,
        xid::XidErrors,
    ] + kmsg_watcher
        + scanner
);
