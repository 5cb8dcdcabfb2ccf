//! Most checkers of NVIDIA GPUs, in one component: they share what their crates have in common, and the processor has
//! it at hand when one runs after the other. Each is called by itself, in an instance of its own, with the grants of its
//! own `manifest.json`; an interface that only others of them need is linked, and reaches nothing.

use gpud_builtin_nvidia_clock_speed as clock_speed;
use gpud_builtin_nvidia_ecc as ecc;
use gpud_builtin_nvidia_gpm as gpm;
use gpud_builtin_nvidia_gpu_counts as gpu_counts;
use gpud_builtin_nvidia_gsp_firmware_mode as gsp_firmware_mode;
use gpud_builtin_nvidia_hw_slowdown as hw_slowdown;
use gpud_builtin_nvidia_inventory as inventory;
use gpud_builtin_nvidia_memory as memory;
use gpud_builtin_nvidia_pcie_link as pcie_link;
use gpud_builtin_nvidia_persistence_mode as persistence_mode;
use gpud_builtin_nvidia_power as power;
use gpud_builtin_nvidia_processes as processes;
use gpud_builtin_nvidia_remapped_rows as remapped_rows;
use gpud_builtin_nvidia_temperature as temperature;
use gpud_builtin_nvidia_topology as topology;
use gpud_builtin_nvidia_utilization as utilization;

gpud_sdk::export! {
    clock_speed::COMPONENT => clock_speed::ClockSpeed: clock_speed::descriptor(),
    ecc::COMPONENT => ecc::Ecc: ecc::descriptor(),
    gpm::COMPONENT => gpm::Gpm: gpm::descriptor(),
    gpu_counts::COMPONENT => gpu_counts::GpuCounts: gpu_counts::descriptor(),
    gsp_firmware_mode::COMPONENT => gsp_firmware_mode::GspFirmwareMode: gsp_firmware_mode::descriptor(),
    hw_slowdown::COMPONENT => hw_slowdown::HwSlowdown: hw_slowdown::descriptor(),
    inventory::COMPONENT => inventory::Inventory: inventory::descriptor(),
    memory::COMPONENT => memory::Memory: memory::descriptor(),
    pcie_link::COMPONENT => pcie_link::PcieLink: pcie_link::descriptor(),
    persistence_mode::COMPONENT => persistence_mode::PersistenceMode: persistence_mode::descriptor(),
    power::COMPONENT => power::Power: power::descriptor(),
    processes::COMPONENT => processes::Processes: processes::descriptor(),
    remapped_rows::COMPONENT => remapped_rows::RemappedRows: remapped_rows::descriptor(),
    temperature::COMPONENT => temperature::Temperature: temperature::descriptor(),
    topology::COMPONENT => topology::Topology: topology::descriptor(),
    utilization::COMPONENT => utilization::Utilization: utilization::descriptor(),
}
