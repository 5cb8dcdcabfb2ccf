//! The grants of a plugin, and how they are spelled.
//!
//! The words outlive contract versions. Written in a spec as
//!
//! ```yaml
//! grants:
//!   sysfs: ["/sys/class/hwmon/**"]
//!   statvfs: ["/**"]               # facts and free space only, no content
//!   exec: ["/usr/bin/lsblk"]       # or: exec: bash; `exec_grant.rs` has the other forms
//!   net: { unix: ["/run/x.sock"], loopback: [9100], tcp: ["10.0.0.1:2049"], grpc: { "/run/y.sock": ["/a.B/Read"] } }
//!   kmsg: true
//!   history: true
//!   state: true
//!   nvml: true
//!   config: true
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{ExecGrant, Interface};
use crate::node::{files::Roots, net::Servers};

/// The word for the half of `sysfs` that shows no content.
const STATVFS: &str = "statvfs";

/// Why grants cannot be parsed, with the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// Not a mapping.
    #[error("grants: expected a mapping such as {{ sysfs: [\"/sys/class/hwmon/**\"] }}")]
    NotAMapping,
    /// A word that is not an interface.
    #[error("grants: unknown interface `{word}`; known: {}", Interface::words().join(", "))]
    Unknown {
        /// The word.
        word: String,
    },
    /// A value that does not fit its interface.
    #[error("grants.{word}: {problem}")]
    BadValue {
        /// The interface's word.
        word: &'static str,
        /// The problem and the expected form.
        problem: String,
    },
}

/// Services that a plugin may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetGrant {
    /// Absolute paths of unix sockets for HTTP.
    pub unix: Vec<String>,
    /// Ports of 127.0.0.1.
    pub loopback: Vec<u16>,
    /// `host:port` endpoints for TCP connects.
    pub tcp: Vec<String>,
    /// Whether the plugin may also connect to ports of this machine on which an ordinary user listens.
    pub any_user: bool,
    /// Absolute paths of unix sockets for gRPC, each with the full names of the methods that may be called.
    pub grpc: BTreeMap<String, Vec<String>>,
}

impl NetGrant {
    /// Whether this method of the service behind this socket may be called.
    pub fn allows_grpc(&self, socket: &str, method: &str) -> bool {
        let methods = self.grpc.get(socket);
        methods.is_some_and(|methods| methods.iter().any(|granted| granted == method))
    }

    /// Returns whose services on this machine the plugin may connect to over TCP.
    pub fn servers(&self) -> Servers {
        match self.any_user {
            true => Servers::Anybody,
            false => Servers::System,
        }
    }
}

impl NetGrant {
    /// Whether the other one reaches nothing that this one does not.
    fn covers(&self, other: &Self) -> bool {
        let grpc = |(socket, methods): (&String, &Vec<String>)| {
            methods
                .iter()
                .all(|method| self.allows_grpc(socket, method))
        };
        other.unix.iter().all(|socket| self.unix.contains(socket))
            && other
                .loopback
                .iter()
                .all(|port| self.loopback.contains(port))
            && other.tcp.iter().all(|end| self.tcp.contains(end))
            && (self.any_user || !other.any_user)
            && other.grpc.iter().all(grpc)
    }
}

/// Everything that a plugin was granted.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// Read access to files.
    pub sysfs: Option<Roots>,
    /// Access to facts of files and the space of their filesystems, without their content.
    pub statvfs: Option<Roots>,
    /// Programs.
    pub exec: Option<ExecGrant>,
    /// Services.
    pub net: Option<NetGrant>,
    /// Looking back at the kernel log, and watching it.
    pub kmsg: bool,
    /// The component's own history.
    pub history: bool,
    /// The component's own key-value store.
    pub state: bool,
    /// NVIDIA GPUs.
    pub nvml: bool,
    /// The component's configuration.
    pub config: bool,
    /// Whether a plugin with these grants may import further interfaces, every call of which is refused: the component of a
    /// built-in checker also contains others.
    shares_component: bool,
}

impl Grants {
    /// Parses grants as a spec writes them.
    ///
    /// # Errors
    /// [`GrantError`], naming the key.
    pub fn parse(value: &Value) -> Result<Self, GrantError> {
        let Value::Object(entries) = value else {
            return Err(GrantError::NotAMapping);
        };
        let mut grants = Self::default();
        for (word, value) in entries {
            if word == STATVFS {
                grants.statvfs = Some(roots(STATVFS, value)?);
                continue;
            }
            let interface = Interface::from_word(word)
                .filter(|interface| interface.needs_grant())
                .ok_or_else(|| GrantError::Unknown { word: word.clone() })?;
            grants.set(interface, value)?;
        }
        Ok(grants)
    }

    /// The same for a checker that is part of gpud. Where its grant says so it reads the environments of other processes,
    /// which no grant of an operator reaches. Its files are read by threads of their own. Its component may import what only
    /// other checkers in it were granted.
    #[must_use]
    pub fn of_builtin(mut self) -> Self {
        self.sysfs = self.sysfs.map(Roots::with_environments);
        self.statvfs = self.statvfs.map(Roots::with_environments);
        self.shares_component = true;
        self
    }

    /// Grants by which these interfaces are linked and nothing can be reached through those that have a scope: enough to
    /// let a plugin describe itself.
    pub fn without_scope(interfaces: &[Interface]) -> Self {
        let mut grants = Self::default();
        for interface in interfaces {
            match interface {
                Interface::Types | Interface::Log => {}
                Interface::Sysfs => grants.sysfs = Roots::parse(&[]).ok(),
                Interface::Exec => grants.exec = Some(ExecGrant::nothing()),
                Interface::Net => grants.net = Some(NetGrant::default()),
                Interface::Kmsg => grants.kmsg = true,
                Interface::History => grants.history = true,
                Interface::State => grants.state = true,
                Interface::Nvml => grants.nvml = true,
                Interface::Config => grants.config = true,
            }
        }
        grants
    }

    fn set(&mut self, interface: Interface, value: &Value) -> Result<(), GrantError> {
        let word = interface.word();
        let bad = |problem: String| GrantError::BadValue { word, problem };
        let flag = || {
            value
                .as_bool()
                .ok_or_else(|| bad(format!("expected true or false, not {value}")))
        };
        match interface {
            Interface::Sysfs => self.sysfs = Some(roots(word, value)?),
            Interface::Exec => self.exec = Some(ExecGrant::parse(value).map_err(bad)?),
            Interface::Net => {
                self.net = Some(
                    serde_json::from_value(value.clone())
                        .map_err(|error| bad(error.to_string()))?,
                );
            }
            Interface::Kmsg => self.kmsg = flag()?,
            Interface::History => self.history = flag()?,
            Interface::State => self.state = flag()?,
            Interface::Nvml => self.nvml = flag()?,
            Interface::Config => self.config = flag()?,
            Interface::Log | Interface::Types => {}
        }
        Ok(())
    }

    /// The first word in which other grants surely or possibly go beyond these; `None` when they are no wider.
    pub fn exceeded_by(&self, other: &Self) -> Option<&'static str> {
        let roots = |mine: &Option<Roots>, theirs: &Option<Roots>| match (mine, theirs) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => mine.cover(theirs),
        };
        let exec = match (&self.exec, &other.exec) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => mine.covers(theirs),
        };
        let net = match (&self.net, &other.net) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => mine.covers(theirs),
        };
        let flag = |mine: bool, theirs: bool| mine || !theirs;
        [
            (Interface::Sysfs.word(), roots(&self.sysfs, &other.sysfs)),
            (STATVFS, roots(&self.statvfs, &other.statvfs)),
            (Interface::Exec.word(), exec),
            (Interface::Net.word(), net),
            (Interface::Kmsg.word(), flag(self.kmsg, other.kmsg)),
            (Interface::History.word(), flag(self.history, other.history)),
            (Interface::State.word(), flag(self.state, other.state)),
            (Interface::Nvml.word(), flag(self.nvml, other.nvml)),
            (Interface::Config.word(), flag(self.config, other.config)),
        ]
        .into_iter()
        .find(|(_, within)| !within)
        .map(|(word, _)| word)
    }

    /// Whether this interface may be linked at all.
    pub fn may_be_linked(&self, interface: Interface) -> bool {
        self.shares_component || self.allow(interface)
    }

    /// Whether this interface may be called. The interface itself checks scopes.
    pub fn allow(&self, interface: Interface) -> bool {
        match interface {
            Interface::Types | Interface::Log => true,
            Interface::Sysfs => self.sysfs.is_some() || self.statvfs.is_some(),
            Interface::Exec => self.exec.is_some(),
            Interface::Net => self.net.is_some(),
            Interface::Kmsg => self.kmsg,
            Interface::History => self.history,
            Interface::State => self.state,
            Interface::Nvml => self.nvml,
            Interface::Config => self.config,
        }
    }
}

fn roots(word: &'static str, value: &Value) -> Result<Roots, GrantError> {
    let bad = |problem: String| GrantError::BadValue { word, problem };
    let patterns: Vec<String> = serde_json::from_value(value.clone())
        .map_err(|_| bad("expected a list of path patterns".to_owned()))?;
    Roots::parse(&patterns).map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
mod tests;
