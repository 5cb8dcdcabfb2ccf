//! The host's side of the contract: one file per WIT interface, each checking the grant, asking `node/` or `store/`,
//! and translating the answer.
//!
//! No decision about the machine is made here. The table [`Interface`] ties together an interface's WIT name, the
//! word by which an operator grants it, and how it is linked.

mod call;
mod config;
mod environment;
mod exec;
mod exec_grant;
mod grants;
mod history;
mod kmsg;
mod log;
mod net;
mod nvml;
mod state;
mod sysfs;
pub(crate) mod wire;

pub use call::{Bill, Budget, Call, Host, Identity, Values};
pub use exec_grant::{ExecGrant, GrantedProgram, Programs};
pub use grants::{GrantError, Grants, NetGrant};
pub(crate) use log::printable;

use wasmtime::component::{HasSelf, Linker};

use crate::node::error::SourceError;
use wire::types::{AccessError, SizeInfo, TimeoutInfo};

/// Package and version of the contract that this host speaks.
pub const CONTRACT: &str = "gpud:plugin@0.1.0";

/// The interfaces of the contract that a component can import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    /// Only types; nothing to call.
    Types,
    /// The daemon's log; needs no grant.
    Log,
    /// Configuration.
    Config,
    /// Programs.
    Exec,
    /// Own events, reboots, marks.
    History,
    /// The kernel log.
    Kmsg,
    /// Local services.
    Net,
    /// GPUs.
    Nvml,
    /// Key-value store.
    State,
    /// Files.
    Sysfs,
}

impl Interface {
    /// All interfaces.
    pub const ALL: [Self; 10] = [
        Self::Types,
        Self::Log,
        Self::Config,
        Self::Exec,
        Self::History,
        Self::Kmsg,
        Self::Net,
        Self::Nvml,
        Self::State,
        Self::Sysfs,
    ];

    /// Returns the word that grants it, which is also its WIT name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Types => "types",
            Self::Log => "log",
            Self::Config => "config",
            Self::Exec => "exec",
            Self::History => "history",
            Self::Kmsg => "kmsg",
            Self::Net => "net",
            Self::Nvml => "nvml",
            Self::State => "state",
            Self::Sysfs => "sysfs",
        }
    }

    /// Returns the interface of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|interface| interface.word() == word)
    }

    /// The interface of an import's name such as `gpud:plugin/sysfs@0.1.0`. Any 0.1.x matches, as it does for the
    /// linker.
    pub fn from_import(name: &str) -> Option<Self> {
        let (interface, version) = name.strip_prefix("gpud:plugin/")?.split_once('@')?;
        let patch = version.strip_prefix("0.1.")?;
        if patch.is_empty() || !patch.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Self::from_word(interface)
    }

    /// Whether it needs a grant; every plugin may have the others.
    pub fn needs_grant(self) -> bool {
        !matches!(self, Self::Types | Self::Log)
    }

    /// Returns all words that can be granted, sorted.
    pub fn words() -> Vec<&'static str> {
        Self::ALL
            .into_iter()
            .filter(|interface| interface.needs_grant())
            .map(Self::word)
            .collect()
    }

    /// Returns the line under `grants:` that grants it.
    pub fn grant_line(self) -> &'static str {
        match self {
            Self::Types | Self::Log => "",
            Self::Config => "config: true",
            Self::Exec => "exec: [\"/path/of/program\"]   # or: exec: bash",
            Self::History => "history: true",
            Self::Kmsg => "kmsg: true",
            Self::Net => "net: { unix: [\"/path/of/socket\"] }",
            Self::Nvml => "nvml: true",
            Self::State => "state: true",
            Self::Sysfs => "sysfs: [\"/sys/class/…/**\"]",
        }
    }

    /// Adds the interface to a linker.
    ///
    /// # Errors
    /// When it is there already.
    pub fn add_to(self, linker: &mut Linker<Host>) -> wasmtime::Result<()> {
        type View = HasSelf<Call>;
        match self {
            Self::Types => Ok(()),
            Self::Log => wire::log::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::Config => wire::config::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::Exec => wire::exec::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::History => wire::history::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::Kmsg => wire::kmsg::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::Net => wire::net::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::Nvml => wire::nvml::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::State => wire::state::add_to_linker::<_, View>(linker, |host| &mut host.call),
            Self::Sysfs => wire::sysfs::add_to_linker::<_, View>(linker, |host| &mut host.call),
        }
    }
}

impl wire::types::Host for Call {}

impl From<SourceError> for AccessError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Denied(what) => Self::Denied(what),
            SourceError::NotSupported(what) => Self::NotSupported(what),
            SourceError::NotFound(what) => Self::NotFound(what),
            SourceError::TooLarge { what, size, limit } => {
                Self::TooLarge(SizeInfo { what, size, limit })
            }
            SourceError::TimedOut {
                what,
                after,
                last_good,
            } => Self::TimedOut(TimeoutInfo {
                what,
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                last_good,
            }),
            SourceError::SourceLost(what) => Self::SourceLost(what),
            SourceError::NeedsReset(what) => Self::NeedsReset(what),
            SourceError::Invalid(text) => Self::InvalidArgument(text),
            SourceError::Other(text) => Self::Other(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_any_patch_version_are_known_and_others_are_not() {
        assert_eq!(
            Interface::from_import("gpud:plugin/sysfs@0.1.0"),
            Some(Interface::Sysfs)
        );
        assert_eq!(
            Interface::from_import("gpud:plugin/nvml@0.1.12"),
            Some(Interface::Nvml)
        );
        for name in [
            "gpud:plugin/sysfs@0.2.0",
            "gpud:plugin/sysfs",
            "gpud:plugin/disk@0.1.0",
            "wasi:io/poll@0.2.0",
            "gpud:plugin/sysfs@0.1.x",
        ] {
            assert_eq!(Interface::from_import(name), None, "{name}");
        }
    }
}
