//! The state of each port that is retained from check to check, and how a check updates it.
//!
//! All times are unix seconds. The retained state changes only when a port does, so a quiet machine writes nothing. It
//! is a summary of the past, not the past itself: at most [`MAX_PORTS`] ports with at most
//! [`crate::config::MAX_OUTAGES`] outages each.
//!
//! - An *outage* is a time in which a port was seen not ACTIVE; it counts for a flap when it was seen so twice, far enough
//!   apart, between two times in which it was ACTIVE. The time after a boot until a port is ACTIVE is none.
//! - A *drop* is an outage that lasts. It counts from the last change of `link_downed`: while that moves, the port tries.
//! - A *flap* is enough outages within the look-back.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::class::{Class, Port};
use crate::config::Config;
use crate::product::Expected;

mod port_history;

pub use port_history::{Flap, Outage, PortDrop, PortHistory};

/// Ports that are kept; those that fit one value of `state`. What is beyond is judged by what it is, not by what it was.
pub const MAX_PORTS: usize = 128;

/// Silent devices that are kept.
const MAX_SILENT: usize = 32;

/// A port: device and number.
pub type Name = (String, u32);

/// All that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// The boot that it is of.
    boot: String,
    /// When an operator last set the component healthy, unix milliseconds.
    pub set_healthy: u64,
    /// Product name at the last check that learnt it.
    pub product: String,
    /// Devices that did not answer.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub silent: BTreeSet<String>,
    /// By device and number.
    pub ports: BTreeMap<String, PortHistory>,
}

fn key(device: &str, number: u32) -> String {
    format!("{device}/{number}")
}

/// Device and number of a key.
pub fn name(key: &str) -> Option<Name> {
    let (device, number) = key.rsplit_once('/')?;
    Some((device.to_owned(), number.parse().ok()?))
}

impl Memory {
    /// Reads what was kept; what cannot be read counts as nothing.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// The text to keep.
    ///
    /// # Errors
    /// When it cannot be written, which its types rule out.
    pub fn save(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Takes note of the boot and the clock. A reboot interrupts all ports; a drop or flap outlives it.
    pub fn wake(&mut self, boot_id: &str, now: u64) {
        let rebooted = self.boot != boot_id;
        if rebooted {
            boot_id.clone_into(&mut self.boot);
        }
        for port_history in self.ports.values_mut() {
            if rebooted {
                port_history.outage = None;
                port_history.active = false;
                port_history.refuses_counters = false;
            }
            port_history.not_after(now);
        }
    }

    /// An operator set the component healthy at this time: what was is forgotten, what is down is known to be.
    pub fn set_healthy(&mut self, milliseconds: u64) {
        self.set_healthy = milliseconds;
        let now = milliseconds / 1000;
        for port_history in self.ports.values_mut() {
            port_history.outages.clear();
            port_history.drop = None;
            port_history.flap = None;
            port_history.acknowledged = port_history.outage.is_some();
            if let Some(outage) = &mut port_history.outage {
                *outage = Outage {
                    since: now,
                    steady_since: now,
                    counts: false,
                    ..*outage
                };
            }
        }
    }

    /// Forgets devices that are not to be looked at.
    pub fn exclude(&mut self, devices: &[String]) {
        self.ports
            .retain(|key, _| name(key).is_some_and(|(device, _)| !devices.contains(&device)));
    }

    /// The past of a port.
    pub fn of(&self, device: &str, number: u32) -> Option<&PortHistory> {
        self.ports.get(&key(device, number))
    }

    /// Whether a port refuses to count.
    pub fn refuses_counters(&self, device: &str, number: u32) -> bool {
        self.of(device, number)
            .is_some_and(|port_history| port_history.refuses_counters)
    }

    /// Whether any port was ever up.
    pub fn knows_ports(&self) -> bool {
        self.ports
            .values()
            .any(|port_history| port_history.best_rate.is_some())
    }

    /// Whether it is known which ports are needed: as many as are wanted were up at the wanted rate. Any other is spare.
    pub fn knows_enough(&self, expected: &Expected) -> bool {
        let good = self.ports.values().filter(|port_history| {
            port_history
                .best_rate
                .is_some_and(|rate| rate >= expected.rate)
        });
        good.count() as u64 >= expected.ports
    }

    /// Takes note of which ports were ever up. Comes before all judgement: a port that is up now is no spare.
    pub fn meet(&mut self, class: &Class) {
        self.silent = class.silent.iter().take(MAX_SILENT).cloned().collect();
        for port in class.ports.iter().filter(|port| port.is_infiniband()) {
            let key = key(&port.device, port.number);
            if !self.ports.contains_key(&key) && self.ports.len() >= MAX_PORTS {
                continue;
            }
            let port_history = self.ports.entry(key).or_default();
            port_history.best_rate = port_history.best_rate.max(port.link_rate());
            port_history.refuses_counters |= port.refuses_counters;
        }
    }

    /// Moves all ports on by one check. `failing` tells that too few ports are up.
    pub fn step(
        &mut self,
        config: &Config,
        expected: &Expected,
        class: &Class,
        failing: bool,
        now: u64,
    ) {
        let knows_enough = self.knows_enough(expected);
        let unknown: BTreeSet<&str> = class
            .unreadable
            .iter()
            .map(|(device, _)| device.as_str())
            .collect();
        let seen: BTreeMap<String, &Port> = class
            .ports
            .iter()
            .map(|port| (key(&port.device, port.number), port))
            .collect();
        for (key, port_history) in &mut self.ports {
            let may_drop = port_history.best_rate.is_some() || !knows_enough;
            let matters = may_drop && (failing || !port_history.acknowledged);
            let device = name(key).map(|(device, _)| device).unwrap_or_default();
            let lasts = match seen.get(key) {
                // It can be anything.
                Some(port) if port.link.is_err() => continue,
                None if unknown.contains(device.as_str()) => continue,
                Some(port) if port.is_infiniband() => match &port.link {
                    Ok(link) if link.is_active() => {
                        port_history.is_active(config, now);
                        false
                    }
                    _ => {
                        port_history.is_down(config, port.link_downed(), matters, now);
                        matters
                    }
                },
                _ => {
                    port_history.is_gone(config, matters && failing, now);
                    matters && failing
                }
            };
            if let Some(drop) = &mut port_history.drop
                && !lasts
            {
                drop.until.get_or_insert(now);
            }
            port_history.forget(config, now);
        }
        self.ports.retain(|_, port_history| {
            // A device that is not there and not missed was taken out, or is a virtual function that is gone.
            let missed = port_history.flap.is_some() || port_history.drop.is_some() || failing;
            missed
                || port_history.outage.is_none_or(|outage| {
                    !outage.gone || now.saturating_sub(outage.since) < config.drop_shown_seconds
                })
        });
    }
}

#[cfg(test)]
mod tests;
