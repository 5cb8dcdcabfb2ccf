//! Faults laid over a driver, for tests of what watches the daemon. What is below goes on answering everything else.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    driver::{Answer, Driver, DriverOpener, DriverStamp, GpuHandle, NoDriver},
    fault::{self, Fault},
    values::{Fabric, Identity, Reading, RemappedRows, Value},
};

/// Bits of `nvmlClocksEventReasons`: hardware slowdown, software thermal, hardware thermal, power brake.
const HW_SLOWDOWN: u64 = 0x08;
const SW_THERMAL: u64 = 0x20;
const HW_THERMAL: u64 = 0x40;
const HW_POWER_BRAKE: u64 = 0x80;
/// Rows that a pretended remapping was for.
const PRETENDED_ROWS: u32 = 10;
/// `NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY`.
const FABRIC_UNHEALTHY: u8 = 2;
/// Health mask in which nothing is known but that the bandwidth is degraded.
const BANDWIDTH_DEGRADED: u32 = 1;

/// Faults to pretend. The sets hold UUIDs of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Injected {
    /// Every question but who it is answers that the GPU is lost.
    pub lost: BTreeSet<String>,
    /// The same, that it requires a reset; lost wins.
    pub needs_reset: BTreeSet<String>,
    /// Summary unhealthy, bandwidth degraded.
    pub fabric_unhealthy: BTreeSet<String>,
    /// A row remapping is pending.
    pub rows_pending: BTreeSet<String>,
    /// A row remapping failed.
    pub rows_failed: BTreeSet<String>,
    /// Hardware slowdown.
    pub hw_slowdown: BTreeSet<String>,
    /// Hardware thermal slowdown.
    pub hw_thermal: BTreeSet<String>,
    /// Hardware power brake.
    pub hw_power_brake: BTreeSet<String>,
    /// Every GPU has 10 rows remapped after uncorrectable errors, and a remapping pending
    /// (`GPUD_NVML_INJECT_REMAPPED_ROWS_PENDING`).
    pub rows_pending_everywhere: bool,
    /// Every GPU is slowed down by hardware for all reasons, and by nothing else
    /// (`GPUD_NVML_INJECT_CLOCK_EVENTS_HW_SLOWDOWN`).
    pub hw_slowdown_everywhere: bool,
    /// Instead of the GPUs' names.
    pub product_name: Option<String>,
    /// No GPU can be opened.
    pub enumeration_fails: bool,
}

impl Injected {
    /// True when nothing is pretended.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Lays the faults over whatever `below` opens.
    pub fn over(self, below: Box<dyn DriverOpener>) -> Box<dyn DriverOpener> {
        match self.is_nothing() {
            true => below,
            false => Box::new(InjectedOpener {
                faults: Arc::new(self),
                below,
            }),
        }
    }
}

struct InjectedOpener {
    faults: Arc<Injected>,
    below: Box<dyn DriverOpener>,
}

impl DriverOpener for InjectedOpener {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        Ok(Arc::new(Overlay {
            faults: Arc::clone(&self.faults),
            below: self.below.open()?,
            uuids: Mutex::default(),
        }))
    }

    fn stamp(&self) -> DriverStamp {
        self.below.stamp()
    }
}

struct Overlay {
    faults: Arc<Injected>,
    below: Arc<dyn Driver>,
    /// Filled when GPUs are opened, so that a question costs no further one.
    uuids: Mutex<HashMap<GpuHandle, String>>,
}

impl Overlay {
    fn uuid_of(&self, gpu: GpuHandle) -> Answer<String> {
        let known = self.uuids.lock().unwrap_or_else(PoisonError::into_inner);
        let uuid = known.get(&gpu).cloned();
        drop(known);
        uuid.map_or_else(|| self.uuid(gpu), Ok)
    }

    fn identity(&self, mut identity: Identity) -> Identity {
        if let Some(name) = &self.faults.product_name {
            identity.name.clone_from(name);
        }
        identity
    }

    fn fabric(&self, uuid: &str, fabric: Fabric) -> Fabric {
        match self.faults.fabric_unhealthy.contains(uuid) {
            true => Fabric {
                health_mask: Some(BANDWIDTH_DEGRADED),
                health_summary: Some(FABRIC_UNHEALTHY),
                ..fabric
            },
            false => fabric,
        }
    }

    fn rows(&self, uuid: &str, below: Answer) -> Answer {
        let faults = &self.faults;
        if faults.rows_pending_everywhere {
            return Ok(Value::RemappedRows(RemappedRows {
                correctable: 0,
                uncorrectable: PRETENDED_ROWS,
                pending: true,
                failed: false,
            }));
        }
        let (pending, failed) = (
            faults.rows_pending.contains(uuid),
            faults.rows_failed.contains(uuid),
        );
        if !pending && !failed {
            return below;
        }
        let rows = match below {
            Ok(Value::RemappedRows(rows)) => rows,
            Err(fault) if !fault.is_not_supported() => return Err(fault),
            _ => RemappedRows::default(),
        };
        Ok(Value::RemappedRows(RemappedRows {
            pending: rows.pending || pending,
            failed: rows.failed || failed,
            ..rows
        }))
    }

    fn reasons(&self, uuid: &str, below: Answer) -> Answer {
        let faults = &self.faults;
        if faults.hw_slowdown_everywhere {
            return Ok(Value::Count(
                HW_SLOWDOWN | SW_THERMAL | HW_THERMAL | HW_POWER_BRAKE,
            ));
        }
        let sets = [
            (&faults.hw_slowdown, HW_SLOWDOWN),
            (&faults.hw_thermal, HW_THERMAL),
            (&faults.hw_power_brake, HW_POWER_BRAKE),
        ];
        let bits = sets
            .iter()
            .filter(|(uuids, _)| uuids.contains(uuid))
            .fold(0, |bits, (_, bit)| bits | bit);
        match below {
            below if bits == 0 => below,
            Ok(Value::Count(reasons)) => Ok(Value::Count(reasons | bits)),
            Err(fault) if !fault.is_not_supported() => Err(fault),
            _ => Ok(Value::Count(bits)),
        }
    }
}

impl Driver for Overlay {
    fn is_in_place(&self) -> bool {
        self.below.is_in_place()
    }

    fn driver_version(&self) -> Answer<String> {
        self.below.driver_version()
    }

    fn cuda_version(&self) -> Answer<u32> {
        self.below.cuda_version()
    }

    fn count(&self) -> Answer<u32> {
        self.below.count()
    }

    fn open(&self, index: u32) -> Answer<GpuHandle> {
        if self.faults.enumeration_fails {
            return Err(Fault {
                call: "nvmlDeviceGetHandleByIndex_v2",
                code: fault::UNKNOWN,
                text: "Unknown Error (injected for testing)".to_owned(),
            });
        }
        self.below.open(index)
    }

    fn uuid(&self, gpu: GpuHandle) -> Answer<String> {
        let uuid = self.below.uuid(gpu)?;
        let mut known = self.uuids.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(gpu, uuid.clone());
        Ok(uuid)
    }

    fn read(&self, gpu: GpuHandle, reading: &Reading) -> Answer {
        let uuid = self.uuid_of(gpu)?;
        if *reading != Reading::Identity {
            let code = match uuid.as_str() {
                uuid if self.faults.lost.contains(uuid) => Some(fault::GPU_IS_LOST),
                uuid if self.faults.needs_reset.contains(uuid) => Some(fault::RESET_REQUIRED),
                _ => None,
            };
            if let Some(code) = code {
                return Err(Fault::new(reading.call(), code));
            }
        }
        let below = self.below.read(gpu, reading);
        match reading {
            Reading::RemappedRows => self.rows(&uuid, below),
            Reading::ClockEventReasons => self.reasons(&uuid, below),
            _ => below.map(|value| match value {
                Value::Identity(identity) => Value::Identity(Box::new(self.identity(*identity))),
                Value::Fabric(fabric) => Value::Fabric(self.fabric(&uuid, fabric)),
                other => other,
            }),
        }
    }

    fn p2p_status(&self, from: GpuHandle, to: GpuHandle) -> Answer<u32> {
        for gpu in [from, to] {
            let uuid = self.uuid_of(gpu)?;
            if self.faults.lost.contains(&uuid) {
                return Err(Fault::new("nvmlDeviceGetP2PStatus", fault::GPU_IS_LOST));
            }
        }
        self.below.p2p_status(from, to)
    }
}

#[cfg(test)]
mod tests;
