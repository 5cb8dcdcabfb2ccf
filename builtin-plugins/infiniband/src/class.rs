//! The devices of `/sys/class/infiniband` and their ports (kernel document `Documentation/ABI/stable/sysfs-class-infiniband`):
//!
//! ```text
//! mlx5_0/fw_ver             28.41.1000
//! mlx5_0/board_id           MT_0000000838
//! mlx5_0/hca_type           MT4129
//! mlx5_0/ports/1/link_layer InfiniBand, or Ethernet for RoCE
//! mlx5_0/ports/1/state      4: ACTIVE
//! mlx5_0/ports/1/phys_state 5: LinkUp
//! mlx5_0/ports/1/rate       400 Gb/sec (4X NDR)
//! mlx5_0/ports/1/counters/link_downed
//! ```
//!
//! Devices are taken whatever their name: udev may call `mlx5_0` `ibp24s0` (rdma-core, `60-rdma-persistent-naming.rules`).
//! Each trouble is that of one device or port; the others are read on.

use std::collections::BTreeSet;

use gpud_sdk::AccessError;

use crate::files;

/// Devices that are read; a machine has some ten, with virtual functions some hundred.
const MAX_DEVICES: usize = 256;
/// Devices that may cost a check the host's 5 s; the others wait for the next check, which asks those that did not answer
/// last. The host has few threads for calls that hang, and a command to a card's firmware hangs for a minute.
const MAX_TIMEOUTS: usize = 2;

/// Counters that are read, in this order; see [`crate::shown::METRICS`] for what they mean.
pub const COUNTERS: [&str; 7] = [
    "link_downed",
    "link_error_recovery",
    "symbol_error",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "port_rcv_errors",
    "port_xmit_discards",
];

/// Folders and small files.
pub trait Tree {
    /// Names in a folder, sorted.
    ///
    /// # Errors
    /// As `sysfs.list-directory`.
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError>;

    /// A file's text.
    ///
    /// # Errors
    /// As `sysfs.read`.
    fn text(&self, path: &str) -> Result<String, AccessError>;
}

/// The values that were read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Class {
    /// Ports of all devices that were not excluded, by device name as text, then by number.
    pub ports: Vec<Port>,
    /// Devices whose ports are not known, and why.
    pub unreadable: Vec<(String, String)>,
    /// Devices that did not answer, and those of before that were not asked.
    pub silent: BTreeSet<String>,
    /// Whether the folder was empty, excluded devices counted.
    pub is_empty: bool,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name of its device.
    pub device: String,
    /// From 1.
    pub number: u32,
    /// `InfiniBand`, `Ethernet`; empty if it could not be read.
    pub link_layer: String,
    /// How it is, or what could not be read.
    pub link: Result<Link, String>,
    /// What [`COUNTERS`] say, in their order; none that are not there or were not read.
    pub counters: [Option<u64>; COUNTERS.len()],
    /// The card refuses to count: not to be asked again.
    pub refuses_counters: bool,
    /// Facts of the device.
    pub about: DeviceFacts,
}

/// How a port is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Logical state: `ACTIVE`, `DOWN`, `INIT` …
    pub state: String,
    /// Physical state: `LinkUp`, `Polling`, `Disabled` …
    pub phys_state: String,
    /// Gbit/s.
    pub rate: u64,
}

/// Facts of a device; those that could not be read are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceFacts {
    /// `MT_0000000838`.
    pub board_id: String,
    /// `28.41.1000`.
    pub firmware: String,
    /// `MT4129`.
    pub hca_type: String,
}

impl Port {
    /// Whether it is judged: RoCE ports are not.
    pub fn is_infiniband(&self) -> bool {
        self.link_layer.eq_ignore_ascii_case("InfiniBand")
    }

    /// Whether it carries a link of at least this rate.
    pub fn is_good(&self, rate: u64) -> bool {
        self.link_rate().is_some_and(|link| link >= rate)
    }

    /// Rate of a port whose physical state is `LinkUp`.
    pub fn link_rate(&self) -> Option<u64> {
        let link = self.link.as_ref().ok()?;
        (link.phys_state == "LinkUp").then_some(link.rate)
    }

    /// How often the link went down since the card was reset.
    pub fn link_downed(&self) -> Option<u64> {
        self.counters.first().copied().flatten()
    }
}

impl Link {
    /// Whether traffic can pass.
    pub fn is_active(&self) -> bool {
        self.state.eq_ignore_ascii_case("ACTIVE")
    }
}

/// Why a port was not read.
enum PortError {
    /// It went away in the meantime.
    Gone,
    /// Its device does not show its ports.
    Denied(String),
    /// Its device does not answer.
    TimedOut(String),
}

/// Reads the devices below `root` but those excluded. `silent` are those that did not answer last time; `refuses` tells
/// which ports refuse to count, by device and number.
///
/// # Errors
/// When the folder cannot be listed.
pub fn read(
    tree: &impl Tree,
    root: &str,
    exclude: &[String],
    silent: &BTreeSet<String>,
    refuses: impl Fn(&str, u32) -> bool,
) -> Result<Class, AccessError> {
    let mut devices = tree.names(root)?;
    let is_empty = devices.is_empty();
    devices.retain(|name| !exclude.contains(name));
    devices.sort_unstable_by_key(|name| (silent.contains(name), name.clone()));
    let mut class = Class {
        is_empty,
        ..Class::default()
    };
    let mut timeouts = 0;
    for (place, device) in devices.into_iter().enumerate() {
        let trouble = if place >= MAX_DEVICES {
            Some(format!(
                "not read, there are more than {MAX_DEVICES} devices"
            ))
        } else if timeouts >= MAX_TIMEOUTS {
            if silent.contains(&device) {
                class.silent.insert(device.clone());
            }
            Some("not read, too many devices do not answer".to_owned())
        } else {
            match read_device(tree, root, &device, &refuses) {
                Ok(ports) => {
                    class.ports.extend(ports);
                    None
                }
                Err(PortError::Gone) => None,
                Err(PortError::Denied(text)) => Some(text),
                Err(PortError::TimedOut(text)) => {
                    timeouts += 1;
                    class.silent.insert(device.clone());
                    Some(text)
                }
            }
        };
        class.unreadable.extend(trouble.map(|why| (device, why)));
    }
    class
        .ports
        .sort_by(|a, b| (&a.device, a.number).cmp(&(&b.device, b.number)));
    class.unreadable.sort_unstable();
    Ok(class)
}

fn read_device(
    tree: &impl Tree,
    root: &str,
    device: &str,
    refuses: &impl Fn(&str, u32) -> bool,
) -> Result<Vec<Port>, PortError> {
    let folder = format!("{root}/{device}/ports");
    let names = match tree.names(&folder) {
        Ok(names) => names,
        // A device in the making, or in the going.
        Err(AccessError::NotFound(_)) => return Err(PortError::Gone),
        Err(error @ AccessError::TimedOut(_)) => return Err(PortError::TimedOut(error.text())),
        Err(error) => return Err(PortError::Denied(error.text())),
    };
    // What is not a number is no port; two spellings of one number are one.
    let numbers: BTreeSet<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    let mut ports = Vec::new();
    for number in numbers {
        match read_port(tree, &folder, device, number, refuses) {
            Ok(port) => ports.push(port),
            Err(PortError::Gone) => {}
            Err(miss) => return Err(miss),
        }
    }
    if ports.is_empty() {
        return Ok(ports);
    }
    let fact = |name: &str| match tree.text(&format!("{root}/{device}/{name}")) {
        Ok(text) => Ok(files::clip(text.trim()).to_owned()),
        Err(AccessError::TimedOut(_)) => Err(()),
        Err(_) => Ok(String::new()),
    };
    // The ports say all that is needed; facts that do not come are not waited for twice.
    let facts = || -> Result<DeviceFacts, ()> {
        Ok(DeviceFacts {
            board_id: fact("board_id")?,
            firmware: fact("fw_ver")?,
            hca_type: fact("hca_type")?,
        })
    };
    let about = facts().unwrap_or_default();
    for port in &mut ports {
        port.about = about.clone();
    }
    Ok(ports)
}

fn read_port(
    tree: &impl Tree,
    folder: &str,
    device: &str,
    number: u32,
    refuses: &impl Fn(&str, u32) -> bool,
) -> Result<Port, PortError> {
    let place = format!("{folder}/{number}");
    let file = |name: &str| match tree.text(&format!("{place}/{name}")) {
        Ok(text) => Ok(Ok(text)),
        Err(error @ AccessError::TimedOut(_)) => Err(PortError::TimedOut(error.text())),
        Err(AccessError::NotFound(_)) if is_gone(tree, &place) => Err(PortError::Gone),
        Err(error) => Ok(Err(format!("{name}: {}", error.text()))),
    };
    let mut port = Port {
        device: device.to_owned(),
        number,
        link_layer: String::new(),
        link: Err(String::new()),
        counters: [None; COUNTERS.len()],
        refuses_counters: refuses(device, number),
        about: DeviceFacts::default(),
    };
    match file("link_layer")? {
        Ok(text) => port.link_layer = files::clip(text.trim()).to_owned(),
        Err(why) => {
            port.link = Err(why);
            return Ok(port);
        }
    }
    if port.link_layer.is_empty() {
        port.link = Err("link_layer: is empty".to_owned());
        return Ok(port);
    }
    let (state, phys_state, rate) = (file("state")?, file("phys_state")?, file("rate")?);
    let name = |name: &'static str| move |why: String| format!("{name}: {why}");
    port.link = (|| {
        Ok(Link {
            state: files::state(&state?).map_err(name("state"))?,
            phys_state: files::state(&phys_state?).map_err(name("phys_state"))?,
            rate: files::rate(&rate?).map_err(name("rate"))?,
        })
    })();
    if port.is_infiniband() && !port.refuses_counters {
        read_counters(tree, &format!("{place}/counters"), &mut port)?;
    }
    Ok(port)
}

fn is_gone(tree: &impl Tree, folder: &str) -> bool {
    matches!(tree.names(folder), Err(AccessError::NotFound(_)))
}

/// A counter that cannot be read is not known, and no trouble of the port. A card that may not count for this function
/// answers `EINVAL` and writes a line into the kernel log each time (`ACCESS_REG … failed`); so it is not asked again.
fn read_counters(tree: &impl Tree, folder: &str, port: &mut Port) -> Result<(), PortError> {
    const EINVAL: &str = "(os error 22)";
    for (value, name) in port.counters.iter_mut().zip(COUNTERS) {
        match tree.text(&format!("{folder}/{name}")) {
            Ok(text) => *value = files::counter(&text).unwrap_or_default(),
            Err(error @ AccessError::TimedOut(_)) => return Err(PortError::TimedOut(error.text())),
            Err(AccessError::Other(text)) if text.contains(EINVAL) => {
                port.refuses_counters = true;
                return Ok(());
            }
            Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
