//! Reasons of the checks of containerd, Docker, kubelet and Tailscale, and what they mean.

/// Patterns of whole reasons, or of a part of one between semicolons.
pub(super) const SERVICES: &[(&str, &str)] = &[
    (
        "containerd installed but CRI-O is the active container runtime, skipping containerd checks",
        "not judged: CRI-O runs the containers here",
    ),
    (
        "containerd installed but service is not active",
        "containerd is installed, but its service does not run",
    ),
    (
        "containerd installed but not running",
        "containerd is installed, but does not run",
    ),
    (
        "containerd installed but not running (its service is disabled)",
        "containerd is installed, and its service is disabled",
    ),
    (
        "containerd installed but socket file does not exist",
        "containerd is installed, but its socket is not there",
    ),
    (
        "containerd installed but socket file does not exist (detected {}/{} consecutive checks)",
        "containerd's socket is not there (check {0} of {1} before that counts)",
    ),
    (
        "containerd installed but socket file does not exist (failed continuously for {} checks)",
        "containerd is installed, but its socket has not been there for {0} checks",
    ),
    (
        "error listing pod sandbox status",
        "containerd does not list its pods",
    ),
    (
        "containerd installed and active but containerd CRI is not enabled",
        "containerd runs without its interface for Kubernetes (CRI)",
    ),
    (
        "nvidia GPUs found but nvidia-container-toolkit pod is not found",
        "there are GPUs, but no pod of the NVIDIA container toolkit",
    ),
    (
        "nvidia-container-toolkit pod is running but {} is missing NVIDIA runtime configuration",
        "the NVIDIA container toolkit runs, but {0} does not name its runtime",
    ),
    (
        "docker installed but docker is not running",
        "Docker is installed, but does not run",
    ),
    (
        "docker installed but docker is not running (its service is disabled)",
        "Docker is installed, and its service is disabled",
    ),
    (
        "docker installed but docker service is not active or failed to check",
        "Docker's service does not run, or cannot be asked",
    ),
    (
        "connection error to docker daemon",
        "Docker does not answer",
    ),
    (
        "not supported; needs upgrading docker daemon in the host",
        "this Docker is too old to be asked: upgrade it",
    ),
    (
        "kubelet installed but kubelet is not running",
        "kubelet is installed, but does not run",
    ),
    (
        "tailscaled installed but tailscaled service is not active or failed to check",
        "tailscaled's service does not run, or cannot be asked",
    ),
    (
        "tailscaled service is active but failed to check tailscale status",
        "tailscaled runs, but its status cannot be read",
    ),
    (
        "tailscaled service is active but tailscale is not running (state: {})",
        "tailscaled runs, but is not connected (state {0})",
    ),
    ("tailscaled service is active/running", "tailscaled runs"),
];
