//! Whether the machine is virtual, as `systemd-detect-virt` finds out.

use std::time::Duration;

use tracing::warn;

use crate::{
    error::SourceError,
    process::{self, Command, Program},
};

/// Limit for each question.
const DEADLINE: Duration = Duration::from_secs(10);

/// The virtualization that runs this system. All empty when `systemd-detect-virt` is missing; `none` is its own answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Virtualization {
    /// Hypervisor (`--vm`): `kvm`, `none`.
    pub vm: String,
    /// Container manager (`--container`): `docker`, `none`.
    pub container: String,
    /// The innermost of both (no option).
    pub kind: String,
}

impl Virtualization {
    /// Asks `systemd-detect-virt`, at most 10 s for each of three questions. One that fails is logged and stays empty.
    pub async fn detect() -> Self {
        let (vm, container, kind) = tokio::join!(ask(&["--vm"]), ask(&["--container"]), ask(&[]));
        Self {
            vm,
            container,
            kind,
        }
    }

    /// Whether the hypervisor is KVM.
    pub fn is_kvm(&self) -> bool {
        self.vm == "kvm"
    }
}

async fn ask(arguments: &[&str]) -> String {
    let words = ["systemd-detect-virt"].iter().chain(arguments);
    let argv = words.map(std::convert::Into::into).collect();
    let mut command = Command::new(Program::Argv(argv), DEADLINE);
    command.max_output_bytes = 256;
    match process::run(command).await {
        // It exits with 1 when the answer is `none`.
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(SourceError::NotFound(_)) => String::new(),
        Err(error) => {
            warn!(%error, "virtualization is not known");
            String::new()
        }
    }
}
