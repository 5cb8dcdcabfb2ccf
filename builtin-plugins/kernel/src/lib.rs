//! Checkers of what the kernel reports of processors, memory, buses and drivers, in one component.
//!
//! Each is called by itself, in an instance of its own, with the grants of its own `manifest.json`: of an interface that
//! only others need, every call is refused.

use gpud_builtin_cgroup_oom as cgroup_oom;
use gpud_builtin_device_loss as device_loss;
use gpud_builtin_edac as edac;
use gpud_builtin_ipmi as ipmi;
use gpud_builtin_kernel_module as kernel_module;
use gpud_builtin_kernel_stalls as kernel_stalls;
use gpud_builtin_machine_check as machine_check;
use gpud_builtin_pci as pci;
use gpud_builtin_pcie_aer as pcie_aer;
use gpud_builtin_thermal as thermal;

gpud_sdk::export!(
    [
        cgroup_oom::CgroupOom,
        device_loss::DeviceLoss,
        edac::MemoryEdac,
        ipmi::Ipmi,
        kernel_module::KernelModule,
        kernel_stalls::KernelStalls,
        machine_check::MachineCheck,
        pci::Pci,
        pcie_aer::PcieAer,
        thermal::CpuThermal,
    ] + kmsg_watcher
        + scanner
);
