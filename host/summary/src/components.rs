//! What the states of a component concern where they do not say it: kind and label.

/// Component, kind and label. Components of the same kind and label share a trouble.
const SUBJECTS: &[(&str, &str, &str)] = &[
    ("block-io", "disk", "disks"),
    ("board-sensors", "board", "sensors of the board"),
    ("cgroup-oom", "memory", "memory limits of containers"),
    (
        "container-storage",
        "disk",
        "storage of the container runtime",
    ),
    ("containerd", "unit", "containerd"),
    ("cpu", "cpu", "CPU"),
    ("cpu-frequency", "cpu", "CPU clocks"),
    ("cpu-thermal", "cpu", "CPU heat"),
    ("device-loss", "bus", "devices on the bus"),
    ("disk", "disk", "disks"),
    ("disk-smart", "disk", "disks"),
    ("docker", "unit", "Docker"),
    ("ethernet", "nic", "network cards"),
    ("fuse", "mount", "FUSE filesystems"),
    ("inodes", "mount", "inodes of filesystems"),
    ("ipmi", "board", "management controller"),
    ("kernel-module", "kernel", "the kernel"),
    ("kernel-stalls", "kernel", "the kernel"),
    ("kubelet", "unit", "kubelet"),
    ("library", "libraries", "libraries"),
    ("machine-check", "cpu", "CPU and memory hardware"),
    ("memory", "memory", "memory"),
    ("memory-edac", "dimm", "memory modules"),
    ("memory-numa", "memory", "memory layout"),
    ("network-interface", "nic", "network links"),
    ("network-latency", "network", "network latency"),
    ("network-limits", "network", "network limits"),
    ("nfs", "mount", "NFS volumes"),
    ("os", "node", "the node"),
    ("pci", "bus", "PCI settings"),
    ("pcie-aer", "bus", "PCIe links"),
    ("pressure", "node", "the node"),
    ("storage-clients", "mount", "network storage"),
    ("systemd-units", "unit", "services"),
    ("tailscale", "unit", "Tailscale"),
    ("time-sync", "clock", "the clock"),
    ("plugin-specs", "plugins", "plugin specs"),
    ("accelerator-nvidia-error-xid", "gpus", "GPUs"),
    ("accelerator-nvidia-error-sxid", "nvswitch", "NVSwitches"),
    (
        "accelerator-nvidia-fabric-manager",
        "fabric",
        "NVLink fabric",
    ),
    ("accelerator-nvidia-gpu-counts", "gpus", "GPUs"),
    ("accelerator-nvidia-infiniband", "port", "InfiniBand ports"),
    ("accelerator-nvidia-nccl", "nccl", "NCCL"),
    ("accelerator-nvidia-nvlink", "fabric", "NVLinks"),
    (
        "accelerator-nvidia-peermem",
        "driver",
        "GPU peer memory module",
    ),
    ("accelerator-nvidia-topology", "gpus", "GPU topology"),
    ("accelerator-nvidia-inventory", "gpus", "GPU firmware"),
    ("accelerator-amd-ecc", "gpus", "AMD GPUs"),
    ("accelerator-amd-errors", "gpus", "AMD GPUs"),
    ("accelerator-amd-gpu-counts", "gpus", "AMD GPUs"),
    ("accelerator-amd-pcie-link", "gpus", "AMD GPUs"),
    ("accelerator-amd-power", "gpus", "AMD GPUs"),
    ("accelerator-amd-temperature", "gpus", "AMD GPUs"),
    ("accelerator-amd-utilization", "gpus", "AMD GPUs"),
    ("accelerator-amd-xgmi", "gpus", "AMD GPUs"),
];

/// Components of NVIDIA GPUs.
pub(super) const NVIDIA: &str = "accelerator-nvidia-";

/// Kind and label of a component. Other checks of NVIDIA GPUs concern the GPUs; a plugin concerns itself.
pub(super) fn subject(component: &str) -> (&str, &str) {
    let mut known = SUBJECTS.iter();
    match known.find(|(name, ..)| *name == component) {
        Some(&(_, kind, label)) => (kind, label),
        None if component.starts_with(NVIDIA) => ("gpus", "GPUs"),
        None => ("component", component),
    }
}
